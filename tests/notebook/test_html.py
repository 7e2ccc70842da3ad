"""The journey's values as HTML: complete, and nothing in them is taken for HTML."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import pseudo
from tests.prompts.fake_journey import ENDPOINT, MEASUREMENT, STEPS
from tests.values import CHOICE, CPU_HOST, GGUF, plan_of
from tests.worded import noted, saying
from wizard.advise.advice import Advice, Constraints, Memory, Offload, Rejection
from wizard.advise.calibration import rows
from wizard.advise.ranking import advise
from wizard.advise.reasons import change, do
from wizard.chat.conversation import Stats
from wizard.kernel.errors import UsageError
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.notebook.html import (
    SHOWN,
    advice_html,
    answer_html,
    choice_html,
    endpoint_html,
    error_html,
    figures_html,
    host_html,
    measured_html,
    memory_html,
    model_html,
    plan_html,
    progress_html,
    stats_html,
    status_html,
    turn_html,
)
from wizard.plan.plan import Command
from wizard.probe.host import Gpu, Host, Problem
from wizard.probe.shorthand import host
from wizard.run.events import Progress
from wizard.serve.status import Status
from wizard.texts import report
from wizard.texts.explain import figures

EVIL = "<script>alert('x')</script>\"><img src=x onerror=y>&\x1b[31m"
VOID = {"br", "img"}


class Tags(HTMLParser):
    """What a browser would make of it: the elements, and whether they are closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.words = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


EVIL_NOTE = noted(EVIL, EVIL)
EVIL_REJECTION = Rejection(EVIL, EVIL, 1, 1, "x", saying(EVIL), (change(release=EVIL),))
EVIL_CHOICE = replace(CHOICE, release=EVIL, quantization=EVIL, reasons=(EVIL_NOTE,), warnings=(EVIL_NOTE,), stack=EVIL)
EVIL_FACTS = replace(GGUF, name=EVIL, questions=(EVIL,), licence=EVIL, unknown={EVIL: EVIL})
EVIL_HOST = replace(
    CPU_HOST,
    cpu=replace(CPU_HOST.cpu, model=EVIL),
    gpus=(Gpu(0, EVIL),),
    source=EVIL,
    unknown={EVIL: EVIL},
    system=replace(CPU_HOST.system, name=EVIL),
)
EVIL_STEP = replace(STEPS[0], title=EVIL, why=EVIL, actions=(Command((EVIL, EVIL)),))
EVIL_PLAN = replace(plan_of(Path(EVIL), EVIL_STEP), facts=EVIL_FACTS, notes=(EVIL,), choice=EVIL_CHOICE)


@pytest.mark.parametrize(
    "html",
    [
        host_html(EVIL_HOST),
        host_html(replace(CPU_HOST, gpu_problem=Problem("TW-P02", EVIL, EVIL))),
        model_html(EVIL_FACTS),
        status_html(Status(EVIL, "dead", None, EVIL)),
        endpoint_html(replace(ENDPOINT, name=EVIL, openai=EVIL)),
        error_html(UsageError("TW-U01", EVIL, EVIL)),
        turn_html(EVIL, answer_html(EVIL)),
        advice_html(
            Advice(
                True,
                (EVIL_CHOICE, EVIL_CHOICE),
                (EVIL_REJECTION,),
            )
        ),
        plan_html(EVIL_PLAN),
        progress_html([(EVIL, EVIL)], EVIL, Progress("a", 0.5, None, EVIL, 0.0, EVIL), (EVIL,)),
        answer_html(EVIL),
        answer_html(f"```{EVIL}"),
        answer_html(f"```html\n{EVIL}```{EVIL}"),
    ],
)
def test_nothing_foreign_becomes_html(html: str) -> None:
    tags = Tags(html)
    assert not tags.seen & {"script", "img"}
    assert "alert('x')" in tags.words, "it is shown, as text"
    assert "\x1b" not in html


def test_no_secret_is_in_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-your-own")
    token = "hf_" + "a1B2" * 8
    shown = answer_html(f"{token} and a-key-of-your-own") + progress_html([(token, token)], token, None, (token,))
    assert token not in shown
    assert "a-key-of-your-own" not in shown
    assert "•••" in shown


