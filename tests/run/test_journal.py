"""The journal as a file that several versions and servers write to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.values import python_step
from wizard.kernel import values
from wizard.run.events import Outcome, StepFinished, StepStarted, event_data
from wizard.run.journal import Journal, made, still_done

STARTED = StepStarted("a", "A", 1, 2, 0.5)
DONE = StepFinished("a", "done", 1.0, "", 0.5, "print", {"/x": (1, 2)}, None)


def test_events_of_all_servers_are_read_and_foreign_lines_skipped(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.add("one", STARTED)
    with (tmp_path / "journal.jsonl").open("a") as file:
        file.write('{"server": "one", "event": "Cancelled", "step": "a", "at": 0.5}\n[]\n\n')  # an older version's
    journal.add("two", DONE)
    assert journal.events() == [STARTED, DONE]
    assert journal.finished() == {"print": DONE}


def test_a_reader_is_made_once_for_a_kind_not_for_a_line(tmp_path: Path) -> None:
    lines = [json.dumps({"server": "s", **event_data(event)}) for event in (STARTED, DONE) * 500]
    (tmp_path / "journal.jsonl").write_text("\n".join(lines))
    made = values._adapter.cache_info().misses
    assert len(Journal(tmp_path / "journal.jsonl").events()) == 1000
    assert values._adapter.cache_info().misses - made <= 2


@pytest.mark.parametrize("half", ['{"server": "one", "event": "StepFin', "{", "\n{", "x" * 5000])
def test_what_follows_half_a_line_begins_a_line_of_its_own(tmp_path: Path, half: str) -> None:
    """A writer that was killed left it: it stays as it is, and costs no event but its own."""
    path = tmp_path / "journal.jsonl"
    path.write_text(half)
    Journal(path).add("one", DONE)
    Journal(path).add("one", STARTED)
    assert path.read_text().startswith(f"{half}\n{{")
    assert Journal(path).events() == [DONE, STARTED]


def test_an_event_that_lacks_only_its_newline_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    Journal(path).add("one", DONE)
    path.write_text(path.read_text().rstrip("\n"))
    Journal(path).add("one", STARTED)
    assert Journal(path).events() == [DONE, STARTED]


def test_each_event_is_one_line_and_no_line_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    for event in (STARTED, DONE, STARTED):
        Journal(path).add("one", event)
    assert path.read_text().endswith("\n")
    assert [json.loads(line)["event"] for line in path.read_text()[:-1].split("\n")] == [
        "StepStarted",
        "StepFinished",
        "StepStarted",
    ]


@pytest.mark.parametrize(
    ("outcomes", "kept"),
    [
        (("done",), True),
        (("done", "skipped"), True),
        (("done", "omitted"), True),
        (("done", "failed"), False),
        (("done", "cancelled"), False),
        (("failed", "done"), True),
        (("failed",), False),
        (("skipped",), False),
    ],
)
def test_a_step_is_finished_unless_it_was_begun_again_in_vain(
    tmp_path: Path, outcomes: tuple[Outcome, ...], kept: bool
) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    for outcome in outcomes:
        journal.add("one", replace(DONE, outcome=outcome))
    assert bool(journal.finished()) is kept


def test_a_step_is_still_done_while_all_that_it_promised_is_untouched(tmp_path: Path) -> None:
    step = python_step("a", "", tmp_path / "x", tmp_path / "y")
    for name in "xy":
        (tmp_path / name).write_text(name)
    finished = replace(DONE, made=made(step))
    assert still_done(step, finished)
    assert not still_done(step, None)
    (tmp_path / "y").write_text("longer")
    assert not still_done(step, finished)
    (tmp_path / "y").unlink()
    assert not still_done(step, finished)
    assert not still_done(step, replace(DONE, made=made(step)))  # it was not all there when it was noted
    assert not still_done(python_step("a", ""), replace(DONE, made={}))  # it promises nothing


def test_what_is_missing_of_what_was_promised_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "y").write_text("12345")
    states = made(python_step("a", "", tmp_path / "x", tmp_path / "y"))
    assert states == {str(tmp_path / "y"): (5, (tmp_path / "y").stat().st_mtime_ns)}


def test_words_of_any_language_can_be_read_in_the_file(tmp_path: Path) -> None:
    Journal(tmp_path / "journal.jsonl").add("one", replace(DONE, reason="다시 합니다"))
    assert "다시 합니다" in (tmp_path / "journal.jsonl").read_text(encoding="utf-8")
