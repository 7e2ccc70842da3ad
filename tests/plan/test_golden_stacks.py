"""The plans of the native stacks, word for word; ``UPDATE_GOLDEN=1`` regenerates them."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import pytest

from tests.plan.golden import GOLDEN, compared, shown
from tests.plan.stack_values import LLM_API, SGLANG, TRANSFORMERS, VLLM, machine, planned
from tests.values import PYTHON
from wizard.model.refs import HubRef
from wizard.model.shipped_configs import shipped
from wizard.plan.plan import Step

NEWER = replace(PYTHON, path="/opt/python3.12/bin/python3.12", version=(3, 12, 3))
"""TensorRT-LLM has no wheels for 3.11."""


def plans() -> dict[str, tuple[Step, ...]]:
    small = shipped(HubRef("meta-llama/Llama-3.1-8B-Instruct"), "not asked")
    assert small
    return {
        "vllm-native": planned(VLLM, small),
        "trtllm-llmapi-native": planned(LLM_API, small, on=replace(machine(), interpreters=(NEWER,))),
        "sglang-native": planned(SGLANG, small),
        "transformers-native": planned(TRANSFORMERS, small),
        "transformers-cpu": planned(replace(TRANSFORMERS, devices=()), small, on=machine("cpu")),
    }


@pytest.fixture(autouse=True)
def same_installer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "pip")


@pytest.mark.parametrize(
    "name", ["vllm-native", "trtllm-llmapi-native", "sglang-native", "transformers-native", "transformers-cpu"]
)
def test_the_plan_is_the_golden_one(name: str) -> None:
    compared("stacks", name, shown(plans()[name]))


def test_no_golden_plan_is_left_over() -> None:
    assert {path.stem for path in (GOLDEN / "stacks").glob("*.txt")} == set(plans())