@given(st.text())
def test_any_answer_is_harmless_and_whole(answer: str) -> None:
    tags = Tags(answer_html(answer))
    assert tags.seen <= {"div", "pre"}


def test_an_answer_shows_its_code_as_code() -> None:
    html = answer_html("Run this:\n```sh\ntritonserver --help\n```\nand look.")
    assert ">tritonserver --help\n</pre>" in html
    assert Tags(html).words == "Run this:tritonserver --help\nand look."


def test_a_plan_has_every_step_with_its_commands() -> None:
    words = Tags(plan_html(replace(plan_of(Path("/ws"), *STEPS), notes=("Port 8000 is held.",)))).words
    texts = ("Create the server environment", "python3 -m venv 'the env'", "about 30 s", "estimated at 20 MB/s")
    for part in (*texts, "Port 8000 is held."):
        assert part in words


def test_a_plan_names_the_licence_and_the_machine_that_it_is_for() -> None:
    made = replace(plan_of(Path("/ws"), *STEPS), facts=replace(GGUF, licence="MIT"))
    words = Tags(plan_html(made)).words
    assert "Serve demo as test with llama.cpp · Q8_0" in words
    assert "MIT" in words
    assert "not this machine" not in words
    assert "This plan is for 4xA6000, not this machine" in Tags(plan_html(replace(made, host="4xA6000"))).words


def test_like_gpus_are_counted_and_unknown_values_are_marked() -> None:
    words = Tags(host_html(replace(host("8xH100"), unknown={"disk": "it is elsewhere"}))).words
    assert "8 × NVIDIA H100 80GB HBM3, 79.6 GiB each" in words
    assert "unknowndisk: it is elsewhere" in words


def test_advice_names_the_recommendation_the_others_and_the_impossible() -> None:
    why = Rejection("vllm", None, 1, 1, "no-gpu", saying("vLLM needs an NVIDIA GPU."), (do("newer-gpu"),))
    words = Tags(advice_html(Advice(True, (CHOICE, replace(CHOICE, max_seq_len=512)), (why,)))).words
    assert "Recommended: llama.cpp · Q8_0 · 4 users at a time, 1,024 tokens each" in words
    assert "Or: llama.cpp · Q8_0 · 4 users at a time, 512 tokens each" in words
    assert "→ a newer GPU" in words
    assert "No supported configuration can serve" in advice_html(Advice(False, (), (why,)))


def test_the_memory_bill_says_in_words_what_the_bar_shows() -> None:
    memory = Memory(8 * 2**20, 1024, 16384, 2**20, 75 * 2**20, 100 * 2**20, 2**30)
    words = Tags(memory_html(replace(CHOICE, memory=memory))).words
    for part in (
        "100 MiB used of 1.0 GiB",
        "weights 8.0 MiB",
        "KV cache 16.0 MiB",
        "overhead 75.0 MiB",
        "free 924 MiB",
    ):
        assert part in words


def test_a_model_on_a_gpu_and_the_host_has_a_bar_of_each() -> None:
    split = replace(CHOICE, devices=(0,), offload=Offload(20, 33, 0, Memory(8, 1, 1, 1, 1, 11, 50)))
    words = Tags(memory_html(split)).words
    assert "GPU memory: " in words
    assert "Host memory: 11 B used of 50 B usable" in words


def test_a_bill_over_the_budget_is_drawn_all_the_same() -> None:
    html = memory_html(replace(CHOICE, memory=Memory(8, 1, 1, 1, 1, 11, 5)))
    assert "excess 6 B" in Tags(html).words
    assert 'style="flex:0 0 2px;background:#d0504c"' in html


def test_predicted_against_measured() -> None:
    words = Tags(measured_html(MEASUREMENT)).words
    assert words == "".join(cell for row in rows(MEASUREMENT) for cell in row)


def test_progress_with_and_without_a_fraction() -> None:
    half = progress_html([], "[1/2] Get", Progress("a", 0.5, 90.0, "", 0.0, "loading the weights"), ())
    assert 'value="0.500"></progress> loading the weights · about 1 min 30 s left' in half
    begun = progress_html([], "[1/2] Get", Progress("a", None, None, "", 0.0, "compiling"), ())
    assert "<progress></progress> compiling" in begun
    assert "<progress>" in progress_html([], "[1/2] Get", None, ())
    assert "progress" not in progress_html([("[1/1] Get", "done")], "", None, ())


