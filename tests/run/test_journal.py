"""The journal as a file that several versions and servers write to."""

from __future__ import annotations

import json
from pathlib import Path

from wizard.kernel import values
from wizard.run.events import StepFinished, StepStarted, event_data
from wizard.run.journal import Journal

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
