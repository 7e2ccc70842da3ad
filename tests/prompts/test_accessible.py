"""Everything that the plain prompts print, read as a screen reader or a braille line reads it: as characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import pexpect
import pytest

from tests import pseudo
from tests.prompts.fake_journey import STEPS
from tests.prompts.terminal import CTRL_D, ENTER, Terminal
from wizard.kernel import language
from wizard.kernel.language import LANGUAGES
from wizard.kernel.text import plain, width
from wizard.prompts.speech import fitted, listed, spoken

SIGNS = re.compile(
    "["
    "\u2190-\u21ff"  # arrows
    "\u2300-\u23ff"  # technical
    "\u2500-\u257f"  # box drawing
    "\u2580-\u259f"  # blocks
    "\u25a0-\u25ff"  # geometric shapes
    "\u2600-\u26ff"  # symbols
    "\u2700-\u27bf"  # dingbats
    "\u27c0-\u27ff\u2900-\u2bff"  # more arrows
    "\u2800-\u28ff"  # braille, as spinners use it
    "\ue000-\uf8ff\U0001f000-\U0001faff"  # icons and emoji
    "]"
)
COLOUR = re.compile(r"\x1b\[[0-9;]*(?:3[0-7]|4[0-7]|9[0-7]|10[0-7]|38;|48;)[0-9;]*m")
DATA = (
    *(
        "org/none",
        "documents",
        "code",
        "down",
        "none",
        "small",
        "the Hub does not respond",
        "Check the network.",
        "many",
        "plan.json",
        "demo",
        "What is Triton?",
        "GPU  ",
        "CPU  ",
    ),
    *("Some Linux 12", "Offline demo", "Small, ", "Apache-2.0", " MIT", "llama.cpp", "floor"),
    *(
        "4 people with up to 2,048 tokens",
        "'org/none' is not a recipe, a path or a model ID",
        "So many do not fit.",
        "Port 8000 is held.",
        "a line of output",
        "You asked: ",
    ),
    *(f"The CPU serves. Advised for: {constraints}." for constraints in ("nothing", "users", "goal, users")),
    *(text for step in STEPS for text in (step.title, step.why, f"step {step.title!r} failed")),
    *("already done and unchanged", "line ", "chat", "throughput", "quality", "smallest"),
)
"""What is typed on the way, names, values that a flag takes, and what the fake journey says."""
COMMAND = re.compile(r"\s*\$ |\s*\S+$")
"""What must stay in one line, however long: a command, or a single word such as a path."""


class FakeTerminal(StringIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True


@dataclass
class Walk:
    """A walk through all questions, and what was shown on it."""

    terminal: Terminal
    transcript: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    """What was shown between the answer before and each question's end."""

    def answers(self, question: str, answer: str) -> None:
        """Wait for ``question`` and for what says how to answer it, and answer."""
        self.terminal.sees(question)
        before = self._shown()
        self.terminal.child.expect(r"Enter[^\r\n]*(:|\)|one\))")
        self.questions.append(before[-200:] + self._shown())
        self.terminal.types(answer)

    def sees(self, text: str) -> None:
        self.terminal.sees(text)
        self._shown()

    def _shown(self) -> str:
        child = self.terminal.child
        shown = str(child.before) + (child.after if isinstance(child.after, str) else "")
        self.transcript.append(shown)
        return shown

    def ends(self) -> int:
        status = self.terminal.ends()
        self.transcript.append(self.terminal.rest)
        return status

    @property
    def text(self) -> str:
        return "".join(self.transcript)


