"""The engine's end of the socket, and how it ends, in this process; real engines are in ``tests/e2e``."""

from __future__ import annotations

import asyncio
import io
import json
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.repository.triton_stub import SECONDS, FencedOs, load
from wizard.repository.proxy import ENGINE_PROCESS


@pytest.fixture
def engine() -> ModuleType:
    """The module, whose signals are fenced."""
    module = load(ENGINE_PROCESS, "tested_engine_socket")
    module.os = FencedOs()  # type: ignore[attr-defined]
    return module


class Wire:
    """The proxy model's end."""

    def __init__(self, own: socket.socket) -> None:
        own.settimeout(SECONDS)
        self.socket, self._stream = own, own.makefile("rb")

    def close(self) -> None:
        self._stream.close()
        self.socket.close()

    def send(self, message: Any, cut: int | None = None) -> None:
        data = json.dumps(message).encode()
        self.socket.sendall((struct.pack(">I", len(data)) + data)[:cut])

    def receive(self) -> Any:
        (size,) = struct.unpack(">I", self._stream.read(4))
        return json.loads(self._stream.read(size))


@pytest.fixture
def wire(engine: ModuleType) -> Iterator[Wire]:
    """A socket pair with one end at standard input; ``wire.left`` is set where the process would end."""
    own, theirs = socket.socketpair()
    before, handler = os.dup(0), signal.getsignal(signal.SIGTERM)
    os.dup2(theirs.fileno(), 0)
    theirs.close()
    wire = Wire(own)
    wire.left = threading.Event()  # type: ignore[attr-defined]
    engine.leave = wire.left.set  # type: ignore[attr-defined]
    yield wire
    wire.close()
    os.dup2(before, 0)
    os.close(before)
    signal.signal(signal.SIGTERM, handler)


def test_messages_come_whole_and_in_order(engine: ModuleType, wire: Wire) -> None:
    taken: queue.SimpleQueue[Any] = queue.SimpleQueue()
    engine.Proxy(taken.put)
    for message in ({"ask": "é" * 100_000}, {"cancel": 1}, {}):
        wire.send(message)
        assert taken.get(timeout=SECONDS) == message


def test_children_do_not_get_the_socket(engine: ModuleType, wire: Wire) -> None:
    before = {*threading.enumerate()}
    proxy = engine.Proxy(print)
    assert os.path.samestat(os.fstat(0), Path(os.devnull).stat())
    assert not proxy._socket.get_inheritable()
    assert {thread.daemon for thread in {*threading.enumerate()} - before} == {True}
    wire.socket.shutdown(socket.SHUT_RDWR)


def test_the_form_of_each_message(engine: ModuleType, wire: Wire) -> None:
    proxy = engine.Proxy(print)
    proxy.ready()
    assert wire.receive() == {"ready": True}
    proxy.say([(1, "é", 2, ""), (2, "", 3, "stop", [("a", -0.5, [])])])
    assert wire.receive() == {"deltas": [[1, "é", 2, ""], [2, "", 3, "stop", [["a", -0.5, []]]]]}
    proxy.refuse(4, engine.Refused("too long"))
    assert wire.receive() == {"errors": [[4, "too long", "client"]]}
    proxy.refuse(5, KeyError("x"))
    assert wire.receive() == {"errors": [[5, "the engine could not answer: KeyError('x')", "engine"]]}


def test_the_process_ends_when_the_proxy_is_gone(engine: ModuleType, wire: Any) -> None:
    engine.Proxy(print)
    assert not wire.left.is_set()
    wire.socket.shutdown(socket.SHUT_RDWR)
    assert wire.left.wait(SECONDS)


@pytest.mark.parametrize("cut", [1, 4, 6])
def test_the_process_ends_when_a_message_breaks_off(cut: int, engine: ModuleType, wire: Any) -> None:
    taken: list[Any] = []
    engine.Proxy(taken.append)
    wire.send({"ask": 1}, cut)
    wire.socket.shutdown(socket.SHUT_WR)
    assert wire.left.wait(SECONDS)
    assert taken == []


def test_the_process_ends_when_the_proxy_dies_with_messages_unread(engine: ModuleType, wire: Any) -> None:
    """The connection is reset then, not closed (unix(7))."""
    engine.Proxy(print).ready()
    wire.close()
    assert wire.left.wait(SECONDS)


def test_the_process_ends_when_nobody_takes_its_messages(engine: ModuleType, wire: Any) -> None:
    gone = threading.Event()
    proxy = engine.Proxy(lambda _: gone.wait(SECONDS))
    wire.send({})  # the listening thread has this to do and does not see the end
    wire.socket.shutdown(socket.SHUT_RD)
    proxy.ready()
    assert wire.left.is_set()
    gone.set()


def test_the_process_ends_when_it_is_asked_to(engine: ModuleType, wire: Any) -> None:
    engine.Proxy(print)
    signal.raise_signal(signal.SIGTERM)
    assert wire.left.is_set()


def running(engine: ModuleType, wire: Wire, answer: Callable[..., Any], script: Callable[[Any], Any]) -> None:
    """Run ``script`` beside an engine with an event loop that answers with ``answer``."""

    async def run() -> None:
        requests: Any = engine.Requests(asyncio.get_running_loop(), lambda ask: answer(requests, ask))
        await asyncio.wait_for(script(requests), SECONDS)

    asyncio.run(run())