def test_figures() -> None:
    assert "110.0 tokens/s · TTFT 50 ms · 12 tokens" in stats_html(Stats(12, 0.05, 0.15, "stop"))
    assert "stopped" in stats_html(None)


def on_gpus() -> tuple[Host, ModelFacts, Advice]:
    """A model of 70 B on eight GPUs, advised."""
    config = json.loads((Path(__file__).parents[1] / "model" / "configs" / "public.json").read_text())
    facts = describe(ModelFacts("r", "folder", "r", "Llama", None, None), config["meta-llama/Llama-3.1-70B"]["config"])
    machine = host("8xH100")
    return machine, facts, advise(machine, facts, Constraints())


def test_many_ways_are_folded_and_none_is_lost() -> None:
    _, _, advice = on_gpus()
    tags = Tags(advice_html(advice))
    words = " ".join(tags.words.split())
    assert tags.words.count("Or: ") == len(advice.choices) - 1
    assert f"{len(advice.choices) - SHOWN} more alternatives" in words
    second = report.ordered(advice.choices)[1]
    assert f"Alternative: {report.choice_title(second)}. {report.reason(second, report.BEHIND)}" in words
    assert report.speed_sentence(advice.choices[0].speed) in words
    assert report.reason(advice.choices[0], report.LIMIT) in words
    assert "Not possible on this machine" in words
    assert "--tp" not in words


def test_a_choice_and_its_formulas_by_themselves() -> None:
    machine, facts, advice = on_gpus()
    words = Tags(choice_html(advice.choices[0])).words
    assert words.startswith(report.choice_title(advice.choices[0]))
    formulas = figures(machine, facts, advice.choices[0])
    words = Tags(figures_html(formulas)).words
    assert all(formula.formula in words and formula.result in words and formula.source in words for formula in formulas)


def test_every_word_is_in_the_catalog() -> None:
    """All that the notebook says itself; what the machine, the model and the fake plan say is data."""
    choice = replace(CHOICE, reasons=(noted("R1."),), warnings=(noted("W1."),))
    advice = Advice(True, (choice, *[replace(choice, stack=f"s{number}") for number in range(SHOWN + 1)]))
    refusal = Rejection("vllm", None, 1, 1, "gpu", saying("T1."), (change(users=2),))
    plan = replace(plan_of(Path("/ws"), *STEPS, name="demo"), notes=("N1.",), host="h1")
    data = {text for step in STEPS for text in (step.title, step.why)} | {"Some CPU", "Some Linux 12", "llama.cpp"}
    with pseudo.spoken():
        pages = [
            host_html(CPU_HOST),
            model_html(replace(GGUF, questions=("Q1",))),
            advice_html(advice),
            advice_html(Advice(False, (), (refusal,))),
            choice_html(choice),
            plan_html(plan),
            progress_html([("step", "ended")], "Get the model", Progress("a", 0.5, None, "", 0.0), ("out",)),
            status_html(Status("demo", "ready", None, "D1")),
            stats_html(Stats(12, 0.05, 0.1, "stop")),
        ]
    words = [Tags(html).words for html in pages]
    assert all(pseudo.OPEN in word for word in words[:6])
    commands = {action.shell() for step in STEPS for action in step.actions}
    names = {*data, *commands, "GPU", "CPU", "demo", "step", "ended", "Get the model", "out", "vLLM", "triton"}
    assert [left for word in words if (left := pseudo.escaped(word, names))] == []


def test_a_benchmark_has_its_charts_in_a_notebook_and_its_results_elsewhere() -> None:
    from wizard.notebook.values import Benchmark

    recorded = Path(__file__).parents[1] / "bench" / "recorded" / "demo"
    shown = Benchmark.read(recorded / "report.json")
    html = shown._repr_html_()
    assert html.count("<svg") == 6
    assert "<script" not in html
    assert "4 at once  38.7 ±92%" in str(shown)
