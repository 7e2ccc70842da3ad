"""The engine on real processes: order, skipping, failing, stopping, resuming after kill -9."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.run.runs import DRIVER, events_of, fake_server, outcomes, touch
from tests.values import plan_of, python_step
from wizard.kernel import proctable
from wizard.kernel.errors import ServerError, StepError, UsageError, WorkspaceError
from wizard.kernel.lock import writing
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json
from wizard.plan.artefacts import READY, SERVER
from wizard.plan.plan import Command, Done, Estimate, Start, Step, Wait, Write
from wizard.plan.ports import Ports
from wizard.run.diagnose import CommandError
from wizard.run.engine import run
from wizard.run.events import Output, Progress, StepFinished, StepStarted
from wizard.run.journal import Journal


async def test_steps_run_in_order_and_a_second_run_skips_them(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    plan = plan_of(tmp_path / "w", python_step("one", touch(a), a), python_step("two", touch(b), b))
    events, error = await events_of(plan)
    assert isinstance(error, ServerError)
    assert error.code == "TW-S02"
    assert outcomes(events) == {"one": "done", "two": "done"}
    assert [event.step for event in events if isinstance(event, StepStarted)] == ["one", "two"]
    events, _ = await events_of(plan)
    assert outcomes(events) == {"one": "skipped", "two": "skipped"}
    assert a.read_text() == "x"


async def test_a_result_that_was_touched_is_made_again(tmp_path: Path) -> None:
    made = tmp_path / "a"
    plan = plan_of(tmp_path / "w", python_step("one", touch(made), made))
    await events_of(plan)
    made.unlink()
    assert outcomes((await events_of(plan))[0]) == {"one": "done"}
    made.write_text("somebody else's")
    assert outcomes((await events_of(plan))[0]) == {"one": "done"}


async def test_a_step_that_changed_is_done_again(tmp_path: Path) -> None:
    made = tmp_path / "a"
    await events_of(plan_of(tmp_path / "w", python_step("one", touch(made), made)))
    changed = plan_of(tmp_path / "w", python_step("one", touch(made) + " # other", made))
    assert outcomes((await events_of(changed))[0]) == {"one": "done"}


async def test_work_is_shared_by_the_servers_of_a_workspace(tmp_path: Path) -> None:
    made = tmp_path / "a"
    step = python_step("one", touch(made), made)
    await events_of(plan_of(tmp_path / "w", step, name="first"))
    assert outcomes((await events_of(plan_of(tmp_path / "w", step, name="second")))[0]) == {"one": "skipped"}


async def test_a_step_that_promises_nothing_runs_every_time(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "w", python_step("ask", "print('hi')"))
    for _ in range(2):
        assert outcomes((await events_of(plan))[0]) == {"ask": "done"}


async def test_a_failing_command_reports_its_output(tmp_path: Path) -> None:
    code = "print('working'); raise SystemExit('error: the disk is made of cheese')"
    events, error = await events_of(plan_of(tmp_path / "w", python_step("bad", code), python_step("never", "")))
    assert isinstance(error, StepError)
    assert error.code == "TW-R03"
    assert "exit status 1: error: the disk is made of cheese" in error.what
    assert outcomes(events) == {"bad": "failed"}
    log = tmp_path / "w" / "servers" / "test" / "logs" / "bad.log"
    assert str(log) in error.todo
    assert "working" in log.read_text()


async def test_a_program_that_does_not_exist_fails_its_step(tmp_path: Path) -> None:
    step = Step("x", "X", "", (Command(("/no/such/program",)),), Done(), Estimate(1))
    _, error = await events_of(plan_of(tmp_path / "w", step))
    assert isinstance(error, StepError)
    assert "could not start the command" in error.what


async def test_output_and_progress_are_events_but_not_in_the_journal(tmp_path: Path) -> None:
    code = r"import sys; print('begin'); sys.stdout.write('10%\r 60%\r'); sys.stdout.flush()"
    events, _ = await events_of(plan_of(tmp_path / "w", python_step("one", code)))
    assert [line for event in events if isinstance(event, Output) for line in event.lines] == ["begin"]
    assert [event.fraction for event in events if isinstance(event, Progress)][-1] == 0.6
    kinds = {type(event) for event in Journal(tmp_path / "w" / "journal.jsonl").events()}
    assert kinds == {StepStarted, StepFinished}


LEAK = """
import os, sys, time
token = os.environ["HF_TOKEN"]
sys.stdout.write("token " + token[:9]); sys.stdout.flush()  # the rest comes with another read
sys.stdin.read(); os.write(1, (token[9:] + chr(10)).encode())
sys.exit("error: " + token)
"""


async def test_no_secret_reaches_an_event_a_log_or_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "hf_" + "S3cr3t" * 5
    monkeypatch.setenv("HF_TOKEN", secret)
    step = python_step("leak", LEAK)
    named = Command((sys.executable, "-c", LEAK), secrets=("HF_TOKEN",))
    events, error = await events_of(plan_of(tmp_path / "w", replace(step, actions=(named,))))
    assert isinstance(error, StepError)
    everything = str(error) + repr(events)
    everything += "".join(path.read_text() for path in (tmp_path / "w").rglob("*") if path.is_file())
    assert "token •••" in everything
    assert secret not in everything
    assert secret[:9] not in everything


async def test_a_command_gets_no_secret_that_it_did_not_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_" + "S3cr3t" * 5)
    code = "import os; print('has it' if 'HF_TOKEN' in os.environ else 'has it not')"
    events, _ = await events_of(plan_of(tmp_path / "w", python_step("look", code)))
    assert [line for event in events if isinstance(event, Output) for line in event.lines] == ["has it not"]


async def test_a_log_that_cannot_be_written_fails_its_step_in_words(tmp_path: Path) -> None:
    folder = tmp_path / "w" / "servers" / "test"
    folder.mkdir(parents=True)
    (folder / "logs").write_text("a file where the folder should be")
    events, error = await events_of(plan_of(tmp_path / "w", python_step("one", "")))
    assert isinstance(error, WorkspaceError)
    assert error.code == "TW-R04"
    assert outcomes(events) == {"one": "failed"}


async def test_a_file_is_written_whole_and_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "config.pbtxt"
    step = Step("w", "W", "", (Write(str(target), 'name: "ü"\n'),), Done(files=(str(target),)), Estimate(1))
    await events_of(plan_of(tmp_path / "w", step))
    assert target.read_text(encoding="utf-8") == 'name: "ü"\n'
    target.unlink()
    target.mkdir()
    (target / "x").touch()
    _, error = await events_of(plan_of(tmp_path / "w", step))
    assert isinstance(error, WorkspaceError)
    assert error.code == "TW-R04"


async def test_a_plan_for_another_machine_is_not_run(tmp_path: Path) -> None:
    _, error = await events_of(replace(plan_of(tmp_path / "w"), host="4xA6000"))
    assert isinstance(error, UsageError)
    assert error.code == "TW-R02"


async def test_a_second_wizard_is_refused(tmp_path: Path) -> None:
    with writing(Workspace(tmp_path / "w")):
        _, error = await events_of(plan_of(tmp_path / "w", python_step("one", "")))
    assert isinstance(error, WorkspaceError)
    assert error.code == "TW-K04"


async def test_closing_the_stream_stops_the_child_and_is_noted(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "w", python_step("long", "import signal; print('here', flush=True); signal.pause()"))
    async with aclosing(run(plan)) as events:
        async for event in events:
            if isinstance(event, Output):
                break
        assert proctable.marked(proctable.STEP_MARK, str(tmp_path / "w"))
    assert proctable.marked(proctable.STEP_MARK, str(tmp_path / "w")) == []
    last = Journal(tmp_path / "w" / "journal.jsonl").events()[-1]
    assert isinstance(last, StepFinished)
    assert last.outcome == "cancelled"


async def test_cancelling_the_task_stops_the_child(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "w", python_step("long", "import signal; print('here', flush=True); signal.pause()"))
    here = asyncio.Event()

    async def drive() -> None:
        async for event in run(plan):
            if isinstance(event, Output):
                here.set()

    task = asyncio.create_task(drive())
    await here.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert proctable.marked(proctable.STEP_MARK, str(tmp_path / "w")) == []


@pytest.mark.parametrize("step", ["one", "two", "three"])
async def test_after_kill_9_in_any_step_a_new_run_ends_the_strays_and_resumes(tmp_path: Path, step: str) -> None:
    """Each step waits for a file unless it was killed once; the killed wizard's child must be gone afterwards."""
    files = {name: tmp_path / name for name in ("one", "two", "three")}
    wait = (
        "import os, signal; first = not os.path.exists({flag!r}); open({flag!r}, 'w').close()\n"
        "if first: print('waiting', os.getpid(), flush=True); signal.pause()\n"
    )
    steps = [
        python_step(name, (wait.format(flag=str(tmp_path / "flag")) if name == step else "") + touch(path), path)
        for name, path in files.items()
    ]
    plan = plan_of(tmp_path / "w", *steps)
    (tmp_path / "plan.json").write_text(to_json(plan))
    wizard = subprocess.Popen(  # noqa: ASYNC220 -- the wizard that will be killed
        [sys.executable, "-c", DRIVER, str(tmp_path / "plan.json")],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert wizard.stdout is not None
    for line in wizard.stdout:
        if "waiting" in line:
            break
    wizard.kill()
    wizard.wait()
    assert len(proctable.marked(proctable.STEP_MARK, str(tmp_path / "w"))) == 1
    events, error = await events_of(plan)
    assert isinstance(error, ServerError)  # only because these steps start none
    assert proctable.marked(proctable.STEP_MARK, str(tmp_path / "w")) == []
    names = list(files)
    expected = {name: "skipped" if names.index(name) < names.index(step) else "done" for name in names}
    assert outcomes(events) == expected
    assert [path.read_text() for path in files.values()] == ["x", "x", "x"]


async def test_a_half_written_journal_line_costs_nothing_but_itself(tmp_path: Path) -> None:
    made = tmp_path / "a"
    plan = plan_of(tmp_path / "w", python_step("one", touch(made), made))
    await events_of(plan)
    journal = tmp_path / "w" / "journal.jsonl"
    with journal.open("a") as file:
        file.write('{"server": "test", "event": "StepFin')
    assert outcomes((await events_of(plan))[0]) == {"one": "skipped"}
    assert sum(isinstance(event, StepFinished) for event in Journal(journal).events()) == 2


def test_a_journal_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").mkdir()
    with pytest.raises(WorkspaceError) as caught:
        Journal(tmp_path / "journal.jsonl").add("test", StepStarted("a", "A", 1, 1, 0.0))
    assert caught.value.code == "TW-R01"


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").symlink_to("/dev/full")  # every write to it fails as on a full disk
    with pytest.raises(WorkspaceError, match="No space left") as caught:
        Journal(tmp_path / "journal.jsonl").add("test", StepStarted("a", "A", 1, 1, 0.0))
    assert caught.value.code == "TW-R01"


@pytest.mark.parametrize(
    ("code", "error_code", "words"),
    [
        ("print('error: creating server: nothing here'); raise SystemExit(1)", "TW-S04", "nothing here"),
        ("print('loading'); print(); raise SystemExit(1)", "TW-S04", "does not show why; the last line is: loading"),
        ("raise SystemExit(1)", "TW-S04", "its log is empty"),
        (
            "import signal; print('stub: error while loading shared libraries: libx.so.1', flush=True); signal.pause()",
            "TW-S05",
            "libx.so.1",
        ),
    ],
)
async def test_a_server_that_will_never_be_ready_is_noticed_and_stopped(
    tmp_path: Path, code: str, error_code: str, words: str
) -> None:
    start, wait = fake_server(code)
    steps = (
        Step("start", "Start", "", (start,), Done(server=True), Estimate(1), writes=(SERVER,)),
        Step("ready", "Wait", "", (wait,), Done(), Estimate(1), reads=(SERVER,), writes=(READY,)),
    )
    events, error = await events_of(plan_of(tmp_path / "w", *steps))
    assert isinstance(error, ServerError)
    assert error.code == error_code
    assert words in error.what
    assert outcomes(events) == {"start": "done", "ready": "failed"}
    assert proctable.marked(proctable.SERVER_MARK, str(tmp_path / "w" / "servers" / "test")) == []


async def test_a_server_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    start, _ = fake_server("import signal; signal.pause()")
    wait = Wait("test", start.ports, 0.0)
    step = Step("start", "Start", "", (start, wait), Done(server=True), Estimate(1))
    _, error = await events_of(plan_of(tmp_path / "w", step))
    assert isinstance(error, ServerError)
    assert error.code == "TW-S06"


async def test_a_server_program_that_is_missing_says_how_to_make_it(tmp_path: Path) -> None:
    start = Start(("/no/such/tritonserver",), (), Ports(), "test")
    step = Step("start", "Start", "", (start,), Done(server=True), Estimate(1))
    _, error = await events_of(plan_of(tmp_path / "w", step))
    assert isinstance(error, ServerError)
    assert error.code == "TW-S03"
    assert "cannot start /no/such/tritonserver: No such file" in error.what


def test_the_language_changes_no_fingerprint(tmp_path: Path) -> None:
    """A step is known by what it does; its texts are made in the language of the day."""
    step = python_step("one", "", tmp_path / "a")
    assert replace(step, title="단계", why="이유").fingerprint == step.fingerprint


async def test_a_failed_command_says_in_parts_what_failed_and_why(tmp_path: Path) -> None:
    code = "print('working'); raise SystemExit('error: no space left on device')"
    _, error = await events_of(plan_of(tmp_path / "w", python_step("bad", code)))
    assert isinstance(error, CommandError)
    failure = error.failure
    assert (failure.how, failure.line) == ("exit status 1", "error: no space left on device")
    assert "Free some space" in failure.todo
    assert failure.log == str(tmp_path / "w" / "servers" / "test" / "logs" / "bad.log")
    assert "SystemExit" in failure.command
