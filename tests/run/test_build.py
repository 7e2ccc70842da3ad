"""A build in a process of its own: the events of a run, one process for all followers, nothing lost by a kill."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.run.runs import events_of
from tests.values import plan_of, python_step
from wizard.kernel import proctable
from wizard.kernel.errors import CancelledError, ServerError, StepError, UsageError, WizardError, WorkspaceError
from wizard.kernel.lock import writing
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.values import to_json
from wizard.plan.plan import Plan
from wizard.run import build, builder
from wizard.run.build import Build
from wizard.run.diagnose import CommandError
from wizard.run.events import Event, Output, StepFinished, StepStarted, event_data
from wizard.run.journal import Journal

HANG = "import os, signal; print('pid', os.getpid(), flush=True); signal.pause()"


def appended(path: Path) -> str:
    return f"open({str(path)!r}, 'a').write('x')"


def hanging(folder: Path) -> Plan:
    """A step that is done at once, and one that never ends."""
    made = folder / "made"
    steps = (python_step("one", appended(made), made), python_step("two", HANG, folder / "never"))
    return plan_of(folder / "ws", *steps)


def workspace_of(plan: Plan) -> Workspace:
    return Workspace(Path(plan.workspace))


def server_of(plan: Plan) -> ServerFolder:
    return workspace_of(plan).server(plan.name)


def running(plan: Plan) -> Build:
    row = build.building(workspace_of(plan))
    assert row is not None
    return row


class Follower:
    """Follows a build in a task, until its end or a cancellation."""

    def __init__(self, events: AsyncGenerator[Event, None]) -> None:
        self.events: list[Event] = []
        self.pid = 0
        self.hangs = asyncio.Event()
        self.task = asyncio.create_task(self._follow(events))

    async def _follow(self, events: AsyncGenerator[Event, None]) -> WizardError | None:
        try:
            async with aclosing(events) as followed:
                async for event in followed:
                    self.events.append(event)
                    if isinstance(event, Output) and event.lines[0].startswith("pid"):
                        self.pid = int(event.lines[0].split()[1])
                        self.hangs.set()
        except WizardError as error:
            return error
        return None

    async def close(self) -> None:
        self.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self.task

    def outcomes(self) -> dict[str, str]:
        return {event.step: event.outcome for event in self.events if isinstance(event, StepFinished)}


async def until_it_hangs(events: AsyncGenerator[Event, None]) -> Follower:
    follower = Follower(events)
    hangs = asyncio.create_task(follower.hangs.wait())
    await asyncio.wait([hangs, follower.task], return_when=asyncio.FIRST_COMPLETED)
    assert hangs.done(), follower.task.result()
    return follower


def attached(plan: Plan, name: str | None = None) -> AsyncGenerator[Event, None]:
    """A view, which may be left."""
    leaving = threading.Event()
    leaving.set()
    return build.attach(workspace_of(plan), name, leaving=leaving)


@pytest.fixture(autouse=True)
def no_build_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    for record in tmp_path.rglob("build.jsonl"):
        row = build.recorded(ServerFolder(record.parent))
        if row is not None and row.running and row.pid != os.getpid():
            os.kill(row.pid, signal.SIGTERM)


async def test_it_has_the_events_and_the_error_of_a_run_in_this_process(tmp_path: Path) -> None:
    """These plans start no server, so TW-S02 is the end."""
    paths = {place: tmp_path / place for place in ("here", "there")}
    plans = {
        place: plan_of(tmp_path / "ws" / place, python_step("one", appended(path), path))
        for place, path in paths.items()
    }
    here, error_here = await events_of(plans["here"])
    there = Follower(build.run(plans["there"]))
    error = await there.task
    assert isinstance(error, ServerError)
    assert error.code == "TW-S02"
    assert error.what.replace("there", "here") == str(getattr(error_here, "what", ""))
    assert [type(event) for event in there.events] == [type(event) for event in here]
    assert paths["there"].read_text() == "x"


async def test_a_failed_command_is_reported_with_its_details(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "ws", python_step("one", "print('no space left on device'); raise SystemExit(3)"))
    _, here = await events_of(replace(plan, workspace=str(tmp_path / "here")))
    there = await Follower(build.run(plan)).task
    assert isinstance(here, CommandError)
    assert isinstance(there, CommandError)
    assert (there.code, there.known, there.failure.line) == (here.code, here.known, here.failure.line)
    assert there.known
    assert there.failure.log == str(server_of(plan).logs / "one.log")


async def test_closing_stops_the_step_and_a_second_run_resumes(tmp_path: Path) -> None:
    plan = hanging(tmp_path)
    follower = await until_it_hangs(build.run(plan, leaving=threading.Event()))
    await follower.close()
    assert proctable.read(follower.pid) is None
    assert build.building(workspace_of(plan)) is None
    journal = Journal(workspace_of(plan).journal)
    ends = [(event.step, event.outcome) for event in journal.events() if isinstance(event, StepFinished)]
    assert ends == [("one", "done"), ("two", "cancelled")]
    again = await until_it_hangs(build.run(plan))
    assert again.outcomes() == {"one": "skipped"}
    await again.close()


async def test_leaving_keeps_it_running_and_attach_shows_it_from_the_beginning(tmp_path: Path) -> None:
    plan, leaving = hanging(tmp_path), threading.Event()
    first = await until_it_hangs(build.run(plan, leaving=leaving))
    leaving.set()
    await first.close()
    assert running(plan).name == "test"
    views = [await until_it_hangs(attached(plan)) for _ in range(2)]
    for view in views:
        assert view.pid == first.pid
        assert [event.step for event in view.events if isinstance(event, StepStarted)] == ["one", "two"]
    await views[0].close()
    assert proctable.read(first.pid) is not None, "a view was closed, and not the build"
    cancelled = await build.cancel(workspace_of(plan), "other")
    assert cancelled is None, "another server's build is not stopped"
    cancelled = await build.cancel(workspace_of(plan))
    assert cancelled is not None
    assert cancelled.name == "test"
    error = await views[1].task
    assert isinstance(error, CancelledError)
    assert error.code == "TW-U07"
    assert proctable.read(first.pid) is None
    assert await build.cancel(workspace_of(plan)) is None


async def test_an_attached_view_that_is_no_mere_view_stops_the_build(tmp_path: Path) -> None:
    """As in a notebook, whose interrupted cell stops what it shows."""
    plan, leaving = hanging(tmp_path), threading.Event()
    first = await until_it_hangs(build.run(plan, leaving=leaving))
    second = await until_it_hangs(build.attach(workspace_of(plan), leaving=threading.Event()))
    await second.close()
    assert proctable.read(first.pid) is None
    error = await first.task
    assert isinstance(error, CancelledError)


async def test_a_second_build_is_refused_with_who_builds(tmp_path: Path) -> None:
    plan = hanging(tmp_path)
    first = await until_it_hangs(build.run(plan))
    other = replace(plan, name="other")
    for second in (plan, other):
        error = await Follower(build.run(second)).task
        assert isinstance(error, WorkspaceError)
        assert error.code == "TW-R100"
        assert str(running(plan).pid) in error.what
        assert "triton-wizard attach" in error.todo
    await first.close()


async def test_another_writer_is_reported_and_the_last_record_kept(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "ws", python_step("one", "", tmp_path / "never"))
    await Follower(build.run(plan)).task
    before = server_of(plan).build.read_text()
    with writing(workspace_of(plan)):
        error = await Follower(build.run(plan)).task
    assert isinstance(error, WorkspaceError)
    assert error.code == "TW-K04"
    assert server_of(plan).build.read_text() == before


async def test_a_workspace_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the place of a folder")
    error = await Follower(build.run(plan_of(tmp_path / "file" / "ws", python_step("one", "")))).task
    assert isinstance(error, WorkspaceError)
    assert error.code == "TW-K03"


async def test_a_killed_process_is_reported_and_leaves_no_step(tmp_path: Path) -> None:
    plan = hanging(tmp_path)
    follower = await until_it_hangs(build.run(plan, leaving=threading.Event()))
    os.kill(running(plan).pid, signal.SIGKILL)
    view = Follower(attached(plan))
    for error in (await follower.task, await view.task, await Follower(attached(plan, "test")).task):
        assert isinstance(error, StepError)
        assert error.code == "TW-R101"
        assert str(server_of(plan).build_log) in error.todo
    again = await until_it_hangs(build.run(plan))
    assert proctable.read(follower.pid) is None, "the next run stops what the killed one left"
    assert (tmp_path / "made").read_text() == "x"
    await again.close()


async def test_an_order_is_read_as_utf_8_whatever_the_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    follower = Follower(build.run(plan_of(tmp_path / "ws", python_step("one", "print(ascii('한국어'))"))))
    await follower.task
    assert (ascii("한국어"),) in [event.lines for event in follower.events if isinstance(event, Output)]


async def test_half_a_character_is_read_when_the_rest_is_there(tmp_path: Path) -> None:
    server = server_of(plan_of(tmp_path / "ws"))
    server.root.mkdir(parents=True)
    row = proctable.read(os.getpid())
    assert row is not None
    line = to_json(event_data(Output("one", ("한국어",), 0.0))).encode()
    with server.build.open("wb", buffering=0) as file:
        file.write(to_json(Build("test", row.pid, row.started, build.boot_id(), 0.0)).encode() + b"\n")
        half = line.index("한".encode()) + 1
        file.write(line + b"\n" + line[:half])
        events = attached(plan_of(tmp_path / "ws"))
        first = await anext(events)
        later = asyncio.ensure_future(anext(events))
        while not file_is_read(server.build):  # noqa: ASYNC110 -- by the other task
            await asyncio.sleep(0)
        file.write(line[half:] + b"\n")
        assert await later == first
    await events.aclose()


def file_is_read(path: Path) -> bool:
    """Whether a file that this process has open for reading was read to its end (proc_pid_fdinfo(5))."""
    for link in Path("/proc/self/fd").iterdir():
        if link.exists() and link.resolve() == path:
            info = dict(
                line.split(":\t", 1) for line in Path(f"/proc/self/fdinfo/{link.name}").read_text().splitlines()
            )
            if int(info["flags"], 8) & os.O_ACCMODE == os.O_RDONLY:
                return int(info["pos"]) == path.stat().st_size
    return False


STARTER = """
import asyncio, sys, threading
from pathlib import Path
from wizard.kernel.values import from_json
from wizard.plan.plan import Plan
from wizard.run.build import run
async def main():
    leaving = threading.Event() if sys.argv[2] == "outlives" else None
    async for event in run(from_json(Plan, Path(sys.argv[1]).read_text(), where="plan"), leaving=leaving):
        print(getattr(event, "lines", ""), flush=True)
asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["outlives", "ends"])
async def test_a_killed_starter_takes_the_build_along_only_if_it_has_no_window(tmp_path: Path, how: str) -> None:
    plan = hanging(tmp_path)
    (tmp_path / "plan.json").write_text(to_json(plan))
    argv = [sys.executable, "-c", STARTER, str(tmp_path / "plan.json"), how]
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    while "pid" not in (line := (await process.stdout.readline()).decode()):
        pass
    pid = int(line.split("pid ")[1].split("'")[0])
    view = await until_it_hangs(attached(plan))
    process.kill()
    await process.wait()
    assert view.pid == pid
    assert running(plan).ending is (how == "ends")
    if how == "outlives":
        assert proctable.read(pid) is not None
        await build.cancel(workspace_of(plan))
    error = await view.task
    assert isinstance(error, CancelledError)
    assert proctable.read(pid) is None


async def test_a_build_whose_caller_was_killed_makes_way_for_the_next(tmp_path: Path) -> None:
    """Its step takes a while to stop."""
    slow = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {HANG}"
    plan = plan_of(tmp_path / "ws", python_step("two", slow, tmp_path / "never"))
    (tmp_path / "plan.json").write_text(to_json(plan))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", STARTER, str(tmp_path / "plan.json"), "ends", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    while "pid" not in (line := (await process.stdout.readline()).decode()):
        pass
    process.kill()
    await process.wait()
    assert running(plan).ending
    follower = await until_it_hangs(build.run(hanging(tmp_path)))
    assert proctable.read(int(line.split("pid ")[1].split("'")[0])) is None
    await follower.close()


