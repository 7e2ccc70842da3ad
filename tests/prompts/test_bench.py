"""After the chat in a plain terminal: measuring the server, with the real questions over a fake benchmark."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fake_bench import BENCHMARK
from tests.bench.sample_reports import keep_each
from tests.prompts.fake_journey import ENDPOINT, FakeJourney
from tests.prompts.terminal import ADVICE, CTRL_C, CTRL_D, DOWN, ENTER, MODEL, PLAN, Flow, Terminal
from wizard.bench.bench import BenchItem
from wizard.bench.folder import Folder
from wizard.bench.order import Wanted
from wizard.flow.effects import Measure
from wizard.kernel.errors import HostError, ServerError, StepError, WizardError
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Done, Estimate, Step
from wizard.prompts.ask import Ask
from wizard.prompts.bench import Bench

INSTALL = Step("bench-environment", "Create it", "", (), Done(), Estimate(20, 228 * 1024**2, 781 * 1024**2))


class FakeAsk(Ask):
    """Answers with a recorded walk: the beginning of an option, or a typed line."""

    def __init__(self, *replies: str) -> None:
        super().__init__()
        self.replies = list(replies)
        self.asked: list[str] = []

    def choose(self, text: str, options: Any, first: int = 0, *, other: Any = None) -> Any:
        self.asked.append(text)
        reply = self.replies.pop(0)
        return next(value for title, value in options if title.startswith(reply))

    def line(self, text: str, *, begun: str = "", secret: bool = False) -> str:
        self.asked.append(text)
        return self.replies.pop(0)


class Journeying(FakeJourney):
    """A journey whose benchmark needs AIPerf, or fails."""

    install: Step | None = None
    error: WizardError | None = None
    unable: WizardError | None = None
    measures = True

    def bench_order(self, *about: Any) -> Any:
        if self.unable:
            raise self.unable
        return super().bench_order(*about)

    def load_generator(self, workspace: Workspace) -> Step | None:
        return self.install

    async def bench(self, *about: Any) -> AsyncGenerator[BenchItem, None]:
        if self.measures:
            async for item in super().bench(*about):
                yield item
        if self.error:
            raise self.error


@pytest.fixture
def journey(tmp_path: Path) -> Journeying:
    return Journeying(tmp_path)


def asked(journey: FakeJourney, workspace: Workspace, *replies: str, before: Wanted | None = None) -> Any:
    """What is answered, and the questions."""
    ask = FakeAsk(*replies)
    answer = Bench(journey, workspace, ask).asked(ENDPOINT, before, None)
    assert ask.replies == []
    return answer.value, ask.asked


def chatted(flow: Flow, *given: str, **more: Any) -> Terminal:
    terminal = flow(*given, **more)
    terminal.accepts(MODEL, ADVICE, PLAN)
    terminal.sees("Stop it:")
    terminal.sees("> ")
    terminal.types("/bye\r")
    terminal.sees("The chat has ended. What now?")
    return terminal


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_server_is_measured_after_the_chat_and_the_report_is_read_again(flow: Flow, term: str) -> None:
    menus = term != "dumb"
    terminal = chatted(flow, TERM=term)
    terminal.types(DOWN + ENTER if menus else "2\r")
    terminal.sees("What do you want to measure?")
    terminal.sees("Quick benchmark: 1 at once, 4 at once")
    terminal.types(ENTER)
    terminal.sees("Press Ctrl-C to stop")
    terminal.sees("Step 1 of 1: 4 concurrent requests, run 1 of 1")
    terminal.sees("Report:")
    terminal.sees("What now?")
    terminal.types(DOWN + DOWN + ENTER if menus else "3\r")
    terminal.sees("Which report?")
    terminal.types(ENTER)
    terminal.sees("Report:")
    terminal.sees("What now?")
    terminal.types(ENTER)
    assert terminal.ends() == 0


def test_reports_of_every_kind_can_be_opened(
    journey: Journeying, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_each(workspace.bench)
    titles = {
        "Benchmark: 2026-11-26 12:00 · sample · ": "Benchmark of example/Sample-8B",
        "Tuning: 2026-11-25 12:00 · sample": "Settings of sample",
        "Comparison: 2026-11-24 12:00 · sample, faster": "Comparison of sample, faster",
        "Blind vote: 2026-11-23 12:00 · small, full": "Quality of small and full",
        "Perplexity: 2026-11-22 12:00 · small-q4.gguf": "Quality of small-q4.gguf",
        "Quality: 2026-11-21 12:00 · small, full": "Quality of small and full",
    }
    for row, title in titles.items():
        folder, _ = asked(journey, workspace, "Open", row)
        Bench(journey, workspace, FakeAsk()).shown(journey.open_report(Path(folder)))
        shown = capsys.readouterr().out
        assert shown.strip().startswith(title)
        assert "".join(f"{folder}/report.json".split()) in "".join(shown.split())


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
def test_leaving_that_question_is_the_end(flow: Flow, key: str) -> None:
    terminal = chatted(flow)
    terminal.types(key)
    assert terminal.ends(again=key if key == CTRL_C else "") == 0


def test_an_accepted_plan_skips_it(flow: Flow) -> None:
    terminal = flow("accept=true")
    terminal.accepts(MODEL, ADVICE)
    terminal.sees("Stop it:")
    terminal.sees("> ")
    terminal.types("/bye\r")
    assert terminal.ends() == 0
    assert "What now?" not in terminal.rest


def test_options_are_asked_and_a_contradiction_is_asked_again(
    journey: Journeying, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted, _ = asked(
        *(journey, workspace, "Measure", "Change", "1,8", "0.5", "", "", "", "", ""),
        *("many", "1,8", "", "12", "32", "16", "200", "", "Full"),
    )
    assert wanted == Wanted(concurrency=(1, 8), seconds=12.0, isl=32, osl=16, ttft=200.0)
    shown = capsys.readouterr().out
    assert "TW-U75" in shown
    assert "TW-U32: concurrency cannot be 'many'" in shown


def test_the_last_options_are_what_enter_means(journey: Journeying, workspace: Workspace) -> None:
    before = Wanted(concurrency=(2,), isl=16)
    wanted, questions = asked(journey, workspace, "Measure", "Change", *[""] * 7, "Quick", before=before)
    assert wanted == Wanted(quick=True, concurrency=(2,), isl=16)
    assert "Prompt length (tokens) (Enter: 16):" in questions


def test_hours_are_announced_and_a_shorter_one_is_offered(journey: Journeying, workspace: Workspace) -> None:
    hours = Wanted(concurrency=(1, 2, 4), seconds=3600.0)
    wanted, questions = asked(journey, workspace, "Measure", "Full", "Measure less", before=hours)
    assert "This benchmark takes about 9 h 0 min." in questions
    assert (wanted.seconds, wanted.repeats) == (194, 1)
    wanted, _ = asked(journey, workspace, "Measure", "Full", "Do not", "Full", "Measure all", before=hours)
    assert wanted == hours
    assert asked(journey, workspace, "Measure", "Do not", "Finish", before=hours)[0] is None


def test_the_installation_is_confirmed(
    journey: Journeying, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    journey.install = INSTALL
    wanted, _ = asked(journey, workspace, "Measure", "Quick", "Do not install", "Quick", "Install it")
    assert wanted == Wanted(quick=True)
    assert "228 mebibytes to download, 781 mebibytes on disk, once." in " ".join(capsys.readouterr().out.split())


def test_a_machine_that_cannot_measure_says_why(
    journey: Journeying, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    journey.unable = HostError("TW-C61", "AIPerf needs x86_64", "Measure from another machine.")
    assert asked(journey, workspace, "Measure", "Finish")[0] is None
    assert "TW-C61" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("measures", "error", "code"),
    [
        (True, ServerError("TW-C65", "the server stopped answering", "Look at its log."), None),
        (False, StepError("TW-C62", "pip failed", "Check the network."), "TW-C62"),
        (False, None, None),
    ],
)
def test_what_was_measured_before_an_error_is_the_report(
    journey: Journeying,
    workspace: Workspace,
    capsys: pytest.CaptureFixture[str],
    measures: bool,
    error: WizardError | None,
    code: str | None,
) -> None:
    journey.measures, journey.error = measures, error
    outcome = Bench(journey, workspace, FakeAsk()).carry(Measure(ENDPOINT, Wanted())).value
    if measures:
        assert Folder(Path(outcome)).read()[0] == BENCHMARK
        assert "TW-C65" in capsys.readouterr().out
    else:
        assert getattr(outcome, "code", None) == code
