"""The side of `wizard.kernel.fenced_process` in the process: it answers questions about one thing, within limits."""

from __future__ import annotations

import json
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

FRAME = struct.Struct(">I")
"""The length of what follows."""


def serve(prepare: Callable[[Any], Callable[..., dict[str, Any]]], *, memory: int, seconds: float) -> None:
    """Answer until standard input ends.

    Standard input has frames (`FRAME`) with JSON: first what ``prepare`` takes, then the arguments of the function that
    it returns, whose results go to standard output as such frames.

    Args:
        prepare: Called once; what it raises is the reply to every question.
        memory: Bytes of address space.
        seconds: Of processor time, for the preparation and for each question.
    """
    for kind, most in {resource.RLIMIT_AS: memory, resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 0}.items():
        hard = resource.getrlimit(kind)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    taken, printed = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    answer: Callable[..., dict[str, Any]] | None = None
    while size := taken.read(FRAME.size):
        given = json.loads(taken.read(*FRAME.unpack(size)))
        _allow(seconds)
        if answer is None:
            answer = _prepared(prepare, given)
            continue
        raw = _reply(answer, given)
        _allow(0)
        printed.write(FRAME.pack(len(raw)) + raw)
        printed.flush()


def _prepared(prepare: Callable[[Any], Callable[..., dict[str, Any]]], given: Any) -> Callable[..., dict[str, Any]]:
    try:
        return prepare(given)
    except BaseException as error:  # a library in Rust panics with one
        failed = error

    def fail(**_: Any) -> dict[str, Any]:
        raise failed

    return fail


def _reply(answer: Callable[..., dict[str, Any]], given: dict[str, Any]) -> bytes:
    try:
        return json.dumps(answer(**given)).encode()
    except MemoryError:
        return b'{"error": "memory"}'
    except BaseException as error:  # what strangers wrote may fail in any way
        return json.dumps({"error": "rejected", "detail": f"{error}"[:2000] or type(error).__name__}).encode()


def _allow(seconds: float) -> None:
    """Let this process compute for ``seconds`` and end it then, also within a library or the regular expressions."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    if seconds:  # in case that the signal does not end it
        most = int(time.process_time() + seconds + 3)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
