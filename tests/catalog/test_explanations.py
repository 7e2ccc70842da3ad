"""Explanations cover every stage and every step that a plan can have, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.plan.golden import GOLDEN
from tests.plan.test_golden_recipes import PLANS
from wizard import journey
from wizard.catalog import explanations
from wizard.catalog.profiles import PROFILES_VARIABLE, files
from wizard.catalog.recipes import recipes
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace
from wizard.plan.questions import STACK, constraints

DEMO = ("environment", "model", "repository", "start", "ready", "question")
"""Steps of the offline demo; a test below compares them with its plan."""


def _in(path: Path) -> set[str]:
    """Ids of the steps of a golden plan."""
    return set(re.findall(r"^# ([\w-]+): ", path.read_text(encoding="utf-8"), flags=re.MULTILINE))


def planned() -> dict[str, set[str]]:
    """Serving stack → ids of the steps of all golden plans that it serves, and of the demo's."""
    stacks = {recipe.name: str(recipe.answers.get("stack")) for recipe in recipes()}
    steps: dict[str, set[str]] = {"llamacpp": set(DEMO)}
    for name, (ref, _hardware, _given) in PLANS.items():
        steps.setdefault(stacks[ref], set()).update(_in(GOLDEN / "recipes" / f"{name}.txt"))
    for path in (GOLDEN / "stacks").glob("*.txt"):
        steps.setdefault(path.stem.rpartition("-")[0], set()).update(_in(path))
    return steps


def entries() -> list[tuple[str, str, explanations.Explanation]]:
    """File, table and explanation of everything."""
    entries = [("stages", name, explanations.stage(name)) for name in (explanations.START, *explanations.STAGES)]
    for stack, names in explanations.steps().items():
        for name in names:
            explanation = explanations.step(stack, name)
            assert explanation is not None
            entries.append((stack, name, explanation))
    return entries


def test_the_demo_has_the_steps_that_are_counted_on() -> None:
    host = journey.probe(Workspace(Path("/w")), hardware="cpu")
    facts = journey.model("demo", offline=True)
    choice = journey.advise(host, facts, constraints({})).choices[0]
    assert tuple(step.id for step in journey.plan(host, facts, choice, Workspace(Path("/w"))).steps) == DEMO


def test_every_step_of_every_stack_has_an_explanation_and_no_explanation_is_for_another() -> None:
    assert {stack: set(names) for stack, names in explanations.steps().items()} == planned()


def test_there_is_a_file_for_each_stack_and_one_for_the_stages() -> None:
    assert set(files("explanations")) == {*STACK.options, "stages"}


@pytest.mark.parametrize("name", [explanations.START, *explanations.STAGES])
def test_every_stage_says_what_why_and_what_to_look_at(name: str) -> None:
    explanation = explanations.stage(name)
    assert explanation.what
    assert explanation.why
    assert explanation.look


def test_a_step_leaves_why_to_its_plan() -> None:
    assert [(stack, name) for stack, name, explanation in entries() if stack != "stages" and explanation.why] == []


def test_every_tutorial_is_one_of_the_recipes() -> None:
    known = {recipe.name.removeprefix("tutorial-")[:3] for recipe in recipes() if recipe.name.startswith("tutorial-")}
    used = {number for _stack, _name, explanation in entries() for number in explanation.tutorial}
    assert used == known


def test_every_text_ends_as_a_sentence_and_every_command_says_something() -> None:
    for stack, name, explanation in entries():
        for text in filter(None, (explanation.what, explanation.look, explanation.why)):
            assert text.endswith((".", "?")), (stack, name, text)
            assert "\n" not in text, (stack, name)
        assert all(command.strip() for command in explanation.tutorial.values()), (stack, name)


def test_a_tutorials_recipe_shows_that_tutorials_commands() -> None:
    explanation = explanations.step("trtllm-engine", "engine")
    assert explanation is not None
    shown = {
        model: next(part for part in explanations.parts(explanation, model=model) if part.commands)
        for model in ("tutorial-002", "tutorial-003", "org/some-model")
    }
    assert "tutorial 002" in shown["tutorial-002"].heading
    assert "build.py" in shown["tutorial-002"].text
    assert "tutorial 000" in shown["tutorial-003"].heading, "tutorial 003 has no engine built: the first that has"
    assert shown["org/some-model"] == shown["tutorial-003"]


def test_the_parts_of_a_step_come_in_one_order() -> None:
    parts = explanations.parts(
        explanations.step("llamacpp", "start"), why="The plan's\nreason.", added="Wait for me here.\n", model="demo"
    )
    assert [part.heading for part in parts] == [
        "From your facilitator",
        "What happens",
        "Why",
        "What to look at",
        "What you type in tutorial 000",
    ]
    assert parts[0].text == "Wait for me here."
    assert parts[2].text == "The plan's reason."
    assert parts[4].commands


def test_a_step_that_no_explanation_knows_still_says_why() -> None:
    assert explanations.step("llamacpp", "brew") is None
    assert explanations.step("a-stack-of-the-future", "model") is None
    assert explanations.parts(None, why="Because.") == (explanations.Part("Why", "Because."),)


def test_a_damaged_explanation_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "explanations"
    folder.mkdir()
    (folder / "llamacpp.toml").write_text('[model]\nwhat = "It."\n', encoding="utf-8")
    monkeypatch.setenv(PROFILES_VARIABLE, str(tmp_path))
    with pytest.raises(UsageError) as caught:
        explanations.step("llamacpp", "model")
    assert caught.value.code == "TW-K01"
    assert "model.look" in caught.value.what
