"""A server that is kept running: restarted when it fails, rarer and rarer, and not once it was stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.processes import opened, over
from tests.values import plan_of
from wizard.kernel import proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.values import to_json
from wizard.plan.plan import Done, Estimate, Start, Step, Wait
from wizard.plan.ports import Ports
from wizard.probe.live import GpuReading, Reading
from wizard.probe.load import CpuReading
from wizard.serve import care, keeper, kernel_log, symptoms, work
from wizard.serve.care import Care, News
from wizard.serve.endpoint import Endpoint
from wizard.serve.keeper import PAUSES_S, WINDOW_S, pause
from wizard.serve.status import Status
from wizard.serve.symptoms import Symptoms


def test_restarts_get_rarer_and_end() -> None:
    at, restarts = 1000.0, list[float]()
    for expected in PAUSES_S:
        assert pause(restarts, at) == expected
        at += 1.0
        restarts.append(at)
    assert list(PAUSES_S) == sorted(PAUSES_S)
    assert PAUSES_S[0] == 0
    assert pause(restarts, at) is None
    assert pause(restarts, restarts[0] + WINDOW_S) == PAUSES_S[-1], "the first one is forgotten by then"
    assert pause(restarts, at + WINDOW_S) == 0


@pytest.fixture
def server(tmp_path: Path) -> ServerFolder:
    server = Workspace(tmp_path / "w").server("demo")
    server.logs.mkdir(parents=True)
    return server


CARE = Care(2**22 + 1, "1", 2, "its process 7 exited", 5.0)  # beyond pid_max: no process


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"pid": "1"}', '{"pid": 1, "started": "1", "state": "singing"}', '{"pid": 1, "more": 1}']
)
def test_a_damaged_note_counts_as_none(server: ServerFolder, text: str) -> None:
    server.care.write_text(text)
    assert care.note(server) is care.running(server) is care.shown(server) is None


def test_who_keeps_it_is_its_exact_process(server: ServerFolder) -> None:
    me = proctable.read(os.getpid())
    assert me
    for pid, started, runs in ((me.pid, me.started, True), (me.pid, "1", False), (CARE.pid, CARE.started, False)):
        noted = replace(CARE, pid=pid, started=started)
        care.write(server, noted)
        assert care.note(server) == noted
        assert care.running(server) == care.shown(server) == (noted if runs else None)
    given_up = replace(CARE, state="given up")
    care.write(server, given_up)
    assert (care.running(server), care.shown(server)) == (None, given_up)


def test_an_open_chat_is_told_each_event_once() -> None:
    looks: list[Care | None] = [CARE]
    news = News(lambda: looks[-1])
    assert news.read("demo") == "", "that was before"
    for each, line in (
        (replace(CARE, state="restarting", reason="R", at=6.0), "demo is being restarted: R."),
        (replace(CARE, restarts=3, reason="R", at=7.0), "demo was restarted: R."),
        (replace(CARE, state="given up", reason="R (5 times)", at=8.0), "demo is not restarted any more: R (5 times)."),
        (None, ""),
    ):
        looks.append(each)
        assert news.read("demo") == line
        assert news.read("demo") == ""


def test_a_server_that_is_not_kept_is_not_waited_for() -> None:
    assert not News(lambda: None).await_begin(60)
    assert not News(lambda: None).await_end(60)
    restarting, again = replace(CARE, state="restarting"), replace(CARE, restarts=CARE.restarts + 1)
    looks: list[Care] = [CARE, CARE, restarting, restarting, again]
    news = News(lambda: looks.pop(0) if len(looks) > 1 else looks[0])
    assert news.await_begin(60)
    assert len(looks) == 2, "it ends later"
    assert news.await_end(60)
    looks = [CARE, again]
    assert news.await_begin(60), "it is over already"
    looks = [restarting, replace(CARE, state="given up")]
    assert not news.await_end(60)


def test_a_restart_that_does_not_begin_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> None:
    monkeypatch.setattr(care, "time", clock)
    assert not News(lambda: CARE).await_begin(5)
    assert clock.now == pytest.approx(105, abs=2 * care.LOOK_S)


class FakeClock:
    """Monotonic seconds that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now

    monotonic = __call__

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def stub(server: ServerFolder, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A server whose model's process lives and whose port answers as it is told."""
    answers = {"is": "200 OK"}
    monkeypatch.setattr(symptoms, "status", lambda _: looked(answers["is"]))

    def looked(answer: str) -> Status:
        states: dict[str, Status] = {
            "200 OK": Status("demo", "ready", None, ""),
            "400 Bad Request": Status("demo", "starting", None, ""),
            "restarting": Status("demo", "starting", None, "", "the engine exited and is being restarted"),
            "dead": Status("demo", "dead", None, "", why="its process 7 exited"),
        }
        return states[answer]

    return lambda answer: answers.update({"is": answer})


ENDPOINT = Endpoint("demo", "demo", "127.0.0.1", Ports(9, 9, 9), 7, "1", "")


def test_a_server_that_answers_nothing_for_long_hangs(
    server: ServerFolder, stub: Callable[[str], None], clock: FakeClock
) -> None:
    seen = Symptoms(server, ENDPOINT, clock=clock)
    stub("400 Bad Request")
    clock.now += symptoms.SILENT_S - 1
    assert seen.look() == ""
    stub("200 OK")
    assert seen.look() == ""
    stub("400 Bad Request")
    clock.now += symptoms.SILENT_S - 1
    assert seen.look() == ""
    clock.now += 1
    assert seen.look() == "it has not responded for 1 min 0 s"
    stub("restarting")
    assert seen.look() == "", "the engine proxy restarts engines"


def test_running_out_of_memory_is_told(
    server: ServerFolder, stub: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vmstat = tmp_path / "vmstat"
    vmstat.write_text("pgfault 7\noom_kill 3\n")
    monkeypatch.setattr(symptoms, "VMSTAT", vmstat)
    seen = Symptoms(server, ENDPOINT)
    stub("dead")
    assert seen.look() == "its process 7 exited"
    vmstat.write_text("pgfault 7\noom_kill 4\n")
    assert seen.look() == "its process 7 exited; memory ran out, and the kernel killed a process of this machine"
    assert symptoms.killed_for_memory() == 4
    vmstat.unlink()
    assert symptoms.killed_for_memory() == 0


def test_a_request_without_a_token_for_long_hangs(
    server: ServerFolder, stub: Callable[[str], None], clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[work.Work | None] = [None]
    monkeypatch.setattr(work, "done", lambda _: done[-1])
    seen = Symptoms(server, ENDPOINT, clock=clock)
    for each in (None, work.Work(0, 5), work.Work(1, 5), work.Work(1, 6)):
        done.append(each)
        clock.now += symptoms.STALLED_S
        assert seen.look() == ""
    clock.now += symptoms.STALLED_S - 1
    assert seen.look() == ""
    clock.now += 1
    assert seen.look() == "no token for 10 min 0 s while a request is running"


def test_a_gpu_that_fell_off_the_bus_is_told(server: ServerFolder) -> None:
    here, lost = GpuReading(0, "L4", memory_total_bytes=1), GpuReading(0, "?", unknown={"memory": "GPU is lost"})
    never = GpuReading(1, "?", unknown={"memory": "not allowed"})
    readings = iter([(here, never), (lost, never), (here, never), (lost, never), (lost, never)])
    seen = Symptoms(server, ENDPOINT, lambda: Reading(CpuReading(), next(readings)))
    assert [seen.lost_gpu() for _ in range(5)] == ["", "", "", "", "GPU 0 is lost: GPU is lost"]
    assert Symptoms(server, ENDPOINT).lost_gpu() == ""


async def test_a_restart_that_fails_says_what_the_driver_reported(
    server: ServerFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kmsg = tmp_path / "kmsg"
    kmsg.touch()
    monkeypatch.setattr(kernel_log, "KMSG", kmsg)
    seen = Symptoms(server, ENDPOINT)
    kmsg.write_text("4,1,2,-;NVRM: Xid (PCI:0000:3b:00): 109, pid=7, name=python3, Ch 0000002e\n")
    actions = (Start(("/no/such/tritonserver",), (), Ports(), "demo"), Wait("demo", Ports(), 1.0))
    plan = plan_of(server.workspace.root, Step("start", "Start", "Why.", actions, Done(), Estimate(1)), name="demo")
    reason = await keeper.Keeper(server, plan, None, CARE)._restarted(ENDPOINT, seen)
    expected = "; the kernel's log has Xid 109 of the GPU at 0000:3b:00"
    assert reason == f"cannot start /no/such/tritonserver: No such file or directory{expected}"


async def test_the_end_of_a_process_is_learned_at_once() -> None:
    process = await asyncio.create_subprocess_exec("sleep", "600")
    async with keeper._ended([process.pid]) as ended:
        assert not ended.is_set()
        process.send_signal(signal.SIGKILL)
        await asyncio.wait_for(ended.wait(), 60)
    await process.wait()
    async with keeper._ended([2**22 + 1]) as ended:
        assert ended.is_set()


async def test_its_process_is_started_once_and_ended(server: ServerFolder) -> None:
    """It ends by itself where there is no plan, so this one is only looked at before."""
    assert not await care.end(server)
    server.plan.write_text("{}")
    first = care.start(server)
    with opened([first.pid]) as processes:
        row = proctable.read(first.pid)
        assert row
        assert care.start(server) == first
        assert os.getsid(first.pid) == first.pid
        assert await care.end(server)
        os.waitpid(first.pid, 0)  # noqa: ASYNC222 -- it has ended
        assert over(processes)
    assert care.note(server) is None


def test_what_it_prints_and_notes_is_for_the_user_only(server: ServerFolder) -> None:
    before = os.umask(0)
    try:
        server.plan.write_text("{}")
        first = care.start(server)
        with opened([first.pid]) as processes:
            os.waitpid(first.pid, 0)  # without a plan
            assert over(processes)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (server.care, server.keeper_log)] == [0o600] * 2


def test_the_first_note_is_written_by_who_starts_it(server: ServerFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writers would replace each other's temporary file."""
    server.plan.write_text(to_json(plan_of(server.workspace.root, name="demo")))
    monkeypatch.setattr(sys, "argv", ["keeper", str(server.root)])
    keeper.main()  # no server is noted, so that it ends at once
    assert not server.care.exists()


def test_where_nothing_can_be_written_it_is_an_error(server: ServerFolder) -> None:
    server.keeper_log.mkdir()
    with pytest.raises(ServerError) as caught:
        care.start(server)
    assert caught.value.code == "TW-S30"
