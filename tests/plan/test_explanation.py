"""The explanation of a step, with its plan's reason and a facilitator's words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.values import plan_of, python_step
from wizard.catalog.workshops import Say, Workshop
from wizard.plan.explanation import of_stage, of_step

STEP = replace(python_step("start", "pass"), why="Because.")
PLAN = plan_of(Path("/w"), STEP)


def headings(*, why: bool | None = None, workshop: Workshop | None = None) -> list[str]:
    given = {} if why is None else {"why": why}
    return [part.heading for part in of_step(PLAN, STEP, workshop or Workshop(), **given)]


def test_a_step_is_explained_with_its_plans_reason_unless_that_is_shown_anyway() -> None:
    assert headings() == headings(why=True)
    assert headings()[:3] == ["What happens", "Why", "What to look at"]
    assert headings(why=False)[:2] == ["What happens", "What to look at"]
    assert "Because." in [part.text for part in of_step(PLAN, STEP, Workshop())]


def test_a_facilitators_words_come_first() -> None:
    mine = Workshop(say=Say(stages={"machine": "Hello."}, steps={"start": "Look here."}))
    assert headings(workshop=mine)[0] == "From your facilitator"
    assert of_step(PLAN, STEP, mine)[0].text == "Look here."
    assert of_stage("machine", mine)[0].text == "Hello."
    assert of_stage("machine", Workshop())[0].heading == "What happens"
