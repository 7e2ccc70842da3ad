"""The plans of all recipes, word for word, as the command line makes them; ``UPDATE_GOLDEN=1`` regenerates them."""

from __future__ import annotations

import importlib.util
import itertools
import json
from pathlib import Path

import pytest

from tests.plan.golden import GOLDEN, compared, shown
from wizard import journey
from wizard.catalog.recipes import answered
from wizard.catalog.recipes import recipe as recipe_of
from wizard.kernel.errors import InfeasibleError
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Command, Plan, Write
from wizard.plan.questions import constraints

PLANS: dict[str, tuple[str, str, dict[str, object]]] = {
    **{recipe.name: (recipe.name, recipe.machines[0], {}) for recipe in journey.recipes() if recipe.name != "demo"},
    "tutorial-002-tp2": ("tutorial-002", "2xA100", {"tp": 2}),
}
"""Name of a golden plan → recipe, machine and flags: every recipe on the first machine that it is made for."""


@pytest.fixture(autouse=True)
def same_installer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "pip")


def plan(name: str, hardware: str, **given: object) -> Plan:
    """What ``plan NAME --hardware HARDWARE`` and the flags ``given`` make of the recipe, offline."""
    host = journey.probe(Workspace(Path("/w")), hardware=hardware)
    facts = journey.model(name, offline=True)
    advice = journey.advise(host, facts, constraints(answered(name, given, journey.recipes())))
    return journey.plan(host, facts, advice.choices[0], Workspace(Path("/w")), name="demo")


@pytest.mark.parametrize("name", PLANS)
def test_the_plan_is_the_golden_one(name: str) -> None:
    ref, hardware, given = PLANS[name]
    compared("recipes", name, shown(plan(ref, hardware, **given).steps))


def test_no_golden_plan_is_left_over() -> None:
    assert {path.stem for path in (GOLDEN / "recipes").glob("*.txt")} == set(PLANS)


@pytest.mark.parametrize("length", [1024, 4096])
def test_a_flag_goes_before_what_the_recipe_was_made_for(length: int) -> None:
    made = plan("tutorial-001", "1xL4", max_len=length)
    commands = [action for step in made.steps for action in step.actions if isinstance(action, Command)]
    (argv,) = (command.argv for command in commands if "trtllm-build" in command.argv)
    flags = dict(itertools.pairwise(argv))
    assert int(flags["--max_input_len"]) + int(flags["--max_output_len"]) == length == made.choice.max_seq_len


def test_two_models_that_do_not_fit_are_refused_before_anything_is_fetched() -> None:
    with pytest.raises(InfeasibleError) as caught:
        plan("tutorial-003", "1xL4")
    assert caught.value.code == "TW-L35"
    assert "is available" in caught.value.what


def test_two_models_that_share_their_weights_over_two_gpus_fit() -> None:
    assert plan("tutorial-003", "2xL4", tp=2, max_len=1024).choice.tp == 2


@pytest.mark.parametrize(("name", "length"), [("tutorial-004", 4096), ("tutorial-004-mixtral", 32768)])
def test_tutorial_004_serves_as_many_sequences_as_vllm_does_by_itself(name: str, length: int) -> None:
    """The tutorial says nothing of ``max_num_seqs``, whose default is 256, and profiles with 16 at a time."""
    made = plan(name, "4xA6000")
    (step,) = (earlier for earlier in made.steps if earlier.id == "repository")
    (text,) = (
        action.text for action in step.actions if isinstance(action, Write) and action.path.endswith("model.json")
    )
    assert (json.loads(text)["max_num_seqs"], json.loads(text)["max_model_len"]) == (256, length)
    assert (made.choice.max_batch_size, made.choice.max_seq_len) == (16, length)
    assert "Up to 256 sequences run concurrently (max_num_seqs)." in step.why
    assert f"The KV cache has room for 16 of them at {length:,} tokens each" in step.why


def test_tutorial_001_says_why_its_type_is_another() -> None:
    assert plan("tutorial-001", "1xL4").choice.dtype == "bfloat16"
    (repair,) = (repair for repair in recipe_of("tutorial-001").repaired if "bfloat16" in repair)
    assert "float16" in repair
