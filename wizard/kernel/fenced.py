"""Run a program of the wizard's own on untrusted bytes, in a process with limits for memory and time.

Why a process: a decoder that loops, exhausts the memory or crashes affects it, and not the wizard. The limits are set
before the process gets the first byte.
"""

from __future__ import annotations

import atexit
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal, TypeAlias

from wizard.kernel import bounded
from wizard.kernel.language import mark, tr
from wizard.kernel.secrets import environment_for

Why: TypeAlias = Literal["memory", "time", "crash"]


_running: set[subprocess.Popen[bytes]] = set()


_REASONS: dict[Why, str] = {
    "memory": mark("reading it needs too much memory"),
    "time": mark("reading it takes too long"),
    "crash": mark("it cannot be read"),
}


class FencedError(Exception):
    """The program gave no result; ``why`` says what ended it."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why = why

    @property
    def reason(self) -> str:
        """What is wrong with the file, for the user."""
        return tr(_REASONS[self.why])


def run(program: Path, data: bytes, arguments: tuple[str, ...], *, memory: int, seconds: int) -> dict[str, Any]:
    """The JSON object that ``program`` prints, with ``data`` as its standard input.

    Args:
        program: A Python file, in a folder of its own: Python imports from there first. It must print one line, and
            ``{"error": "memory"}`` for a MemoryError.
        data: What it reads.
        arguments: Its arguments.
        memory: Bytes of address space.
        seconds: Of processor time; of elapsed time it gets twice as much.

    Raises:
        FencedError: It needs more, or it crashed.
    """
    with subprocess.Popen(
        [sys.executable, str(program), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
        env=environment_for(),
    ) as process:
        _running.add(process)
        try:
            for kind, most in _limits(memory, seconds).items():
                _limit(process.pid, kind, most)
            printed, _ = process.communicate(data, timeout=2 * seconds)
        except subprocess.TimeoutExpired as error:
            raise FencedError("time") from error
        except ProcessLookupError as error:
            raise FencedError("crash") from error
        finally:
            process.kill()
            _running.discard(process)
    if process.returncode == -signal.SIGXCPU:
        raise FencedError("time")
    if process.returncode == -signal.SIGKILL:  # by the kernel, when the machine has no memory left
        raise FencedError("memory")
    try:
        reply: dict[str, Any] = bounded.loads(printed.splitlines()[-1])
    except bounded.TooLargeError as error:
        raise FencedError("memory") from error
    except (ValueError, IndexError, RecursionError) as error:
        raise FencedError("crash") from error
    if reply.get("error") == "memory":
        raise FencedError("memory")
    return reply


@atexit.register
def end() -> None:
    """End all programs; those that wait for them get a FencedError."""
    for process in [*_running]:
        process.kill()
        process.wait()
        _running.discard(process)


def _limits(memory: int, seconds: int) -> dict[int, int]:
    return {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
    }


def _limit(process: int, kind: int, most: int) -> None:
    hard = resource.prlimit(process, kind)[1]
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if kind == resource.RLIMIT_CPU:  # at the hard limit it is killed, at the other it gets SIGXCPU
        resource.prlimit(process, kind, (least, hard))
    else:
        resource.prlimit(process, kind, (least, least))
