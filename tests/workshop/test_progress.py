"""Seats report their stage in a shared folder, and nothing else; the facilitator sees them all."""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.cli.test_cli import wizard
from wizard import journey
from wizard.bench.bench import Outlook
from wizard.bench.load import Load
from wizard.bench.order import Wanted
from wizard.bench.quality.perplexity import Files
from wizard.kernel import settings
from wizard.kernel.errors import ModelError, UsageError, WizardError, WorkspaceError
from wizard.kernel.paths import Workspace
from wizard.workshop import progress, room
from wizard.workshop.progress import WORKSHOP, Progress, followed, reported


@pytest.fixture
def share(tmp_path: Path) -> Path:
    folder = tmp_path / "share"
    folder.mkdir()
    return folder


def seats(share: Path) -> list[tuple[str, str, str, str, str]]:
    whole = (seat.progress for seat in journey.room(share).seats)
    return [(each.seat, each.stage, each.state, each.step, each.code) for each in whole]


def test_nothing_is_written_unless_asked(share: Path, isolated: Path) -> None:
    journey.model("demo", offline=True)
    assert list(share.iterdir()) == []
    assert not [path for path in isolated.rglob("*.json") if "seat" in path.name]


def test_a_seat_reports_its_stage_and_error_code_only(share: Path) -> None:
    journey.join(share, "Anna")
    assert seats(share) == [("Anna", "join", "done", "", "")]
    journey.model("demo", offline=True)
    assert seats(share) == [("Anna", "model", "done", "", "")]
    with pytest.raises(ModelError):
        journey.model("org/secret-model", offline=True)
    assert seats(share) == [("Anna", "model", "failed", "", "TW-M15")]
    (path,) = share.iterdir()
    text = path.read_text()
    assert set(json.loads(text)) == {"seat", "stage", "state", "step", "code", "time"}
    for word in ("secret-model", platform.node(), str(Path.home())):
        assert word not in text
        assert word not in path.name
    assert path.stat().st_mode & 0o777 == 0o644, "the facilitator may be another user"


def test_a_seat_leaves(share: Path) -> None:
    journey.join(share, "Anna")
    assert journey.leave()
    assert list(share.iterdir()) == []
    journey.model("demo", offline=True)
    assert list(share.iterdir()) == []
    assert not journey.leave()


def test_the_variable_is_enough(share: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKSHOP, str(share))
    monkeypatch.setenv("TRITON_WIZARD_SEAT", "7")
    journey.model("demo", offline=True)
    assert seats(share) == [("seat-7", "model", "done", "", "")]


def test_the_flag_is_enough_and_a_workshop_file_in_the_folder_is_followed(
    share: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WORKSHOP, "")
    done = wizard("model", "demo", "--offline", "--workshop", str(share), "--seat", "3")
    assert done.returncode == 0, done.stderr
    assert seats(share) == [("seat-3", "model", "done", "", "")]
    (share / "workshop.toml").write_text('title = "Lab"\n[pin]\nmodel = "demo"\n')
    done = wizard("plan", "other/model", "--offline", "--workshop", str(share))
    assert "TW-U50" in done.stderr


def test_a_stage_within_another_is_not_reported(share: Path) -> None:
    journey.join(share, "Anna")
    with reported("bench"):
        journey.model("demo", offline=True)
        assert seats(share) == [("Anna", "bench", "running", "", "")]
    assert seats(share) == [("Anna", "bench", "done", "", "")]
    with pytest.raises(KeyboardInterrupt), reported("bench"):
        raise KeyboardInterrupt
    assert seats(share) == [("Anna", "bench", "stopped", "", "")]


async def test_the_steps_of_a_plan_are_reported(share: Path) -> None:
    from wizard.run.events import Event, StepStarted

    async def events() -> AsyncGenerator[Event, None]:
        yield StepStarted("environment", "Title", 1, 2, 0.0)
        yield StepStarted("start", "Title", 2, 2, 0.0)

    journey.join(share, "Anna")
    seen = [(seats(share)[0]) async for _ in followed("run", events())]
    assert [step for _, _, _, step, _ in seen] == ["environment", "start"]
    assert seats(share) == [("Anna", "run", "done", "", "")]
    stream = followed("run", events())
    await anext(stream)
    await stream.aclose()
    assert seats(share) == [("Anna", "run", "stopped", "", "")]


async def test_every_way_of_measuring_is_a_stage(share: Path, tmp_path: Path) -> None:
    async def agree(outlook: Outlook) -> Load:
        return outlook.load

    workspace, out = Workspace.at(tmp_path / "ws"), tmp_path / "out"
    missing = Files("llama-perplexity", tmp_path / "no.gguf", tmp_path / "no.txt")
    journey.join(share, "Anna")
    for items, stage, code in (
        (journey.compare(workspace, ("a", "a"), Wanted(), out, agree), "compare", "TW-C80"),
        (journey.tune(workspace, "nosuch", Wanted(), out, agree), "tune", "TW-S09"),
        (journey.perplexity(workspace, missing, out), "quality", "TW-M17"),
    ):
        with pytest.raises(WizardError):
            await anext(items)
        assert seats(share) == [("Anna", stage, "failed", "", code)]
    votes = journey.ballots(workspace, (), (), out, "", 0)
    await anext(votes)
    assert seats(share) == [("Anna", "quality", "running", "", "")], "and not the probe that it begins with"
    await votes.aclose()
    assert seats(share) == [("Anna", "quality", "stopped", "", "")]