def whole_flow(walk: Walk) -> None:
    """Through every question that there is, wrong answers and a failing step included, to a chat."""
    walk.answers("do you want to do?", "2\r")
    walk.answers("Which model?", "org/none\r")
    walk.sees("TW-M01")
    walk.answers("Which model?", "down\r")
    walk.sees("TW-M13")
    walk.answers("Which model?", "none\r")
    walk.answers("Which model?", "small\r")
    walk.answers("Which one of these?", "2\r")
    walk.answers("Which model?", "4\r")
    walk.answers("recipe do you want to use?", "2\r")
    walk.answers("Which model?", "demo\r")
    walk.answers("run on this machine?", "3\r")
    walk.answers("want to change?", "2\r")
    walk.answers("concurrent users", "many\r")
    walk.sees("TW-U31")
    walk.terminal.types("500\r")
    walk.sees("So many do not fit.")
    walk.answers("run on this machine?", "1\r")
    walk.answers("run on this machine?", "3\r")
    walk.answers("want to change?", "1\r")
    walk.answers("matters most?", "3\r")
    walk.answers("run on this machine?", "5\r")
    walk.sees("Explanation of these figures")
    walk.answers("run on this machine?", "1\r")
    walk.answers("Start?", "2\r")
    walk.sees("$ python3 -m venv")
    walk.answers("Start?", "5\r")
    walk.answers("Which format?", "2\r")
    walk.answers("File to write", "plan.json\r")
    walk.sees("Saved to")
    walk.answers("Start?", "6\r")
    for question in ("System prompt", "Temperature", "Top-p", "Maximum answer length", "Seed"):
        walk.answers(question, ENTER)
    walk.answers("Start?", "1\r")
    walk.sees("failed")
    walk.answers("What now?", "3\r")
    walk.sees("line 39")
    walk.answers("What now?", "4\r")
    walk.answers("Which step?", "2\r")
    walk.sees("is ready")
    walk.sees("> ")
    walk.terminal.types("What is Triton?\r")
    walk.sees("You asked")
    walk.sees("> ")
    walk.terminal.types(CTRL_D)
    walk.answers("The chat has ended. What now?", "1\r")
    assert walk.ends() == 0


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Walk]]:
    with ExitStack() as stack:

        def begun(columns: int, term: str, language: str = "en", **more: str) -> Walk:
            arguments = ("flow", str(tmp_path), "run=fail", "running=demo", f"language={language}")
            terminal = Terminal(*arguments, size=(24, columns), TERM=term, COLUMNS=str(columns), **more)
            return Walk(stack.enter_context(terminal))

        yield begun


def lines_of(walk: Walk) -> list[str]:
    """What is in the lines once the terminal has done what it was told; only where nothing is ever written over."""
    return [plain(line) for line in walk.text.replace("\r\n", "\n").split("\n")]


@pytest.mark.parametrize("columns", [40, 80])
def test_a_terminal_that_only_shows_letters_gets_letters(begin: Callable[..., Walk], columns: int) -> None:
    walk = begin(columns, "dumb")
    whole_flow(walk)
    assert "\x1b" not in walk.text
    assert "\r" not in walk.text.replace("\r\n", ""), "nothing is written over"
    assert SIGNS.findall(walk.text) == []
    wide = [line for line in lines_of(walk) if width(line) > columns and not COMMAND.match(line)]
    assert [line for line in wide if not re.search(r"(?::|\)|>) ?\S*$", line)] == [], "a typed answer may be behind it"
    states = ("Step 1 of 2: skipped", "Step 2 of 2: failed after 0.1 seconds", "Step 2 of 2: done in 0.1 seconds")
    shown = " ".join(" ".join(lines_of(walk)).split())
    assert [state for state in (*states, "demo is ready", "What to do: ") if state not in shown] == []


@pytest.mark.parametrize("columns", [40, 80])
def test_with_menus_no_meaning_is_in_color_or_symbol_alone(begin: Callable[..., Walk], columns: int) -> None:
    walk = begin(columns, "xterm-256color", NO_COLOR="1")
    whole_flow(walk)
    assert COLOUR.findall(walk.text) == []
    assert SIGNS.findall(walk.text) == []
    assert "Step 2 of 2: done in 0.1 seconds" in " ".join(plain(walk.text).split())


@pytest.mark.parametrize("term", ["dumb", "xterm-256color"])
def test_every_question_says_how_to_answer_it_and_what_enter_means(begin: Callable[..., Walk], term: str) -> None:
    walk = begin(80, term)
    whole_flow(walk)
    questions = [" ".join(plain(question).split()) for question in walk.questions]
    how = re.compile(r"Type 1 to \d+, or press Enter for \d+:|\(arrow keys and Enter, or type a number; |Enter: .+\)")
    assert [question for question in questions if not how.search(question)] == []


def test_every_word_is_in_the_catalog(begin: Callable[..., Walk]) -> None:
    """All that the plain prompts say themselves; the fake journey's own texts are data here."""
    walk = begin(1000, "dumb", language=pseudo.CODE)
    whole_flow(walk)
    shown = walk.text.replace("\r\n", "\n")
    assert pseudo.OPEN in shown
    typed = [line for line in shown.splitlines() if line.lstrip().startswith("$ ")]
    assert pseudo.escaped(shown, [*typed, *DATA]) == []