async def test_a_record_of_another_process_boot_or_shape_is_no_running_build(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "ws")
    server = server_of(plan)
    assert build.building(workspace_of(plan)) is None
    server.root.mkdir(parents=True)
    row = proctable.read(os.getpid())
    assert row is not None
    mine = Build("test", row.pid, row.started, build.boot_id(), 0.0)
    for text in ("", "[]", '{"pid": 1}', "[" * 100_000, to_json(replace(mine, started="0"))):
        server.build.write_text(f"{text}\n")
        assert build.building(workspace_of(plan)) is None, text
    server.build.write_text(f"{to_json(replace(mine, boot='another start'))}\n")
    assert build.building(workspace_of(plan)) is None, "the machine was restarted"
    error = await Follower(attached(plan)).task
    assert isinstance(error, StepError)
    assert error.code == "TW-R101"
    server.build.write_text(f"{to_json(mine)}\n")
    assert running(plan) == mine


async def test_nothing_to_attach_to(tmp_path: Path) -> None:
    for name in (None, "other"):
        error = await Follower(attached(plan_of(tmp_path / "ws"), name)).task
        assert isinstance(error, UsageError)
        assert error.code == "TW-R103"


async def test_the_running_build_is_found_and_else_the_last(tmp_path: Path) -> None:
    plans = [plan_of(tmp_path / "ws", python_step("one", ""), name=name) for name in ("b", "a")]
    for plan in plans:
        await Follower(build.run(plan)).task
    assert build.find(workspace_of(plans[0])).name == "a"
    hangs = replace(hanging(tmp_path), name="c")
    follower = await until_it_hangs(build.run(hangs))
    assert build.find(workspace_of(hangs)).name == "c"
    assert build.find(workspace_of(hangs), "b").name == "b"
    await follower.close()


