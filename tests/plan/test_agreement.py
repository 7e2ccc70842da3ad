"""Advice and plan agree: the plan of every choice fetches the checkpoint that the choice describes, and of its size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.advise.worlds import CONFIGS, machine
from wizard.advise.advice import Advice, Choice, Constraints
from wizard.advise.ranking import advise
from wizard.catalog import stacks
from wizard.catalog.models import curated
from wizard.kernel.errors import InfeasibleError, WizardError
from wizard.kernel.paths import Workspace
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.model.source import find
from wizard.plan.build import build
from wizard.plan.plan import Plan

MACHINES = ("cpu", "1xT4", "1xA10", "2x4090", "1xH100", "8xH100", "1xB200")
FAMILIES = ("qwen2.5-", "qwen3-8b", "qwen3-30b", "qwen3.6-35b", "llama-3.1", "phi-4", "gemma-4-31b", "deepseek-v3")
"""Of all architectures and formats, for the time that all would take."""
ASKED = (None, "fp8", "int4_awq", "int4_gptq", "nvfp4")


def known() -> list[ModelFacts]:
    """The models of the catalog whose configuration is known offline, and public ones that nobody quantized."""
    facts: list[ModelFacts] = []
    for name, model in curated().items():
        if not name.startswith(FAMILIES):
            continue
        try:
            facts.append(find(model.repo, offline=True))
        except WizardError:
            continue
    named = (ModelFacts(name, "hub", name, name.partition("/")[2], None, None) for name in ("Qwen/Qwen3-0.6B",))
    return [*facts, *(replace(describe(each, CONFIGS[each.ref]), weight_bytes=12345) for each in named)]


def fetched(plan: Plan) -> tuple[str, str | None, int]:
    """What the plan downloads, the only file of it, and how many bytes."""
    (step,) = (step for step in plan.steps if step.id == "model")
    argv = step.actions[0].argv  # type: ignore[union-attr]
    repo = next(word for word in argv if "/" in word and not word.startswith("/"))
    file = next((word for word in argv if word.endswith(".gguf")), None)
    return repo, file, step.estimate.download_bytes


def one_per_format(advice: Advice) -> list[Choice]:
    """One choice of each stack and format."""
    return list({(choice.stack, choice.quantization): choice for choice in advice.choices}.values())


@pytest.mark.parametrize("where", MACHINES)
@pytest.mark.parametrize("facts", known(), ids=lambda facts: facts.name)
def test_the_plan_fetches_what_the_choice_describes(facts: ModelFacts, where: str, tmp_path: Path) -> None:
    host = machine(where)
    for quantization in ASKED:
        for choice in one_per_format(advise(host, facts, Constraints(quantization=quantization))):
            assert choice.checkpoint is not None
            try:
                plan = build(host, facts, choice, Workspace.at(str(tmp_path)))
            except InfeasibleError:
                assert stacks.facts(choice.stack).builds_engine  # its tools know more limits than the advice
                continue
            ref, file, size = fetched(plan)
            assert file == choice.checkpoint.file
            assert ref == choice.checkpoint.ref, (choice.stack, choice.quantization)
            assert size == (choice.checkpoint.bytes or 0)


def test_a_format_that_nobody_publishes_is_a_remedy_and_no_choice() -> None:
    facts = replace(known()[-1], location="me/mine", ref="me/mine")
    advice = advise(machine("1xH100"), facts, Constraints(quantization="int4_awq", stack="vllm"))
    assert not advice.feasible
    assert advice.rejections[0].code in ("checkpoint", "quantization")
    loaded = advise(machine("1xH100"), facts, Constraints(quantization="fp8", stack="vllm"))
    assert loaded.choices[0].checkpoint is not None
    assert (loaded.choices[0].checkpoint.ref, loaded.choices[0].checkpoint.how) == ("me/mine", "loading")


def test_an_engine_that_quantizes_after_loading_needs_room_for_all_16_bits() -> None:
    facts = find("Qwen/Qwen3-32B", offline=True)
    unpublished = replace(facts, location="me/mine")
    advice = advise(machine("1xL40S"), unpublished, Constraints(quantization="fp8", stack="sglang"))
    assert not advice.feasible
    assert advice.rejections[0].code == "memory"
