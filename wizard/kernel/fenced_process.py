"""A process that answers questions about one thing of a stranger's, within limits of memory and time.

It stays, because a conversation or an address asks again and again; it is started again if it was ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from wizard.kernel.fenced import FencedError, Why
from wizard.kernel.secrets import environment_for

FRAME = struct.Struct(">I")
"""The length of what follows."""
IN_A_PIPE = 32 << 10
"""Bytes that an empty pipe takes at once; its capacity is twice that (pipe(7))."""
SOON_S = 0.0005
"""An event loop waits as long for a reply: most take less, and what it does instead takes longer."""
ENDED: dict[int, Why] = {-signal.SIGPROF: "time", -signal.SIGXCPU: "time", -signal.SIGKILL: "memory"}
"""Exit status of the process → why; SIGKILL comes from the kernel, when the machine has no memory left."""


class RejectedError(Exception):
    """The program gives no answer to this question; the text is its own."""


def frame(value: object) -> bytes:
    """``value`` as the program reads it."""
    raw = json.dumps(value).encode()
    return FRAME.pack(len(raw)) + raw


def read_reply(raw: bytes) -> dict[str, Any]:
    """The program's reply.

    Raises:
        RejectedError: It has no answer.
        FencedError: It needs too much memory, or what came back is no reply.
    """
    try:
        reply: dict[str, Any] = json.loads(raw)
        error = reply.get("error")
    except (ValueError, AttributeError, RecursionError) as damaged:
        raise FencedError("crash") from damaged
    if error == "memory":
        raise FencedError("memory")
    if error:
        raise RejectedError(str(reply.get("detail")))
    return reply


class FencedProcess:
    """A process, for any number of threads, one question at a time."""

    def __init__(self, program: Path, subject: object, *, wall_s: float) -> None:
        """It is started by the first question.

        Args:
            program: A Python file that limits itself and answers frames (`wizard.chat.readers.serving`).
            subject: Its first frame: what all questions are about.
            wall_s: Seconds of elapsed time for a question: it limits its processor time, but other programs may occupy
                the processor.
        """
        self._program, self._wall_s = program, wall_s
        self._subject = frame(subject)
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._until = 0.0
        self._end: Callable[[], object] | None = None

    def start(self) -> None:
        """Start it, if it is not running: it loads its libraries while its first question is still being prepared."""
        with self._lock:
            self._running()

    @property
    def pid(self) -> int | None:
        """The process, if it was started and has not been found to be ended."""
        return self._process.pid if self._process else None

    def end(self) -> None:
        """End the process; the next question starts another one."""
        if self._end:
            self._end()

    def ask(self, question: bytes) -> dict[str, Any]:
        """The reply to a `frame`.

        Raises:
            RejectedError: The program has no answer.
            FencedError: It took too much time or memory, or its process ended.
        """
        with self._lock, self._in_step():
            process = self._send(question)
            return self._receive(process, self._size(process))

    @contextlib.contextmanager
    def _in_step(self) -> Iterator[None]:
        """End the process if a question gets no reply, also by Ctrl-C: what comes later belongs to no question."""
        try:
            yield
        except RejectedError:
            raise
        except BaseException:
            self.end()
            raise

    async def ask_aside(self, question: bytes) -> dict[str, Any]:
        """As `ask`, for one task at a time; the event loop goes on meanwhile."""
        if len(question) > IN_A_PIPE or self._process is None or self._process.poll() is not None:
            return await asyncio.to_thread(self.ask, question)
        with self._in_step():
            process = self._send(question)  # at once: the process has read everything before
            if not select.select([_source(process)], [], [], SOON_S)[0]:
                await self._readable(process)
            if (size := self._size(process)) > IN_A_PIPE:
                return await asyncio.to_thread(self._receive, process, size)
            return self._receive(process, size)

    async def _readable(self, process: subprocess.Popen[bytes]) -> None:
        loop, source = asyncio.get_running_loop(), _source(process)
        readable = loop.create_future()
        loop.add_reader(source, _done, readable)
        late = loop.call_later(self._wall_s, process.kill)
        try:
            await readable
        finally:
            late.cancel()
            loop.remove_reader(source)

    def _send(self, question: bytes) -> subprocess.Popen[bytes]:
        process = self._running()
        _write(process, question)
        self._until = time.monotonic() + self._wall_s
        return process

    def _size(self, process: subprocess.Popen[bytes]) -> int:
        (size,) = FRAME.unpack(_read(process, FRAME.size, self._until))
        return int(size)

    def _receive(self, process: subprocess.Popen[bytes], size: int) -> dict[str, Any]:
        return read_reply(_read(process, size, self._until))

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.end()  # its pipes are still open
            self._process = subprocess.Popen(
                [sys.executable, str(self._program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",  # so that no file of the current folder is imported
                start_new_session=True,
                env=environment_for(),
            )
            self._end = weakref.finalize(self, _end, self._process)
            _write(self._process, self._subject)
        return self._process


def _source(process: subprocess.Popen[bytes]) -> int:
    return cast("BinaryIO", process.stdout).fileno()


def _done(readable: asyncio.Future[None]) -> None:
    if not readable.done():
        readable.set_result(None)


def _write(process: subprocess.Popen[bytes], raw: bytes) -> None:
    left = memoryview(raw)
    try:
        while left:  # a signal may end a call early
            left = left[os.write(cast("BinaryIO", process.stdin).fileno(), left) :]
    except BrokenPipeError:
        raise FencedError(ENDED.get(process.wait(), "crash")) from None


def _read(process: subprocess.Popen[bytes], size: int, until: float) -> bytes:
    raw, source = bytearray(), _source(process)
    while len(raw) < size:
        ready, _, _ = select.select([source], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise FencedError("time")
        if not (part := os.read(source, size - len(raw))):
            status = process.wait()
            raise FencedError("time" if time.monotonic() >= until else ENDED.get(status, "crash"))
        raw += part
    return bytes(raw)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it at once, and leave neither a zombie nor open pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        try:
            if pipe:
                pipe.close()
        except OSError:  # it has not read all
            continue
