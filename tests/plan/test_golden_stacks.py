"""The plans of the native stacks, word for word; ``UPDATE_GOLDEN=1`` regenerates them."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import pytest

from tests.plan.golden import GOLDEN, compared, shown
from tests.plan.stack_values import TRANSFORMERS, machine, native, planned
from tests.values import PYTHON
from wizard.catalog import stacks
from wizard.model.refs import HubRef
from wizard.model.shipped_configs import shipped
from wizard.plan.plan import Step

NEWER = replace(PYTHON, path="/opt/python3.12/bin/python3.12", version=(3, 12, 3))
"""TensorRT-LLM has no wheels for 3.11."""
PLANS = {
    **{f"{name}-native": native(name) for name in stacks.gpu_stacks() if stacks.facts(name).native},
    "transformers-cpu": replace(TRANSFORMERS, devices=()),
}


def plan(name: str) -> tuple[Step, ...]:
    small = shipped(HubRef("meta-llama/Llama-3.1-8B-Instruct"), "not asked")
    assert small
    on = machine("1xH200" if PLANS[name].devices else "cpu")
    return planned(PLANS[name], small, on=replace(on, interpreters=(PYTHON, NEWER)))


@pytest.fixture(autouse=True)
def same_installer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "pip")


@pytest.mark.parametrize("name", PLANS)
def test_the_plan_is_the_golden_one(name: str) -> None:
    compared("stacks", name, shown(plan(name)))


def test_no_golden_plan_is_left_over() -> None:
    assert {path.stem for path in (GOLDEN / "stacks").glob("*.txt")} == set(PLANS)
