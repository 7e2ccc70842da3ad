"""The engines behind the proxy: their processes, and restarting one that has exited; see ``proxy_model.py``."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import triton_python_backend_utils as pb_utils

LENGTH = struct.Struct(">I")
LOG_LINES = 40
"""Number of the engine's last lines to show when it cannot start."""
FINALIZE_SECONDS = 4.0
SEND_SECONDS = 30
"""Seconds after which an engine that reads no message counts as hanging."""
PAUSES = (1.0, 10.0, 60.0)
"""Seconds before each restart in a row. They grow because a driver may still be freeing the memory of killed processes.
There are few because every attempt loads the whole model, and what prevents three in a row (a lost GPU, memory that
another program took, a defect) does not pass without the user.
"""
STEADY_SECONDS = 600.0
"""Seconds after which a started engine counts as working: its restarts are then counted from zero again."""
AGAIN = "it is being started again, so send the request again"


class EngineEnded(Exception):  # noqa: N818
    """The engine has exited; the text describes how."""


class Engine:
    """The engine process, its output, and the messages to and from it."""

    def __init__(self, argv: list[str], changes: dict[str, str | None], folder: Path) -> None:
        environment = {name: value for name, value in {**os.environ, **changes}.items() if value is not None}
        self._socket, theirs = socket.socketpair()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
        with theirs:
            streams: dict[str, Any] = {"stdin": theirs, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            self._process = subprocess.Popen(argv, cwd=folder, env=environment, start_new_session=True, **streams)
        self.requests = 0
        """Requests that it has not finished; see `Delivery`."""
        self._messages = self._socket.makefile("rb")
        self._sending = threading.Lock()
        self._lines: collections.deque[str] = collections.deque([""], LOG_LINES)
        self._printing = threading.Thread(target=self._copy_log, daemon=True)
        self._printing.start()
        threading.Thread(target=self._watch, daemon=True).start()

    def send(self, message: dict[str, Any]) -> None:
        """Send one message.

        Raises:
            EngineEnded: The engine does not read it.
        """
        data = json.dumps(message).encode()
        try:
            with self._sending:
                self._socket.sendall(LENGTH.pack(len(data)) + data, socket.MSG_NOSIGNAL)
        except OSError as error:
            self.kill()  # part of the message may have been sent, so the next one would not be understood
            raise EngineEnded(self.end()) from error

    def receive(self) -> dict[str, Any] | None:
        """Wait for the next message; None when the engine has exited."""
        try:
            head = self._messages.read(LENGTH.size)
            (size,) = LENGTH.unpack(head)
            body = self._messages.read(size)
        except (OSError, struct.error):
            return None
        return json.loads(body) if len(body) == size else None

    def end(self) -> str:
        """Wait for its exit, or force it, and describe how it exited."""
        try:
            status = self._process.wait(FINALIZE_SECONDS)
            self._printing.join(FINALIZE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            status = self._process.wait()
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        return f"the engine process has ended ({how})"

    @property
    def ended(self) -> bool:
        """Whether it has exited."""
        return self._process.poll() is not None

    def last_lines(self) -> str:
        """The last lines of its output."""
        return "\n".join(line for line in self._lines if line.strip())

    def stop(self) -> None:
        """Stop it; closing the socket requests it, and it stops its own children."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(FINALIZE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Kill it and all its children: its session, in which OpenMPI gives each worker a separate group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError, ValueError):
                session = path.read_text(errors="replace").rpartition(")")[2].split()[3]
                if int(session) == self._process.pid:
                    os.kill(int(path.parent.name), signal.SIGKILL)

    def _watch(self) -> None:
        self._process.wait()
        self.kill()  # children that outlive it keep the GPU's memory, and the socket, whose end is awaited

    def _copy_log(self) -> None:
        """Write the engine's output to the stub's own: the server's log."""
        while data := self._process.stdout.read1():  # type: ignore[union-attr]  # it is a pipe
            with contextlib.suppress(OSError):
                os.write(2, data)
            first, *more = re.split(r"[\r\n]+", data.decode(errors="replace"))
            self._lines[-1] += first
            self._lines.extend(more)


class Gauges:
    """What Triton's metrics report about a replica.

    Nothing if metrics are off, or if the release has no custom metrics (before 23.05). A metric is not thread-safe
    (``src/metric.cc`` of triton-inference-server/python_backend), so each is set in one thread at a time.
    """

    def __init__(self, model: str, count: int) -> None:
        self._metrics: dict[str, list[Any]] = {}
        for name, kind, about in (
            ("state", "GAUGE", "1: serving, 0: being restarted, -1: not restarted any more"),
            ("requests", "COUNTER", "Requests sent to this replica's engine"),
            ("restarts", "COUNTER", "Restarts of this replica's engine"),
        ):
            with contextlib.suppress(Exception):
                family = pb_utils.MetricFamily
                made = family(name=f"triton_wizard_replica_{name}", description=about, kind=getattr(family, kind))
                labels = [{"model": model, "replica": str(number)} for number in range(1, count + 1)]
                self._metrics[name] = [made, *(made.Metric(labels=each) for each in labels)]

    def set(self, replica: int, state: int) -> None:
        """Set the state of ``replica``, which are numbered from 1."""
        self._do("state", replica, "set", state)

    def count(self, name: str, replica: int) -> None:
        """Count one of ``requests`` or ``restarts``."""
        self._do(name, replica, "increment", 1)

    def _do(self, name: str, replica: int, how: str, value: int) -> None:
        if name in self._metrics:
            with contextlib.suppress(Exception):  # no request fails because of a metric
                getattr(self._metrics[name][replica], how)(value)


class Replica:
    """An engine that is started again if it exits; `PAUSES` and `STEADY_SECONDS` say how often."""

    def __init__(self, number: int, start: Callable[[], Engine], gauges: Gauges, label: str) -> None:
        """Start the engine.

        Args:
            number: From 1 on.
            start: Starts an engine process.
            gauges: Where its state is reported.
            label: How the server's log names it.

        Raises:
            OSError: It cannot be started.
        """
        self.number, self._start, self._gauges, self._label = number, start, gauges, label
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._restarts, self._since = 0, 0.0
        self.ready = False
        """Whether it takes requests."""
        self.why = f"the engine process has ended; {AGAIN}"
        """Why it takes no requests, for clients."""
        self.engine = start()

    def await_ready(self) -> None:
        """Wait until it takes requests, as long as it lives.

        Raises:
            EngineEnded: It exited instead; the text has its last lines.
        """
        if self.engine.receive() is None:
            raise EngineEnded(f"{self.engine.end()}; its last lines:\n{self.engine.last_lines()}")
        self._since, self.ready = time.monotonic(), True
        self._gauges.set(self.number, 1)

    def exited(self) -> str:
        """Note that it has exited; how, and what that means, for the clients."""
        self.ready = False
        self._end = self.engine.end()
        self.why = f"{self._end}; {AGAIN}"
        return self.why

    def restart(self) -> bool:
        """Start it again after it has `exited`, a limited number of times; whether it takes requests."""
        if time.monotonic() - self._since >= STEADY_SECONDS:
            self._restarts = 0
        end = self._end
        while self._restarts < len(PAUSES) and not self._closing.is_set():
            pause = PAUSES[self._restarts]
            self._restarts += 1
            which = f"restart {self._restarts} of {len(PAUSES)}"
            pb_utils.Logger.log_error(f"{self._label}: {end}; starting it again in {pause:g} s ({which})")
            self._gauges.set(self.number, 0)
            if self._closing.wait(pause):
                return False
            self._gauges.count("restarts", self.number)
            try:
                self._begin()
                self.await_ready()
            except (OSError, EngineEnded) as error:
                end = str(error)
                continue
            pb_utils.Logger.log_info(f"{self._label}: the engine is ready again")
            return True
        if not self._closing.is_set():
            over = f"it is not started again after {len(PAUSES)} restarts in a row"
            self.why = f"{self._end}; {over}"
            self._gauges.set(self.number, -1)
            pb_utils.Logger.log_error(f"{self._label}: {end}; {over}")
        return False

    def stop(self) -> None:
        """Stop it for good."""
        with self._lock:
            self._closing.set()
        self.engine.stop()

    def _begin(self) -> None:
        with self._lock:
            if self._closing.is_set():
                raise EngineEnded("the server is stopping")
            self.engine = self._start()