async def test_a_process_that_does_not_stop_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = hanging(tmp_path)
    follower = await until_it_hangs(build.run(plan))
    with monkeypatch.context() as patched:
        patched.setattr(build, "LADDER", ())  # as if no signal had reached it: another user's
        with pytest.raises(WorkspaceError) as caught:
            await build.cancel(workspace_of(plan))
    assert caught.value.code == "TW-R104"
    await follower.close()


async def test_too_much_output_is_in_the_log_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "SHOWN_BYTES", 1000)
    server = Workspace(tmp_path).server("test")
    saved = [os.dup(stream) for stream in (1, 2)]
    try:
        record = builder.Record(server, build.Order(plan_of(tmp_path), (), (), None, None, None, "en", {}))
        for number in range(100):
            record.add(Output("one", (f"line {number} " + "x" * 80,), 0.0))
        record.add(StepFinished("one", "done", 1.0, "", 0.0))
    finally:
        for stream, copy in zip((1, 2), saved, strict=True):
            os.dup2(copy, stream)
            os.close(copy)
    lines = [json.loads(line) for line in server.build.read_text().splitlines()]
    assert len(lines) < 15
    assert lines[-2]["lines"] == [f"More output is in {server.logs / 'one.log'} only."]
    assert lines[-1]["event"] == "StepFinished"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("cannot mount a tmpfs (needs root)")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


async def test_a_full_disk_is_why_it_ended(small_disk: Path, tmp_path: Path) -> None:
    """The step fills the disk, and then has more to say than the record takes; its log is on another disk."""
    code = f"""
import os
with open({str(small_disk / "hog")!r}, "wb", 0) as hog:
    try:
        while hog.write(b"x" * 4096): pass
    except OSError: pass
for _ in range(50): print("y" * 1000, flush=True)
{HANG}"""
    plan = plan_of(small_disk / "ws", python_step("one", code, small_disk / "never"))
    server_of(plan).root.mkdir(parents=True)
    server_of(plan).logs.symlink_to(tmp_path)
    errors = [await Follower(build.run(plan)).task, await Follower(attached(plan)).task]
    for error in errors:
        assert isinstance(error, WorkspaceError)
        assert error.code == "TW-R04"
        assert "No space left" in error.what
    assert errors[0] is not None
    assert str(errors[0]) == str(errors[1])


async def test_a_full_disk_at_its_beginning_is_reported(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "ws", python_step("one", ""))
    server_of(plan).root.mkdir(parents=True)
    server_of(plan).build.with_name("build.jsonl.new").symlink_to("/dev/full")
    error = await Follower(build.run(plan)).task
    assert isinstance(error, WorkspaceError)
    assert error.code == "TW-R04"
    assert "No space left" in error.what


async def test_no_secret_is_in_its_files_its_arguments_or_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also not one that a step reads elsewhere and shows."""
    token, other = "hf_" + "a1B2" * 8, "sk-" + "c3D4" * 8
    (tmp_path / "other").write_text(other)
    monkeypatch.setenv("HF_TOKEN", token)
    monkeypatch.setenv("OPENAI_API_KEY", other)
    code = f"""
import os, signal
has = (os.environ["HF_TOKEN"] == "{token[::-1]}"[::-1], "OPENAI_API_KEY" in os.environ)
print("pid", os.getpid(), *has, open({str(tmp_path / "other")!r}).read(), flush=True)
signal.pause()"""
    step = python_step("one", code)
    (command,) = step.actions
    plan = plan_of(tmp_path / "ws", replace(step, actions=(replace(command, secrets=("HF_TOKEN",)),)))  # type: ignore[arg-type]
    follower = await until_it_hangs(build.run(plan))
    pid = running(plan).pid
    for secret in (token, other):
        assert secret not in " ".join((*proctable.command(pid), *proctable.environment(pid).values()))
    await follower.close()
    assert "True False •••" in (server_of(plan).logs / "one.log").read_text()
    for path in (*server_of(plan).root.glob("build*"), *server_of(plan).logs.iterdir()):
        assert token not in path.read_text(), path
        assert other not in path.read_text(), path


async def test_the_end_of_a_process_that_could_not_begin_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nread order\necho 'ModuleNotFoundError: no module' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    error = await Follower(build.run(plan_of(tmp_path / "ws"))).task
    assert isinstance(error, StepError)
    assert error.code == "TW-R101"
    assert "no module" in error.todo