def test_progress_comes_in_words_and_seldom(begin: Callable[..., Walk]) -> None:
    from wizard.prompts.event_printer import EventPrinter
    from wizard.run.events import Progress, StepFinished, StepStarted

    out = FakeTerminal()
    printer = EventPrinter(out, aloud=True)
    printer.show(StepStarted("model", "Get the model", 2, 6, 0.0))
    for second in range(1, 31):
        printer.show(Progress("model", second / 100, 100.0 - second, "", float(second)))
    printer.show(StepFinished("model", "done", 30.0, "", 30.0))
    assert out.getvalue().splitlines() == [
        "Step 2 of 6: Get the model",
        "Step 2 of 6: 10%, 1 minute 30 seconds left",
        "Step 2 of 6: 20%, 1 minute 20 seconds left",
        "Step 2 of 6: 30%, 1 minute 10 seconds left",
        "Step 2 of 6: done in 30 seconds",
    ]


@pytest.mark.parametrize(
    ("text", "spoken_text"),
    [
        ("  → Free some space.", "  What to do: Free some space."),
        ("fp16 → int8", "fp16 to int8"),
        ("a · b …", "a, b ..."),
        ("1.5 GiB, 1 KiB, 220 MB/s", "1.5 gibibytes, 1 kibibyte, 220 megabytes per second"),
        ("3 min 20 s, 50 ms, 2 h 5 min", "3 minutes 20 seconds, 50 milliseconds, 2 hours 5 minutes"),
        ("8.03 B parameters", "8.03 B parameters"),
        ("   $ dd bs=1 s · → 5 GiB", "   $ dd bs=1 s · → 5 GiB"),
        ("39 tokens/s each, 1 tokens/s", "39 tokens per second each, 1 token per second"),
    ],
)
def test_signs_and_units_are_words(text: str, spoken_text: str) -> None:
    assert spoken(text) == spoken_text


@pytest.mark.parametrize(
    ("text", "spoken_text"),
    [
        ("23.5 GiB 중 1 KiB", "23.5기비바이트 중 1키비바이트"),
        ("다운로드는 20 MB/s로 계산", "다운로드는 초당 20메가바이트로 계산"),
        ("약 20 s, 50 ms", "약 20초, 50밀리초"),
    ],
)
def test_units_are_words_in_korean_too_with_particles_behind_them(text: str, spoken_text: str) -> None:
    language.use("ko")
    assert spoken(text) == spoken_text


def test_a_rate_is_words_in_korean_too() -> None:
    language.use("ko")
    assert "/" not in spoken("1인당 39 토큰/초")


def test_rows_that_are_too_wide_wrap_under_their_last_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", FakeTerminal())
    monkeypatch.setenv("COLUMNS", "30")
    rows = [("/new", "begin a new conversation now"), ("/edit [TEXT]", "ask anew")]
    assert listed(rows).split("\n") == [
        "/new          begin a new",
        "              conversation now",
        "/edit [TEXT]  ask anew",
    ]
    long = ("repetition_penalty", "none", "Above 1, what was there becomes less likely.")
    assert listed([long, ("stop", "", "Texts.")]).split("\n") == [
        "repetition_penalty  none",
        "    Above 1, what was there",
        "    becomes less likely.",
        "stop",
        "    Texts.",
    ]


def test_rows_stay_as_they_are_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", StringIO())
    monkeypatch.setenv("COLUMNS", "30")
    assert listed([("name", "text " * 20)]) == f"name  {'text ' * 20}".rstrip()


def test_lines_are_broken_at_words_under_their_beginning_with_wide_characters_counted() -> None:
    text = "  - 서버가 모델을 준비합니다 그리고 다시 시작합니다\n$ a command that is never broken anywhere at all"
    assert fitted(text, 24).split("\n") == [
        "  - 서버가 모델을",
        "    준비합니다 그리고",
        "    다시 시작합니다",
        "$ a command that is never broken anywhere at all",
    ]
    assert "ko" in LANGUAGES


def test_pexpect_would_see_a_sign() -> None:
    """The checks above can fail."""
    assert SIGNS.findall("✓ ● → █ ⠋ │ 🚀") == ["✓", "●", "→", "█", "⠋", "│", "🚀"]
    assert COLOUR.search("\x1b[32mdone")
    assert not COLOUR.search("\x1b[1m\x1b[0;7m")
    assert pexpect.EOF