async def test_the_settings_are_read_once_for_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[None] = []
    load = settings.load
    monkeypatch.setattr(settings, "load", lambda: (reads.append(None), load())[1])
    with reported("bench"):
        journey.model("demo", offline=True)
    assert len(reads) == 1


async def test_a_plan_within_another_stage_does_not_report_its_steps(share: Path) -> None:
    from wizard.run.events import Event, StepStarted

    async def events() -> AsyncGenerator[Event, None]:
        yield StepStarted("start", "Title", 1, 1, 0.0)

    journey.join(share, "Anna")
    with reported("tune"):
        assert [seats(share)[0] async for _ in followed("run", events())] == [("Anna", "tune", "running", "", "")]


def test_two_seats_with_one_name(share: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    journey.join(share, "Anna")
    journey.join(share, "Anna")  # the same seat again
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another seat"))
    with pytest.raises(UsageError, match="TW-B13"):
        journey.join(share, "anna")
    monkeypatch.setenv(WORKSHOP, str(share))
    settings.change(seat="Anna")  # by hand
    journey.model("demo", offline=True)
    both = journey.room(share).seats
    assert {(seat.progress.stage, seat.same_name) for seat in both} == {("join", True), ("model", True)}


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 41, "a\nb", " a"])
def test_a_name_that_is_no_file_name_is_refused(share: Path, name: str) -> None:
    with pytest.raises(UsageError, match="TW-B13"):
        journey.join(share, name or " ")


def test_a_folder_that_cannot_be_written_is_an_error_when_joining_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(WorkspaceError, match="TW-B14"):
        journey.join(tmp_path / "nowhere", "Anna")
    monkeypatch.setenv(WORKSHOP, str(tmp_path / "nowhere"))
    journey.model("demo", offline=True)


def test_a_share_that_hangs_does_not_stop_the_wizard(share: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journey.join(share, "Anna")
    end = threading.Event()
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    monkeypatch.setattr(progress, "_write", lambda *_: end.wait())
    journey.model("demo", offline=True)
    journey.model("demo", offline=True)
    waiting = [thread for thread in threading.enumerate() if thread.name == "progress"]
    assert len(waiting) == 1
    end.set()
    waiting[0].join()


FOREIGN = {
    "notes.txt": "hello",
    "empty.json": "",
    "text.json": "{",
    "deep.json": "[" * 4000,
    "long.json": " " * 5000,
    "other.json": '{"a": 1}',
    "stage.json": '{"seat": "a", "stage": "x", "state": "done", "step": "", "code": "", "time": 1}',
    "code.json": '{"seat": "a", "stage": "run", "state": "done", "step": "", "code": "rm -rf", "time": 1}',
    "name.json": '{"seat": "a\\u001b[2J", "stage": "run", "state": "done", "step": "", "code": "", "time": 1}',
    "time.json": '{"seat": "a", "stage": "run", "state": "done", "step": "", "code": "", "time": 1e300}',
}


def test_foreign_files_are_reported_and_harmless(share: Path) -> None:
    journey.join(share, "Anna")
    for name, text in FOREIGN.items():
        (share / name).write_text(text)
    (share / "folder").mkdir()
    os.mkfifo(share / "pipe.json")
    (share / "link.json").symlink_to("/etc/hostname")
    (share / ".new-half").write_text("{")  # being written
    (share / "workshop.toml").touch()  # the facilitator's own
    whole = journey.room(share)
    assert [seat.progress.seat for seat in whole.seats] == ["Anna"]
    assert set(whole.unreadable) == {*FOREIGN, "folder", "pipe.json", "link.json"}


def test_a_clock_ahead_is_now(share: Path) -> None:
    progress._write(share / "a.1.json", Progress("a", "run", "done", "", "", time.time() + 3600))
    assert journey.room(share).seats[0].seconds == 0


def test_seats_are_in_the_order_of_their_numbers(share: Path) -> None:
    for name in ("seat-10", "seat-2", "Anna"):
        progress._write(share / f"{name}.1.json", Progress(name, "run", "done", "", "", 1.0))
    assert [seat.progress.seat for seat in journey.room(share).seats] == ["Anna", "seat-2", "seat-10"]


def test_more_files_than_seats_can_be(share: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_SEATS", 3)
    for number in range(5):
        progress._write(share / f"{number}.1.json", Progress(str(number), "run", "done", "", "", 1.0))
    whole = journey.room(share)
    assert (len(whole.seats), len(whole.unreadable)) == (3, 2)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="TW-B12"):
        journey.room(tmp_path / "nowhere")
