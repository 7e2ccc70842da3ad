"""Events, plans, advice and servers as plain text."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import struct
import termios
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.prompts.fake_journey import ENDPOINT, MEASUREMENT, FakeJourney
from tests.values import CHOICE, CPU_HOST, GGUF
from tests.worded import noted, saying
from wizard.advise import refusals
from wizard.advise.advice import Advice, Constraints, Memory, Offload, Rejection, Speed
from wizard.advise.ranking import advise
from wizard.advise.reasons import change, do
from wizard.kernel import language
from wizard.kernel.paths import Workspace
from wizard.kernel.text import width
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.plan.plan import Plan
from wizard.probe.host import Gpu, Host, Problem
from wizard.probe.shorthand import host
from wizard.prompts.event_printer import EventPrinter, clip
from wizard.prompts.value_text import (
    TOP,
    advice_text,
    aloud,
    host_text,
    measured_text,
    memory_text,
    plan_text,
    statuses_text,
    wrapped,
)
from wizard.run.events import Event, Output, Progress, Ready, StepFinished, StepStarted
from wizard.serve.status import Status
from wizard.texts import report
from wizard.texts.explain import figures

ERROR = {"code": "TW-R03", "what": "it broke", "todo": "fix it"}


def printed(*events: Event, verbose: bool = False) -> str:
    out = io.StringIO()
    printer = EventPrinter(out, verbose)
    for event in events:
        printer.show(event)
    return out.getvalue()


START = StepStarted("model", "Get the model", 2, 6, 100.0)


def finished(outcome: str, seconds: float = 1.5, reason: str = "", **more: object) -> StepFinished:
    return StepFinished("model", outcome, seconds, reason, 110.0, **more)  # type: ignore[arg-type]


# -- events, in a pipe -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (finished("done"), "done in 1.5 s"),
        (finished("skipped", reason="already done and unchanged"), "skipped: already done and unchanged"),
        (finished("cancelled"), "stopped after 1.5 s"),
        (finished("failed", error=ERROR), "failed after 1.5 s (TW-R03)"),
    ],
)
def test_a_step_is_one_line(event: StepFinished, words: str) -> None:
    assert printed(START, event) == f"[2/6] Get the model … {words}\n"


def test_progress_in_a_pipe_is_a_line_now_and_then() -> None:
    events = [Progress("model", i / 100, 100.0 - i, f"{i}%", 100.0 + i) for i in range(1, 31)]
    assert printed(START, *events, finished("done")) == (
        "[2/6] Get the model …\n"
        "[2/6] Get the model … 10%, 1 min 30 s left\n"
        "[2/6] Get the model … 20%, 1 min 20 s left\n"
        "[2/6] Get the model … 30%, 1 min 10 s left\n"
        "[2/6] Get the model … done in 1.5 s\n"
    )


def test_progress_says_what_the_step_is_at() -> None:
    events = [
        Progress("model", 0.5, 90.0, "Loading weights: 50%", 110.0, "loading the weights"),
        Progress("model", None, None, "Compiling a graph for general shape takes 0.34 s", 130.0, "compiling"),
    ]
    assert printed(START, *events, finished("done")) == (
        "[2/6] Get the model …\n"
        "[2/6] Get the model … loading the weights: 50%, 1 min 30 s left\n"
        "[2/6] Get the model … compiling\n"
        "[2/6] Get the model … done in 1.5 s\n"
    )


def test_output_is_shown_if_verbose_or_if_the_step_fails() -> None:
    lines = Output("model", tuple(f"line \x1b[31m{i}" for i in range(20)), 101.0)
    assert "line" not in printed(START, lines, finished("done"))
    assert printed(START, lines, finished("done"), verbose=True).count("      line ") == 20
    failed = printed(START, lines, finished("failed", error=ERROR))
    assert failed.endswith("      line 18\n      line 19\n")
    assert failed.count("      line ") == 10
    assert "\x1b" not in failed


def test_the_answer_to_the_first_question_is_always_shown() -> None:
    start = StepStarted("question", "Send a first question", 6, 6, 0.0)
    assert "      Triton is a server\n" in printed(start, Output("question", ("Triton is a server",), 1.0))


def test_the_end() -> None:
    assert printed(Ready(ENDPOINT, 1.0)) == "demo is ready: http://127.0.0.1:8000 (gRPC 127.0.0.1:8001)\n"
    out = io.StringIO()
    printer = EventPrinter(out)
    printer.show(START)
    printer.end()
    printer.end()
    assert out.getvalue() == "[2/6] Get the model …\n"


# -- events, in a terminal ---------------------------------------------------------------------------------------------


class FakeScreen(io.StringIO):
    """What is written goes to a terminal emulator; the size is that of a real pseudo-terminal."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self._pair = os.openpty()
        fcntl.ioctl(self._pair[1], termios.TIOCSWINSZ, struct.pack("HHHH", 15, columns, 0, 0))
        self._screen = pyte.Screen(columns, 15)

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._pair[1]

    def close(self) -> None:
        for descriptor in self._pair:
            os.close(descriptor)
        super().close()

    def lines(self) -> list[str]:
        self._screen.reset()
        pyte.Stream(self._screen).feed(self.getvalue().replace("\n", "\r\n"))
        return [line.rstrip() for line in self._screen.display if line.strip()]


