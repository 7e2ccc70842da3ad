"""The plans of tutorial 004 and of the native stacks, word for word; ``UPDATE_GOLDEN=1`` writes them anew."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from tests.plan.stack_values import IN_IMAGE, QUESTION, TRANSFORMERS, VLLM, engine, machine, planned
from tests.plan.test_golden_trtllm import UPDATE, facts, text
from wizard.catalog import profiles
from wizard.plan.plan import Step

GOLDEN = Path(__file__).parent.parent / "golden" / "stacks"
FOUR = {"tp": 4, "devices": (0, 1, 2, 3)}


def plans() -> dict[str, tuple[Step, ...]]:
    """Tutorial 004's settings: 4 GPUs, 85 % of their memory, the image of 24.05, float16 for GPTQ."""
    llama, mixtral = facts("meta-llama/Meta-Llama-3-70B-Instruct"), facts("TheBloke/Mixtral-8x7B-Instruct-v0.1-GPTQ")
    small, four = facts("meta-llama/Llama-3.1-8B-Instruct"), machine("4xA6000")
    gptq = replace(IN_IMAGE, quantization="int4_gptq", dtype="float16", **FOUR)  # type: ignore[arg-type]
    return {
        "tutorial-004": planned(replace(IN_IMAGE, **FOUR), llama, on=four),  # type: ignore[arg-type]
        "tutorial-004-mixtral": planned(gptq, mixtral, on=four),
        "vllm-native": planned(VLLM, small),
        "transformers-native": planned(TRANSFORMERS, small),
        "transformers-cpu": planned(replace(TRANSFORMERS, devices=()), small, on=machine("cpu")),
    }


@pytest.fixture(autouse=True)
def same_installer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "pip")


def shown(steps: tuple[Step, ...]) -> str:
    """The plan, and what an engine behind the front is told."""
    made = text(steps).replace(str(profiles.find("environments/front.txt").parent), "PROFILES")
    if "front-" in made:
        argv, settings, env = engine(steps)
        made += "\n".join(["engine: " + " ".join(argv), *(f"  {name}: {value}" for name, value in settings.items())])
        made += "\n" + "\n".join(
            f"  {name}={value}" if value is not None else f"  without {name}" for name, value in env.items()
        )
    return made + "\n"


@pytest.mark.parametrize(
    "name", ["tutorial-004", "tutorial-004-mixtral", "vllm-native", "transformers-native", "transformers-cpu"]
)
def test_the_plan_is_the_golden_one(name: str) -> None:
    path, made = GOLDEN / f"{name}.txt", shown(plans()[name])
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made, encoding="utf-8")
    assert made == path.read_text(encoding="utf-8")


def test_no_golden_plan_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(plans())


def test_the_question_is_asked() -> None:
    assert all(QUESTION in text(steps) for steps in plans().values())
