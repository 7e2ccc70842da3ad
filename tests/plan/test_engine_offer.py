"""An engine that is there: offered where somebody can answer, named in the plan where not, and never taken unasked."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.advise.worlds import VENV
from tests.plan.stack_values import FACTS, IN_IMAGE, TRANSFORMERS, VLLM
from tests.prompts.fake_journey import FakeJourney
from tests.values import GGUF, PYTHON
from tests.worded import saying
from wizard.advise.advice import Constraints, Rejection
from wizard.advise.reasons import without
from wizard.flow.values import State
from wizard.kernel.paths import Workspace
from wizard.kernel.values import from_json, to_data, to_json
from wizard.model.facts import ModelFacts
from wizard.plan.answers import load_answers
from wizard.plan.build import build
from wizard.plan.engine_offer import hint, offer
from wizard.plan.plan import Plan
from wizard.plan.questions import constraints
from wizard.probe.host import Host
from wizard.probe.shorthand import host
from wizard.prompts.flow import Flow, run_prompts

REFUSED = Rejection("vllm", "none", 1, 1, "own-gpu", saying("It cannot."), (without("engine_python"),))
HERE = replace(host("1xH200"), engines=(), interpreters=(PYTHON,), engine_pythons=(VENV,))


def test_it_is_offered_first_with_the_cost_of_the_alternative() -> None:
    offered = offer(HERE, FACTS, {"model": "m", "users": 2})
    assert offered is not None
    assert offered.question == "Found vLLM 0.26.0 in /opt/venv. Use it?"
    (path, use), (none, new) = offered.options
    assert (path, none) == (VENV.path, "none")
    assert use == "vLLM 0.26.0 in /opt/venv (no download)"
    assert new == "A new environment (3.7 GiB to download)"
    with_docker = offer(replace(host("1xH200"), engine_pythons=(VENV,)), FACTS, {})
    assert with_docker is not None
    assert with_docker.options[1][1] == "NVIDIA's image with its own engine"


def test_a_download_of_unknown_size_is_not_named() -> None:
    """TensorRT-LLM's wheels are resolved by pip."""
    python = replace(VENV, packages={"tensorrt_llm": "1.2.1", "torch": "2.11.0"})
    offered = offer(replace(HERE, engine_pythons=(python,)), FACTS, {})
    assert offered is not None
    assert [label for _, label in offered.options] == [
        "TensorRT-LLM 1.2.1 in /opt/venv (no download)",
        "A new environment",
    ]


def test_the_stack_that_was_asked_for_is_offered() -> None:
    assert offer(HERE, FACTS, {"stack": "sglang"}) is None
    offered = offer(HERE, FACTS, {"stack": "transformers"})
    assert offered is not None
    assert offered.question == "Found transformers 5.17.0 in /opt/venv. Use it?"
    assert [remark.partition(" is in ")[0] for remark in hint(HERE, "vllm")] == ["vLLM 0.26.0"]
    assert hint(HERE, "sglang") == ()


@pytest.mark.parametrize("answer", ["none", VENV.path])
def test_what_is_answered_is_not_asked(answer: str) -> None:
    assert offer(HERE, FACTS, {"engine_python": answer}) is None
    assert constraints({"engine_python": answer}).engine_python == (None if answer == "none" else answer)


@pytest.mark.parametrize(
    "known", [{"runtime": "docker"}, {"release": "25.11"}, {"stack": "llamacpp"}, {"stack": "trtllm-engine"}]
)
def test_where_it_would_mean_nothing_it_is_not_asked(known: dict[str, object]) -> None:
    assert offer(HERE, FACTS, known) is None


def test_only_what_can_serve_is_offered() -> None:
    def offered(on: Host, **known: Any) -> bool:
        return offer(on, FACTS, known) is not None

    only = replace(VENV, packages={"transformers": "5.17.0", "torch": "2.11.0"})
    assert not offered(replace(HERE, engine_pythons=(only,)))  # nobody asked for the slow baseline
    assert offered(replace(HERE, engine_pythons=(only,)), stack="transformers")
    assert not offered(replace(HERE, engine_pythons=(replace(VENV, packages={"vllm": "0.8.5", "torch": "2.6"}),)))
    assert not offered(replace(HERE, driver_version="570.1", cuda_driver_version="12.8"))
    blackwell = replace(host("1xB200"), engines=(), interpreters=(PYTHON,))
    assert not offered(replace(blackwell, engine_pythons=(replace(VENV, cuda="12.6"),)))
    assert offered(replace(blackwell, engine_pythons=(VENV,)))
    assert not offered(replace(HERE, gpus=()))
    assert not offered(replace(HERE, engine_pythons=()))