def test_each_request_is_a_task_and_each_turn_a_message(engine: ModuleType, wire: Wire) -> None:
    gate = asyncio.Event()

    async def answer(requests: Any, ask: dict[str, Any]) -> None:
        if ask["id"]:
            gate.set()
        await gate.wait()
        requests.say(ask["id"], ask["text"], 1, "")
        requests.say(ask["id"], "", 2, "stop")

    async def script(requests: Any) -> None:
        for number in (0, 1):
            wire.send({"ask": {"id": number, "text": "a"}})
        message = await asyncio.to_thread(wire.receive)
        assert sorted(message["deltas"]) == [
            [n, text, t, end] for n in (0, 1) for text, t, end in (("", 2, "stop"), ("a", 1, ""))
        ]
        requests.say(7, "b", 1, "")
        assert await asyncio.to_thread(wire.receive) == {"deltas": [[7, "b", 1, ""]]}
        assert requests._tasks == {}

    running(engine, wire, answer, script)


def test_only_the_request_that_nobody_waits_for_is_cancelled(engine: ModuleType, wire: Wire) -> None:
    async def answer(requests: Any, ask: dict[str, Any]) -> None:
        requests.say(ask["id"], "begun", 0, "")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            requests.say(ask["id"], "cancelled", 0, "")
            raise

    async def script(requests: Any) -> None:
        for number in (3, 4):
            wire.send({"ask": {"id": number}})
            assert await asyncio.to_thread(wire.receive) == {"deltas": [[number, "begun", 0, ""]]}
        for number in (5, 4):  # the first is over by now
            wire.send({"cancel": number})
        assert await asyncio.to_thread(wire.receive) == {"deltas": [[4, "cancelled", 0, ""]]}
        await asyncio.sleep(0)
        assert [*requests._tasks] == [3]

    running(engine, wire, answer, script)


class FakeChildren:
    """Processes that end so many seconds after they were asked to, on a clock that passes only in ``sleep``."""

    def __init__(self, module: ModuleType, seconds: dict[int, float]) -> None:
        self.now = 50.0
        self.signals: list[Any] = []
        self._ends: dict[int, float] = dict.fromkeys(seconds, float("inf"))
        self._seconds = seconds
        module.time, module._members = self, self.members  # type: ignore[attr-defined]
        module.os = self  # type: ignore[attr-defined]

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert 0 < seconds < 0.2, "it waits for children, and not much longer than they take"
        self.now += seconds

    def members(self) -> list[int]:
        return [pid for pid, end in self._ends.items() if self.now < end]

    def kill(self, pid: int, number: int) -> None:
        if pid not in self.members():
            raise ProcessLookupError
        self.signals.append((pid, number, self.now - 50))
        self._ends[pid] = self.now if number == signal.SIGKILL else self.now + self._seconds[pid]

    def killpg(self, group: int, number: int) -> None:
        self.signals.append(("group", group, number, self.members()))

    def _exit(self, status: int) -> None:
        self.signals.append(("exit", status, self.members()))


def test_children_that_end_in_order_are_waited_for(engine: ModuleType) -> None:
    children = FakeChildren(engine, {11: 0.3, 12: 0.0})
    engine.leave()
    assert children.signals == [(11, 15, 0), (12, 15, 0), ("group", 0, signal.SIGKILL, [])]
    assert 0.3 <= children.now - 50 < 0.5


def test_children_that_do_not_end_have_two_seconds(engine: ModuleType) -> None:
    children = FakeChildren(engine, {11: 100.0, 12: 1.5})
    engine.leave()
    assert children.signals[:2] == [(11, 15, 0), (12, 15, 0)]
    assert children.signals[2] == (11, signal.SIGKILL, pytest.approx(2, abs=0.1))
    assert children.signals[3:] == [("group", 0, signal.SIGKILL, [])]


def test_an_engine_that_cannot_go_on_ends_its_children_at_once(
    engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is out by then, though some library may have put a buffer before the log."""
    children, log = FakeChildren(engine, {11: 100.0, 12: 0.0}), io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(log))
    engine.die("no memory")
    assert log.getvalue() == b"no memory\n"
    assert children.signals == [(11, signal.SIGKILL, 0), (12, signal.SIGKILL, 0), ("exit", 1, [])]


LEADER = """
import os, time
def child(prepare):
    ours, theirs = os.pipe()
    pid = os.fork()
    if not pid:
        prepare()
        os.write(theirs, b"x")
        os.read(0, 1)
        os._exit(0)
    os.read(ours, 1)
    return pid
def named():
    with open("/proc/self/comm", "w") as comm: comm.write("x) Z 1 1 1")
pids = [child(prepare) for prepare in (named, lambda: os.setpgid(0, 0), os.setsid)]
ended = os.fork()
if not ended: os._exit(0)
os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)
print(*pids, ended, flush=True)
os.read(0, 1)
"""


class FakeProc:
    """``/proc``, with two processes before all others that end while one looks: no file, and half of one."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def glob(self, pattern: str) -> list[Path]:
        half = Path("2/stat")
        half.parent.mkdir()
        half.write_text("2 (x) S 1")
        return [Path("1/stat"), half, *self._path.glob(pattern)]


def test_members_are_the_others_of_the_group_and_of_the_session(
    engine: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the leader of a session sees it: not those of a session of their own, and none that has ended."""
    command = [sys.executable, "-I", "-S", "-c", LEADER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as leader:
        assert leader.stdin is not None
        assert leader.stdout is not None
        grouped, apart, *_others = (int(pid) for pid in leader.stdout.readline().split())
        monkeypatch.setattr(engine, "Path", FakeProc)
        monkeypatch.setattr(engine.os, "getpgrp", lambda: leader.pid, raising=False)
        monkeypatch.setattr(engine.os, "getpid", lambda: leader.pid, raising=False)
        members = engine._members()
        leader.stdin.close()  # all of them read it
        assert sorted(members) == sorted([grouped, apart])
