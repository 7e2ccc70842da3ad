"""Steps that are done again or left out because the user says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.runs import chain, events_of, fake_server, outcomes
from tests.values import plan_of, python_step
from wizard.kernel.errors import ServerError, UsageError, WorkspaceError
from wizard.plan.artefacts import READY, SERVER
from wizard.plan.plan import Done, Estimate, Step
from wizard.run.events import StepFinished
from wizard.run.journal import Journal


async def test_a_step_is_done_again_with_all_that_use_what_it_makes(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "w", *chain(tmp_path))
    await events_of(plan)
    events, _ = await events_of(plan, redo={"one"})
    assert outcomes(events) == {"one": "done", "two": "done", "three": "skipped"}
    assert [(tmp_path / name / "made").read_text() for name in ("one", "two", "three")] == ["xx", "xx", "x"]
    assert set(outcomes((await events_of(plan))[0]).values()) == {"skipped"}


async def test_what_is_left_to_do_again_is_not_forgotten_when_the_run_ends_early(tmp_path: Path) -> None:
    first, two, three = chain(tmp_path)
    plan = plan_of(tmp_path / "w", first, two, three)
    await events_of(plan)
    (tmp_path / "w" / "servers" / "test" / "logs" / "two.log").unlink()
    (tmp_path / "w" / "servers" / "test" / "logs" / "two.log").mkdir()  # the second step cannot begin
    events, error = await events_of(plan, redo={"one"})
    assert outcomes(events) == {"one": "done", "two": "failed"}
    assert isinstance(error, WorkspaceError)
    (tmp_path / "w" / "servers" / "test" / "logs" / "two.log").rmdir()
    assert outcomes((await events_of(plan))[0]) == {"one": "skipped", "two": "done", "three": "skipped"}


async def test_a_step_is_left_out_this_time_and_done_the_next(tmp_path: Path) -> None:
    first, two, three = chain(tmp_path)
    plan = plan_of(tmp_path / "w", first, python_step("two", "raise SystemExit(1)", tmp_path / "no"), three)
    events, error = await events_of(plan, skip={"two"})
    assert outcomes(events) == {"one": "done", "two": "omitted", "three": "done"}
    assert isinstance(error, ServerError)  # only because these steps start none
    noted = [event for event in Journal(tmp_path / "w" / "journal.jsonl").events() if isinstance(event, StepFinished)]
    assert [event.reason for event in noted if event.outcome == "omitted"] == ["skipped by the user"]
    assert outcomes((await events_of(plan))[0]) == {"one": "skipped", "two": "failed"}
    again = plan_of(tmp_path / "w", first, two, three)
    assert outcomes((await events_of(again))[0]) == {"one": "skipped", "two": "done", "three": "skipped"}


async def test_leaving_out_goes_before_doing_again(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "w", *chain(tmp_path))
    await events_of(plan)
    events, _ = await events_of(plan, redo={"one"}, skip={"two"})
    assert outcomes(events) == {"one": "done", "two": "omitted", "three": "skipped"}
    assert outcomes((await events_of(plan))[0]) == {"one": "skipped", "two": "done", "three": "skipped"}


@pytest.mark.parametrize(
    ("asked", "shown"), [({"redo": {"four"}}, "'four'"), ({"skip": {"x" * 100}}, f" '{'x' * 60}'")]
)
async def test_a_step_that_there_is_not_is_refused_before_anything_is_done(
    tmp_path: Path, asked: dict[str, set[str]], shown: str
) -> None:
    events, error = await events_of(plan_of(tmp_path / "w", *chain(tmp_path)), **asked)
    assert isinstance(error, UsageError)
    assert error.code == "TW-R07"
    assert "one, two, three" in error.todo
    assert error.what.endswith(shown)
    assert events == []
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize("index", [0, 1])
async def test_starting_and_waiting_cannot_be_left_out(tmp_path: Path, index: int) -> None:
    ids = ("start", "ready")
    steps = [
        Step(ids[n], ids[n], "", (action,), Done(), Estimate(1), writes=((SERVER, READY)[n],))
        for n, action in enumerate(fake_server(""))
    ]
    _, error = await events_of(plan_of(tmp_path / "w", *steps), skip={ids[index]})
    assert isinstance(error, UsageError)
    assert error.code == "TW-R08"
