"""The proxy's engine: messages, the log, its end; with a real server, see ``tests/e2e/test_proxy.py``."""

from __future__ import annotations

import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.processes import opened, over
from tests.repository.peer import peer
from tests.repository.triton_stub import FencedOs


@pytest.fixture
def started(engines: ModuleType, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Start an engine; all are ended afterwards."""
    begun = []

    def start(program: str | list[str], **changes: str | None) -> Any:
        command = peer(program) if isinstance(program, str) else program
        begun.append(engines.Engine(command, {FencedOs.MARK: "1", **changes}, tmp_path))
        return begun[-1]

    yield start
    for engine in begun:
        engine._process.kill()
        engine._process.wait()
    assert engines.os.strays == []


def test_a_message_has_its_length_before_it(started: Callable[..., Any]) -> None:
    engine = started("head = read(4); send([list(head), read(head[3]).decode()]); read(1)")
    engine.send({"ask": "é"})
    assert engine.receive() == [[0, 0, 0, 17], '{"ask": "\\u00e9"}']


@pytest.mark.parametrize("size", [1, 255, 256, 70_000, 3_000_000])
def test_messages_of_any_size_come_whole_and_in_order(size: int, started: Callable[..., Any]) -> None:
    engine = started("while True: message = receive(); send({'ready': True}); send(message)")
    for text in ("x" * size, "y"):
        engine.send({"text": text})
        assert engine.receive() == {"ready": True}
        assert engine.receive() == {"text": text}


@pytest.mark.parametrize("rest", [b"", b"\0\0", b"\0\0\0\x09", b'\0\0\0\x09{"a": 1'])
def test_a_message_that_breaks_off_is_the_end(rest: bytes, started: Callable[..., Any]) -> None:
    engine = started(f"send({{}}); os.write(0, {rest!r}); sys.exit(0)")
    assert engine.receive() == {}
    assert engine.receive() is None
    assert engine.end() == "the engine process has ended (exit status 0)"


@pytest.mark.parametrize(
    ("program", "end"),
    [
        ("sys.exit(3)", "exit status 3"),
        ("sys.exit(0)", "exit status 0"),
        ("os.kill(os.getpid(), 1)", "killed by SIGHUP"),
        ("os.kill(os.getpid(), 9)", "killed by SIGKILL"),
    ],
)
def test_how_an_engine_ended(program: str, end: str, started: Callable[..., Any]) -> None:
    engine = started(program)
    assert engine.receive() is None
    assert engine.end() == f"the engine process has ended ({end})"


def test_an_engine_that_takes_nothing_is_ended(engines: ModuleType, started: Callable[..., Any]) -> None:
    engine = started("sys.exit(3)")
    assert engine.receive() is None
    engine.end()
    with pytest.raises(engines.EngineEnded, match=r"^the engine process has ended \(exit status 3\)$"):
        engine.send({})


def test_an_engine_that_does_not_end_is_killed(
    engines: ModuleType, started: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = started("send(os.getpid()); read(1 << 20)")
    engine.receive()
    monkeypatch.setattr(engines, "FINALIZE_SECONDS", 0)
    assert engine.end() == "the engine process has ended (killed by SIGKILL)"


def test_nobody_waits_long_for_an_engine_that_reads_nothing(started: Callable[..., Any]) -> None:
    seconds = started("read(1)")._socket.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16)
    assert struct.unpack("ll", seconds) == (30, 0)


def test_an_engine_has_its_own_session_and_environment_and_the_models_folder(
    started: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/stub")
    monkeypatch.setenv("KEPT", "1")
    engine = started(
        "send([os.getsid(0) == os.getpid(), os.getcwd(), dict(os.environ)]); read(1)", LD_LIBRARY_PATH=None, NEW="é"
    )
    leader, folder, environment = engine.receive()
    assert (leader, folder) == (True, str(tmp_path))
    assert (environment["KEPT"], environment["NEW"]) == ("1", "é")
    assert "LD_LIBRARY_PATH" not in environment


GROUP_OF_ITS_OWN = """
child = os.fork()
if not child:
    os.setpgid(0, 0)
    send(os.getpid())
    os.execvp("sleep", ["sleep", "600"])
"""


def test_children_of_an_engine_end_with_it(started: Callable[..., Any]) -> None:
    """The child has the socket as well: its end is the end of the stream."""
    engine = started(GROUP_OF_ITS_OWN + "read(1)")
    with opened([engine.receive()]) as children:
        engine._process.kill()
        assert engine.receive() is None
        assert over(children)


def test_stopping_asks_by_closing_the_socket(started: Callable[..., Any]) -> None:
    engine = started("send(0); read(1)")
    engine.receive()
    engine.stop()
    assert engine.end() == "the engine process has ended (exit status 7)"


@pytest.mark.parametrize(
    ("program", "lines"),
    [
        ("print(*range(60), sep='\\n', end='')", [str(number) for number in range(20, 60)]),
        (
            "print('10%\\r20%\\r\\n\\n  \\n30%'); sys.stdout.flush(); print('end', file=sys.stderr)",
            ["10%", "20%", "30%", "end"],
        ),
        ("os.write(1, b'a\\xff')", ["a\ufffd"]),
        ("", []),
    ],
)
def test_the_last_lines_are_kept_and_copied(
    program: str, lines: list[str], started: Callable[..., Any], capfd: pytest.CaptureFixture[str]
) -> None:
    engine = started(program)
    engine.receive()
    engine.end()
    assert engine.last_lines() == "\n".join(lines)
    captured = capfd.readouterr()
    assert captured.err.split()[-len(lines) or len(captured.err) :] == lines
    assert captured.out == ""


def test_a_line_may_come_in_pieces(started: Callable[..., Any]) -> None:
    """Each piece is read before the next is written: the pipe is asked whether it is empty."""
    program = """
import array, fcntl, termios
for piece in (b"one\\ntw", b"o", b"\\nthree"):
    os.write(1, piece)
    left = array.array("i", [1])
    while left[0]:
        fcntl.ioctl(1, termios.FIONREAD, left)
"""
    engine = started([sys.executable, "-I", "-c", "import os" + program])
    engine.receive()
    engine.end()
    assert engine.last_lines() == "one\ntwo\nthree"


def test_threads_do_not_keep_the_stub_alive(model: ModuleType, started: Callable[..., Any]) -> None:
    before = {*threading.enumerate()}
    started("read(1)")
    delivery = model.Delivery(model.WorkGauges("demo"))
    assert {thread.daemon for thread in {*threading.enumerate()} - before} == {True}
    delivery.close()
