"""The notebook interface in a real Jupyter kernel, over the fake journey."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebook.kernel import Kernel

PREPARE = """
from pathlib import Path
from tests.prompts.fake_journey import FakeJourney
from wizard import Journey
fake = FakeJourney(Path({notes!r}), running="demo")
journey = Journey("demo", workspace={workspace!r}, journey=fake)
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    started = Kernel.start()
    try:
        assert started.shows(PREPARE.format(notes=str(tmp_path / "notes"), workspace=str(tmp_path / "ws"))) == []
        yield started
    finally:
        started.end()


def test_what_cells_show(kernel: Kernel) -> None:
    """In one kernel, because starting one takes seconds."""
    ((kind, html), (_, compared)) = kernel.shows("endpoint = journey.up()")
    assert kind == "display", "a run is one output that is updated"
    for part in ("[1/2] Create the server environment", "skipped: already done", "done in 0.1 s", "127.0.0.1:8000"):
        assert part in html
    assert "<progress" not in html, "nothing runs any more"
    assert "predicted" in compared
    assert "measured" in compared

    (streamed, result) = kernel.shows("journey.chat('<b>bold</b>')")
    assert streamed == ("display", streamed[1])
    assert "You asked: &lt;b&gt;bold&lt;/b&gt;" in streamed[1]
    assert result == ("result", result[1])
    assert "12 tokens" in result[1]
    assert "You asked" not in result[1], "the answer stands there already"
    ((_, later),) = kernel.shows("_")
    assert "You asked: &lt;b&gt;bold&lt;/b&gt;" in later
    assert "12 tokens" in later

    kernel.shows("%load_ext wizard.notebook")
    assert "You asked: What is Triton?" in kernel.shows("%%chat\nWhat is Triton?")[0][1]

    ((kind, text),) = kernel.shows("journey.advise(user=3)")
    assert kind == "error"
    assert text.startswith("TW-U36: unknown option: 'user'"), "no traceback"
    assert "Did you mean users?" in text


def test_a_measurement_shows_its_progress_and_then_its_report(kernel: Kernel) -> None:
    for call, heading in (
        ("journey.compare('other')", "Comparison of demo, other"),
        ("journey.tune(ttft=500)", "Settings of demo"),
        ("journey.quality(limit=1)", "Quality of demo"),
    ):
        (progress, result) = kernel.shows(call)
        assert progress[0] == "display"
        assert "4 concurrent requests, run 1 of 1</td>" in progress[1]
        assert result[0] == "result"
        assert heading in result[1]
        assert "<table" in result[1]
        assert "<figure" in result[1]


def test_the_kernels_interrupt_really_stops_things(kernel: Kernel, tmp_path: Path) -> None:
    for code, sign, note in (
        ("journey.chat('on and on')", "You asked", "chat-stopped"),
        ("fake.runs = 'hang'\njourney.up()", "[2/2]", "run-stopped"),
        ("fake.measures = 'hang'\njourney.compare('other')", "[1/1]", "measuring-stopped"),
        ("journey.tune(ttft=500)", "[1/1]", "measuring-stopped"),
        ("journey.quality()", "[1/1]", "measuring-stopped"),
    ):
        assert kernel.interrupted(code, sign)["content"]["ename"] == "KeyboardInterrupt"
        (tmp_path / "notes" / note).unlink()
    assert "You asked: and now?" in kernel.shows("journey.chat('and now?')")[0][1]
