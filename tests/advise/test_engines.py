"""Engines have ended: what is said of it, and what takes their place."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import pytest

from tests.advise.worlds import LLAMA_8B, facts_of, machine
from tests.worded import remedy_of, text_of
from wizard import journey
from wizard.advise import engines
from wizard.advise.advice import Constraints
from wizard.advise.ranking import advise
from wizard.catalog import stacks
from wizard.catalog.explanations import step
from wizard.catalog.recipes import answered
from wizard.catalog.releases import images
from wizard.catalog.trtllm_tools import tools
from wizard.kernel.paths import Workspace
from wizard.plan.questions import constraints

STACK = next(filter(engines.builds, stacks.names()))
LLAMA = facts_of(LLAMA_8B)
ENGINES = [recipe for recipe in journey.recipes() if recipe.answers.get("stack") == STACK]


def test_a_newer_release_has_no_engines() -> None:
    newer = replace(images("trtllm").releases[0], tag="26.12", engine="1.4.0")
    why = engines.obstacle(newer)
    assert why is not None
    assert "TensorRT-LLM 1.2.1 was the last" in text_of(why)
    assert remedy_of(why) == "--stack vllm"


def test_the_later_releases_that_build_engines_begin_with_the_nearest() -> None:
    assert engines.later("24.09")[:3] == ("24.10", "24.11", "24.12")


def test_only_engines_have_ended() -> None:
    for choice in advise(machine("1xH100"), LLAMA, Constraints()).choices:
        assert (engines.END in {note.code for note in choice.warnings}) is (choice.stack == STACK)


def test_the_successors_are_those_that_list_the_model() -> None:
    assert engines.successors(LLAMA) == ("vllm", "trtllm-llmapi")
    assert engines.successors(replace(LLAMA, architecture="PhiForCausalLM")) == ("vllm",)
    assert engines.successors(replace(LLAMA, architecture=None)) == ("vllm",)


def test_a_successor_keeps_everything_but_the_engines_image_and_formats() -> None:
    given = Constraints(stack=STACK, release="24.09", quantization="int4_awq", kv_dtype="fp8", tp=2, max_len=2560)
    assert engines.succeeded(given, "vllm") == Constraints(stack="vllm", tp=2, max_len=2560)


@pytest.mark.parametrize("recipe", ENGINES, ids=lambda recipe: recipe.name)
@pytest.mark.parametrize("stack", ["vllm", "trtllm-llmapi"])
def test_every_engine_recipe_has_a_successor_by_one_flag(recipe: object, stack: str) -> None:
    """The same model on the same machine, in an image of today."""
    assert isinstance(recipe, type(ENGINES[0]))
    host = replace(journey.probe(Workspace.at(None), hardware=recipe.machines[0]), driver_version="590.44.01")
    facts = journey.model(recipe.name, offline=True)
    advice = advise(host, facts, constraints(answered(recipe.name, {"stack": stack}, journey.recipes())))
    assert advice.feasible
    assert advice.choices[0].stack == stack
    assert advice.choices[0].release >= "25"


@pytest.mark.parametrize("recipe", ENGINES, ids=lambda recipe: recipe.name)
def test_the_plan_names_the_successor_with_its_command(recipe: object) -> None:
    assert isinstance(recipe, type(ENGINES[0]))
    host = journey.probe(Workspace.at(None), hardware=recipe.machines[0])
    facts = journey.model(recipe.name, offline=True)
    advice = journey.advise(host, facts, constraints(answered(recipe.name, {}, journey.recipes())))
    plan = journey.plan(host, facts, advice.choices[0], Workspace.at(None))
    (sentence,) = [note for note in plan.notes if "removed engines" in note]
    command = re.search(r"`(.*?)`", sentence)
    assert command
    assert shlex.split(command[1])[1:] == ["plan", recipe.name, "--hardware", recipe.machines[0], "--stack", "vllm"]


def test_without_engines_the_plan_has_no_such_note() -> None:
    assert engines.notes("vllm", LLAMA) == ()


def test_the_explanation_names_the_last_release() -> None:
    explanation = step(STACK, "engine")
    assert explanation
    assert tools().engines.last in explanation.what
