"""The wizard's side of `nvml_process`: starts it, queries it with time limits, and ends it."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from wizard.kernel.language import tr
from wizard.kernel.secrets import environment_for

_PROGRAM = Path(__file__).with_name("nvml_process.py")
_MAX_ANSWER = 16 << 20
_KILL_TIMEOUT_S = 1.0


class FailedError(Exception):
    """The process did not respond in time, or exited."""

    def __init__(self, message: str, *, crashed: bool) -> None:
        super().__init__(message)
        self.crashed = crashed


class Process:
    """A query process; started by the first query, and again by the next one after a failure."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._ours: socket.socket | None = None

    def ask(self, patience: float, function: str, arguments: list[Any], options: dict[str, Any]) -> dict[str, Any]:
        """The response, see `nvml_process`.

        Raises:
            FailedError: There was none within ``patience`` seconds, or it cannot start; the process has been ended.
        """
        try:
            ours = self._ours or self._start()
            with contextlib.suppress(
                BrokenPipeError, ConnectionResetError
            ):  # it exited; the missing response reports it
                ours.sendall(json.dumps([function, arguments, options]).encode() + b"\n")
            answer: dict[str, Any] = json.loads(_received(ours, patience))
        except TimeoutError:
            failure = FailedError(tr("no response within {seconds:g} s", seconds=patience), crashed=False)
        except OSError as error:
            message = tr("cannot start {program}: {error}", program=_PROGRAM, error=error)
            failure = FailedError(message, crashed=True)
        except EOFError:
            failure = FailedError(self._last_words(), crashed=True)
        except ValueError:
            failure = FailedError(tr("the response is not JSON"), crashed=True)
        else:
            return answer
        self.end()
        raise failure

    def kill(self) -> None:
        """Kill it from any thread and without waiting; a running query fails."""
        process = self._process
        if process is not None:
            process.kill()

    def end(self) -> None:
        """End it, and wait briefly: the kernel's part of a driver may delay it."""
        if self._ours is not None:
            self._ours.close()
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILL_TIMEOUT_S)
        self._ours = self._process = None

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        self._ours = ours
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(_PROGRAM), str(theirs.fileno())],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,  # anything may print to it while Python starts (sitecustomize, a .pth file)
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env=environment_for(),
            )
        return ours

    def _last_words(self) -> str:
        status = None
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self._process.wait(_KILL_TIMEOUT_S)
        name = next((each.name for each in signal.Signals if status == -each), status)
        return tr("the query process crashed ({status})", status=name)


def _received(ours: socket.socket, patience: float) -> bytes:
    """The next line.

    Raises:
        EOFError: The process exited, or its response is too long.
        TimeoutError: There is no response.
    """
    until = time.monotonic() + patience
    line = b""
    while not line.endswith(b"\n"):
        ours.settimeout(max(0.001, until - time.monotonic()))
        try:
            piece = ours.recv(1 << 16)
        except ConnectionResetError:  # it exited with an unread query
            piece = b""
        line += piece
        if not piece or len(line) > _MAX_ANSWER:
            raise EOFError
    return line
