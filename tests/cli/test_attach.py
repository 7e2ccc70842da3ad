"""A build outlives the terminal that it was started in; `attach` shows it, and `cancel` ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pytest

from tests.processes import opened, over
from tests.prompts.terminal import environment
from tests.values import plan_of, python_step
from wizard.kernel import proctable
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json
from wizard.run import build


@dataclass
class Seat:
    """A plan whose first step is done at once; the second waits until something is written into a pipe, then fails."""

    folder: Path

    def __post_init__(self) -> None:
        os.mkfifo(self.folder / "go")
        wait = f"import os; print('pid', os.getpid(), flush=True); open({str(self.folder / 'go')!r}).read(); exit(3)"
        steps = python_step("one", "", self.folder), python_step("two", wait)
        (self.folder / "plan.json").write_text(to_json(plan_of(self.workspace.root, *steps)))

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.folder / "ws")

    def argv(self, *words: str) -> list[str]:
        return ["-m", "wizard", *words, "--workspace", str(self.workspace.root)]

    def terminal(self, *words: str) -> pexpect.spawn[str]:
        return pexpect.spawn(
            sys.executable, self.argv(*words), env=environment(), encoding="utf-8", timeout=60, dimensions=(24, 200)
        )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, *self.argv(*words)]
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)

    def starts(self, *options: str) -> tuple[pexpect.spawn[str], int]:
        """`run` in a terminal, and the pid of the step that waits."""
        terminal = self.terminal("run", str(self.folder / "plan.json"), "--yes", "--verbose", *options)
        return terminal, step_of(terminal)

    def goes_on(self) -> None:
        (self.folder / "go").write_text("go")


def step_of(terminal: pexpect.spawn[str]) -> int:
    terminal.expect(r"pid (\d+)")
    assert terminal.match
    return int(terminal.match[1])


def ends(terminal: pexpect.spawn[str]) -> int | None:
    terminal.expect(pexpect.EOF)
    terminal.close()
    return terminal.exitstatus


@pytest.fixture
def seat(tmp_path: Path) -> Iterator[Seat]:
    seat = Seat(tmp_path)
    yield seat
    if (running := build.building(seat.workspace)) is not None:
        os.kill(running.pid, signal.SIGTERM)


@pytest.mark.parametrize("how", ["SIGKILL", "SIGHUP", "closed"])
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["words", "json"])
def test_a_build_whose_window_is_gone_is_watched_to_its_end(seat: Seat, how: str, options: tuple[str, ...]) -> None:
    terminal, step = seat.starts(*options)
    if not options:
        assert "attach" in str(terminal.before), "it is said when the build starts"
        assert "cancel" in str(terminal.before)
    with opened([terminal.pid]) as wizards:
        if how == "closed":
            terminal.ptyproc.fileobj.close()  # the kernel sends SIGHUP
        else:
            os.kill(terminal.pid, getattr(signal, how))
        assert over(wizards)
    assert proctable.read(step) is not None
    first, second = seat.terminal("attach", "--verbose"), seat.terminal("attach", "test", "--json")
    for view in (first, second):
        view.expect("Step one")
        assert step_of(view) == step
    seat.goes_on()
    for view in (first, second):
        view.expect("TW-R03")
        assert ends(view) == 7, "the build's own exit status"
    assert proctable.read(step) is None
    late = seat.run("attach")
    assert late.returncode == 7
    assert "has ended" in late.stderr
    assert "Step two … failed" in late.stderr


def test_ctrl_c_in_a_view_leaves_only_the_view_and_cancel_ends_the_build(seat: Seat) -> None:
    terminal, step = seat.starts()
    view = seat.terminal("attach", "--verbose")
    step_of(view)
    view.sendintr()
    view.expect("TW-R102")
    assert ends(view) == 130
    assert proctable.read(step) is not None
    cancelled = json.loads(seat.run("cancel", "--json").stdout)
    assert cancelled["name"] == "test"
    assert proctable.read(step) is None
    terminal.expect("TW-U07")
    assert ends(terminal) == 130
    nothing = seat.run("cancel")
    assert (nothing.returncode, "no build is running" in nothing.stderr) == (0, True)
    assert json.loads(seat.run("cancel", "--json").stdout) is None


def test_ctrl_c_where_it_was_started_ends_the_build(seat: Seat) -> None:
    terminal, step = seat.starts()
    terminal.sendintr()
    terminal.expect("TW-U07")
    assert ends(terminal) == 130
    assert proctable.read(step) is None
    assert build.building(seat.workspace) is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_without_a_terminal_a_build_ends_with_its_command(seat: Seat, number: signal.Signals) -> None:
    argv = [sys.executable, *seat.argv("run", str(seat.folder / "plan.json"), "--yes", "--json")]
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if '"pid ' in line)
        step = int(json.loads(line)["lines"][0].split()[1])
        running = build.building(seat.workspace)
        assert running is not None
        with opened([running.pid, step]) as processes:
            process.send_signal(number)
            assert over(processes)
        process.communicate()
    assert process.returncode == (-9 if number is signal.SIGKILL else 130)


def test_a_second_build_is_told_who_builds_and_offered_to_watch(seat: Seat) -> None:
    _, step = seat.starts()
    running = build.building(seat.workspace)
    assert running is not None
    for words in (("up", "demo", "--offline"), ("run", str(seat.folder / "plan.json"))):
        refused = seat.run(*words, "--yes")
        assert refused.returncode == 6
        assert "TW-R100" in refused.stderr
        assert f"process {running.pid}" in refused.stderr
        assert "attach" in refused.stderr
    asked = seat.terminal("up", "demo", "--offline", "--verbose")
    asked.expect(r"Watch it\? \[Y/n\]")
    asked.send("\r")
    assert step_of(asked) == step
    seat.goes_on()
    assert ends(asked) == 7


def test_status_shows_the_build_and_how_to_watch_it(seat: Seat) -> None:
    seat.starts()
    shown = seat.run("status").stdout
    assert "building" in shown
    assert f" --workspace {seat.workspace.root} attach\n" in shown
    assert " up " not in shown, "that is refused now (TW-R100)"
    (status,) = json.loads(seat.run("status", "--json").stdout)
    assert (status["name"], status["state"], status["url"]) == ("test", "building", None)
    seat.run("cancel")
    (status,) = json.loads(seat.run("status", "--json").stdout)
    assert status["state"] == "stopped"
    assert status["detail"].endswith(" up test")


def test_a_killed_build_is_reported_and_the_next_run_resumes(seat: Seat) -> None:
    terminal, step = seat.starts()
    view = seat.terminal("attach", "--verbose")
    step_of(view)
    running = build.building(seat.workspace)
    assert running is not None
    os.kill(running.pid, signal.SIGKILL)
    for each in (terminal, view):
        each.expect("TW-R101")
        assert ends(each) == 7
    assert seat.run("attach").returncode == 7
    again, _ = seat.starts()
    assert "skipped: already done" in str(again.before)
    assert proctable.read(step) is None, "what the killed build left is stopped"
    again.sendintr()
    assert ends(again) == 130


def test_nothing_was_built(seat: Seat) -> None:
    done = seat.run("attach")
    assert (done.returncode, "TW-R103" in done.stderr) == (2, True)


def test_a_view_needs_no_right_to_write(seat: Seat) -> None:
    """As root every file is writable, so the folder is mounted read-only in a name space of its own."""
    terminal, _ = seat.starts()
    seat.goes_on()
    assert ends(terminal) == 7
    folder = str(seat.workspace.root)
    mounted = f'mount --bind "{folder}" "{folder}" && mount -o remount,ro,bind "{folder}" && exec "$@"'
    unshare = ["unshare", "--mount", "--map-root-user", "sh", "-c", mounted, "sh", sys.executable]
    if subprocess.run([*unshare[:3], "true"], check=False, capture_output=True).returncode:
        pytest.skip("no name spaces here")
    done = subprocess.run([*unshare, *seat.argv("attach")], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 7, done.stderr
    assert "TW-R03" in done.stderr
    refused = [*unshare, *seat.argv("run", str(seat.folder / "plan.json"), "--yes")]
    done = subprocess.run(refused, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 6
    assert "TW-K03" in done.stderr