def test_a_gguf_file_is_served_by_llamacpp_and_nothing_is_asked() -> None:
    assert offer(HERE, GGUF, {}) is None


def test_whoever_is_not_asked_reads_it_in_the_plan_and_gets_a_new_environment() -> None:
    workspace = Workspace.at("/w")
    for choice, named in ((VLLM, "vLLM 0.26.0"), (TRANSFORMERS, "transformers 5.17.0")):
        plan = build(HERE, FACTS, choice, workspace)
        (note,) = (remark for remark in plan.notes if "--engine-python" in remark)
        assert note.startswith(f"{named} is in /opt/venv: use --engine-python {VENV.path} to serve with it")
        assert plan.estimate.download_bytes > 2_000_000_000
    for other in (IN_IMAGE, replace(VLLM, engine_python=VENV.path)):
        assert not any("--engine-python" in remark for remark in build(HERE, FACTS, other, workspace).notes)


def test_the_plan_of_the_users_python_is_read_back_and_older_plans_too() -> None:
    plan = build(HERE, FACTS, replace(VLLM, engine_python=VENV.path), Workspace.at("/w"))
    assert from_json(Plan, to_json(plan), where="plan.json") == plan
    old = to_data(plan)
    del old["choice"]["engine_python"]
    assert from_json(Plan, to_json(old), where="plan.json").choice.engine_python is None


class FakeJourneyWithEngine(FakeJourney):
    """A machine where an engine is installed; remembers what the advice was asked with."""

    asked: list[str | None]

    def probe(self, workspace: Workspace, *, hardware: str | None = None) -> Host:
        return HERE

    def model(self, ref: str, *, offline: bool = False) -> ModelFacts:
        return FACTS

    def advise(self, host: Host, facts: Any, asked: Any, past: Any = None, **_: Any) -> Any:
        self.asked.append(asked.engine_python)
        return super().advise(host, facts, asked, past)


@pytest.mark.parametrize(("typed", "taken"), [("", VENV.path), ("1", VENV.path), ("2", None)])
def test_in_a_plain_terminal_enter_takes_it(
    typed: str, taken: str | None, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{typed}\n"))
    workspace = Workspace(tmp_path / "w")
    journey = FakeJourneyWithEngine(workspace.root)
    journey.asked = []
    assert run_prompts(workspace, journey=journey, answers={"model": "demo"}) == 130  # it is left at the advice
    assert journey.asked == [taken]
    assert "Found vLLM 0.26.0 in /opt/venv. Use it?" in capsys.readouterr().out
    assert load_answers(workspace) == {"model": "demo"}  # nobody typed the other


def walked(
    journey: FakeJourneyWithEngine, folder: Any, monkeypatch: pytest.MonkeyPatch, answers: Iterator[str]
) -> None:
    """Walk with these ``answers``, the engine that is there being taken, until one is to leave."""
    flow = Flow(journey, Workspace(folder / "w"), State({"model": "demo"}, offline=True))

    def choose(text: str, options: Any, *_: Any, **__: Any) -> Any:
        if text.startswith("Found"):
            return options[0][1]
        if (answer := next(answers)) == "leave":
            raise EOFError
        return answer

    monkeypatch.setattr(flow.ask, "choose", choose)
    with pytest.raises(EOFError):
        flow.go()


def test_in_a_plain_terminal_the_answer_is_for_its_model_only(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    journey = FakeJourneyWithEngine(tmp_path / "w")
    journey.asked = []
    models = iter([replace(FACTS, ref="first"), replace(GGUF, ref="second")])
    monkeypatch.setattr(journey, "model", lambda ref, offline: next(models))
    answers = iter(["model", "second", "leave"])
    walked(journey, tmp_path, monkeypatch, answers)
    assert journey.asked == [VENV.path, None]


def test_a_remedy_without_it_withdraws_the_answer(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    journey = FakeJourneyWithEngine(tmp_path / "w")
    journey.asked = []
    refused = replace(journey.advise(HERE, FACTS, Constraints()), choices=(), rejections=(REFUSED,))
    monkeypatch.setattr(
        journey, "advise", lambda host, facts, asked, past, **_: journey.asked.append(asked.engine_python) or refused
    )
    walked(journey, tmp_path, monkeypatch, iter(["nearest", "leave"]))
    assert journey.asked == [None, VENV.path, None]
