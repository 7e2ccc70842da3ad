"""Chat templates, each rendered by a process of its own with limits for memory and time (`readers/template.py`).

The process stays, because a conversation or an address renders again and again; it is started again if it was ended.
"""

from __future__ import annotations

import functools
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from wizard.chat.readers.template import FRAME
from wizard.kernel.fenced import FencedError, Why
from wizard.kernel.secrets import environment_for

PROGRAM = Path(__file__).parent / "readers" / "template.py"
WALL_S = 10.0
"""Of elapsed time; the limit of processor time is below a second, but other programs may occupy the processor."""
ENDED: dict[int, Why] = {-signal.SIGPROF: "time", -signal.SIGXCPU: "time", -signal.SIGKILL: "memory"}
"""Exit status of the process → why; SIGKILL comes from the kernel, when the machine has no memory left."""


class TemplateRejectedError(Exception):
    """The template does not support what it got, or is none; the text is the template's or Jinja's."""


def compared(template: str) -> Mapping[str, frozenset[str]]:
    """The variables that ``template`` reads, and the texts with which it compares each.

    Raises:
        TemplateRejectedError: It is not a template.
        FencedError: It takes too much time or memory.
    """
    names: dict[str, list[str]] = process_of(template).ask(frame({"do": "compared"}))["names"]
    return {name: frozenset(texts) for name, texts in names.items()}


def apply(template: str, messages: Sequence[dict[str, Any]], **variables: Any) -> str:
    """Render ``template``.

    Args:
        template: A Jinja template.
        messages: JSON values.
        variables: Further JSON values; ``tools`` and ``documents`` default to none, and the prompt ends where the
            answer begins.

    Raises:
        TemplateRejectedError: It rejects the messages.
        FencedError: It takes too much time or memory.
    """
    return str(process_of(template).ask(frame({"do": "apply", "messages": messages, "variables": variables}))["text"])


@functools.lru_cache(maxsize=8)
def process_of(template: str) -> TemplateProcess:
    """The process of ``template``; it is started by the first question."""
    return TemplateProcess(template)


def frame(value: object) -> bytes:
    """``value`` as the program reads it."""
    raw = json.dumps(value).encode()
    return FRAME.pack(len(raw)) + raw


def read_reply(raw: bytes) -> dict[str, Any]:
    """The program's reply.

    Raises:
        TemplateRejectedError: The template failed.
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
        raise TemplateRejectedError(str(reply.get("detail")))
    return reply


def argv() -> tuple[str, ...]:
    """Program and arguments; it must be started in ``/``, so that no file of the current folder is imported."""
    return (sys.executable, str(PROGRAM))


class TemplateProcess:
    """The process of one template, for any number of threads, one question at a time."""

    def __init__(self, template: str) -> None:
        self._template = frame(template)
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start it, if it is not running: it loads Jinja while its first question is still being prepared."""
        with self._lock:
            self._running()

    @property
    def pid(self) -> int | None:
        """The process, if it was started and has not been found to be ended."""
        return self._process.pid if self._process else None

    def end(self) -> None:
        """End the process; the next question starts another one."""
        if self._process:
            _end(self._process)

    def ask(self, question: bytes) -> dict[str, Any]:
        """The reply to a `frame`.

        Raises:
            TemplateRejectedError: The template failed.
            FencedError: It took too much time or memory, or its process ended.
        """
        with self._lock:
            process = self._running()
            try:
                return read_reply(_exchanged(process, question))
            except TemplateRejectedError:
                raise
            except BaseException:  # also Ctrl-C: what it would answer later belongs to no question
                _end(process)
                raise

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                argv(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                start_new_session=True,
                env=environment_for(),
            )
            weakref.finalize(self, _end, self._process)
            _write(self._process, self._template)
        return self._process


def _exchanged(process: subprocess.Popen[bytes], question: bytes) -> bytes:
    until = time.monotonic() + WALL_S
    _write(process, question)
    (size,) = FRAME.unpack(_read(process, FRAME.size, until))
    return _read(process, size, until)


def _write(process: subprocess.Popen[bytes], raw: bytes) -> None:
    left = memoryview(raw)
    try:
        while left:  # a signal may end a call early
            left = left[os.write(cast("BinaryIO", process.stdin).fileno(), left) :]
    except BrokenPipeError:
        raise FencedError(ENDED.get(process.wait(), "crash")) from None


def _read(process: subprocess.Popen[bytes], size: int, until: float) -> bytes:
    raw, source = bytearray(), cast("BinaryIO", process.stdout).fileno()
    while len(raw) < size:
        ready, _, _ = select.select([source], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise FencedError("time")
        if not (part := os.read(source, size - len(raw))):
            raise FencedError(ENDED.get(process.wait(), "crash"))
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