@pytest.fixture
def screen() -> Iterator[Callable[[int], FakeScreen]]:
    with contextlib.ExitStack() as stack:
        yield lambda columns: stack.enter_context(contextlib.closing(FakeScreen(columns)))


@pytest.mark.parametrize("columns", [25, 40, 80])
def test_progress_in_a_terminal_stays_on_its_line(screen: Callable[[int], FakeScreen], columns: int) -> None:
    terminal = screen(columns)
    printer = EventPrinter(terminal)
    printer.show(START)
    for i in range(1, 100):
        printer.show(Progress("model", i / 100, 10.0 - i / 10, "", 100.0 + i))
        printer.show(
            Output("model", (f"downloading 模型 part {i} of something with a very long name indeed, so long",), 0.0)
        )
        assert len(terminal.lines()) == 1
    printer.show(finished("done"))
    assert "".join(terminal.lines()) == "[2/6] Get the model … done in 1.5 s"


def test_colours_only_where_they_are_wanted(
    screen: Callable[[int], FakeScreen], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown() -> str:
        terminal = screen(80)
        printer = EventPrinter(terminal)
        printer.show(START)
        printer.show(Progress("model", 0.5, 1.0, "", 1.0))
        printer.show(finished("done"))
        return terminal.getvalue()

    assert "\x1b[32mdone" in shown()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in shown()
    monkeypatch.setenv("TERM", "dumb")
    assert shown() == "[2/6] Get the model … done in 1.5 s\n"


# -- values ------------------------------------------------------------------------------------------------------------


@given(st.text(), st.integers(2, 30))
def test_clip_never_is_wider_than_allowed(text: str, limit: int) -> None:
    assert width(clip(text, limit)) <= limit


def test_the_memory_bill_says_every_part_and_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    memory = Memory(8 * 2**20, 1024, 16384, 2**20, 75 * 2**20, 100 * 2**20, 2**30)
    text = memory_text(replace(CHOICE, memory=memory))
    assert text.startswith("Memory: 100 MiB used of 1.0 GiB usable\n  [#=+oooo....")
    assert "=  KV cache     16.0 MiB  1 KiB × 16,384 tokens of conversation" in text
    for line in ("#  weights      8.0 MiB", "+  activations  1.0 MiB", ".  free         924 MiB"):
        assert line in text
    monkeypatch.setenv("COLUMNS", "30")
    assert max(map(len, memory_text(replace(CHOICE, memory=memory)).split("\n"))) <= 30


def test_a_model_on_a_gpu_and_the_host_has_a_bar_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    host = Memory(2**30, 1024, 0, 2**20, 75 * 2**20, 1100 * 2**20, 2**31)
    split = replace(CHOICE, devices=(0,), offload=Offload(20, 33, 0, host))
    drawn = memory_text(split)
    assert drawn.startswith("GPU memory: ")
    assert "\nHost memory: 1.1 GiB used of 2.0 GiB usable\n  [#" in drawn
    assert "\nHost memory: 1.1 gibibytes used" in memory_text(split, aloud)


def test_measured_memory_is_shown_beside_the_prediction() -> None:
    weights, *_, tokens, _activations, _overhead, _all = measured_text(MEASUREMENT).splitlines()[1:]
    assert weights == "  - weights: predicted 3.3 MiB, measured 3.3 MiB"
    assert tokens == "  - KV tokens: predicted 4,096, measured 4,096"


def test_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    first = replace(
        CHOICE,
        reasons=(noted("No NVIDIA GPU was found, so the CPU serves: 8 cores for llama.cpp behind Triton."),),
        warnings=(noted("The context was cut."),),
        speed=Speed(20.0, 50.0, 120.0, None, None, "a measurement"),
    )
    why = Rejection("vllm", None, 1, 1, "no-gpu", saying("vLLM needs an NVIDIA GPU."), (do("newer-gpu"),))
    text = advice_text(Advice(True, (first, CHOICE), (why,)), GGUF)
    assert "Recommended: llama.cpp · Q8_0 · 4 users at a time, 1,024" in text
    assert "  - No NVIDIA GPU was found, so the CPU serves: 8 cores" in text
    assert "Note:\n  - The context was cut." in text
    assert "Expected: 50 tokens/s per user, 50 in total, TTFT 120 ms.\n  Confidence: low" in text
    assert "\nOption 2: llama.cpp" in text
    assert "Not possible: vLLM\n  vLLM needs an NVIDIA GPU.\n  → a newer GPU" in text
    assert max(map(len, text.split("\n"))) <= 60
    assert "No supported configuration can serve" in advice_text(Advice(False, (), (why,)), GGUF)


def plan(tmp_path: Path) -> Plan:
    fake = FakeJourney(tmp_path)
    advice = fake.advise(CPU_HOST, GGUF, Constraints())
    return fake.plan(CPU_HOST, fake.model("demo"), advice.choices[0], Workspace(tmp_path))


def test_a_plan_has_reasons_commands_estimates_and_notes(tmp_path: Path) -> None:
    text = plan_text(plan(tmp_path))
    assert "\nModel: 3 M parameters · 3.3 MiB · Q8_0 · 1,024 tokens of context · Apache-2.0\n" in text
    step = "1. Create the server environment (about 30 s · 110 MiB to download · 300 MiB of disk space)"
    assert step in " ".join(text.split())
    assert " ".join(text.split()).count("downloads estimated at 20 MB/s") == 1
    assert "   Triton and its engine live in an environment of their own." in text
    assert "   $ python3 -m venv 'the env'" in text
    assert "   write /ws/config.pbtxt (1 line)" in text
    whole = plan_text(plan(tmp_path), files=True)
    assert "   $ mkdir -p /ws && cat > /ws/config.pbtxt <<'END'\nname: \"demo\"\nEND" in whole
    assert "Before you start:\n  - Port 8000 is held." in text
    assert "$ python3" not in plan_text(plan(tmp_path), commands=False)


def test_a_plan_for_another_machine_says_so(tmp_path: Path) -> None:
    assert "This plan is for 4xA6000, not this machine" in plan_text(replace(plan(tmp_path), host="4xA6000"))


def test_servers() -> None:
    assert "triton-wizard up demo" in statuses_text([], "triton-wizard up demo")
    text = statuses_text(
        [Status("demo", "ready", ENDPOINT, "http://127.0.0.1:8000"), Status("a", "dead", None, "gone")], "up"
    )
    assert text == "SERVER  STATE  DETAILS\ndemo    ready  http://127.0.0.1:8000\na       dead   gone"


def test_a_machine() -> None:
    assert host_text(CPU_HOST).startswith(
        "GPU       none\nCPU       Some CPU, 8 cores\nMemory    24.0 GiB free of 32.0 GiB"
    )
    gpu = Gpu(0, "Some GPU", memory_total_bytes=80 * 2**30)
    assert "Some GPU, 80.0 GiB" in host_text(replace(CPU_HOST, gpus=(gpu,)))
    problem = Problem("TW-P02", "the driver is not loaded", "Load it.")
    assert "none (the driver is not loaded)" in host_text(replace(CPU_HOST, gpu_problem=problem))


def test_a_machine_in_korean_has_straight_columns() -> None:
    language.use("ko")
    gpu, cpu, memory, *_ = host_text(CPU_HOST).splitlines()
    assert gpu.startswith("GPU       ")
    assert cpu.startswith("CPU       ")
    assert memory.startswith("메모리    32.0")


@given(st.text(), st.integers(20, 100))
def test_wrapped_text_is_harmless(text: str, limit: int) -> None:
    assert "\x1b" not in wrapped(text, "  ", limit=limit)


def gpus(name: str) -> tuple[Host, ModelFacts, Advice]:
    """A model of 8 or 70 B on such GPUs, advised."""
    config = json.loads((Path(__file__).parents[1] / "model" / "configs" / "public.json").read_text())
    machine = host(name)
    facts = describe(ModelFacts("r", "folder", "r", "Llama", None, None), config["meta-llama/Llama-3.1-70B"]["config"])
    return machine, facts, advise(machine, facts, Constraints())


@pytest.mark.parametrize("width", [40, 100])
def test_advice_on_gpus(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    _, facts, advice = gpus("8xH100")
    text = advice_text(advice, facts)
    words = " ".join(text.split())
    assert f"Recommended: {report.choice_title(advice.choices[0])} · " in words
    second = report.ordered(advice.choices)[1]
    assert f"Alternative: {report.choice_title(second)}. {report.reason(second, report.BEHIND)}" in words
    assert report.reason(advice.choices[0], report.LIMIT) in words
    assert [f"Option {number}: " in words for number in range(2, TOP + 2)] == [*[True] * (TOP - 1), False]
    assert f"… and {len(advice.choices) - TOP} more: --top {len(advice.choices)}" in words
    assert words.count("Not possible: ") == len(refusals.grouped(advice.rejections)) < len(advice.rejections)
    assert max(map(len, text.split("\n"))) <= width


def test_spoken_advice_names_no_flags() -> None:
    _, facts, advice = gpus("1xL4")
    advice = replace(advice, rejections=(replace(advice.rejections[0], remedies=(change(quantization="int4_awq"),)),))
    assert "--quantization int4_awq" in advice_text(advice, facts)
    spoken = advice_text(advice, facts, fit=aloud)
    assert "Not possible" in spoken
    assert "--" not in spoken


def test_the_short_advice_is_the_recommendation_alone() -> None:
    _, facts, advice = gpus("8xH100")
    text = advice_text(advice, facts, top=1)
    assert "Recommended: " in text
    assert not [word for word in ("Or 2", "Alternative", "Not possible", "more: --top") if word in text]
    assert "more: --top" not in advice_text(advice, facts, top=len(advice.choices))
    assert "Not possible" in advice_text(replace(advice, choices=(), feasible=False), facts, top=1)


def test_the_formulas_of_the_recommendation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    machine, facts, advice = gpus("8xH100")
    formulas = figures(machine, facts, advice.choices[0])
    text = advice_text(advice, facts, figures=formulas)
    beginning = (
        "Explanation of these figures:\n  Parameters = 70,553,706,496 parameters\n    = 1,050,673,152 embedding + "
    )
    assert beginning in text
    assert text.count("Source: ") == len(formulas)
