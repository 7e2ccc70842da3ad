"""The process of a build: ``python -m wizard.run.builder`` reads an order from standard input and carries it out.

It begins when it is the workspace's writer. Until then it answers on standard output, ``{}`` or the error; from then on
everything is in its record (see `wizard.run.build`), and what a bug prints is in its log.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import aclosing, suppress
from pathlib import Path
from tempfile import TemporaryFile

from wizard.kernel import language
from wizard.kernel.errors import CancelledError, WizardError, WorkspaceError
from wizard.kernel.language import tr
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.secrets import redact
from wizard.kernel.values import from_json, messages, to_data, to_json
from wizard.run.build import Failure, Order, begin
from wizard.run.engine import run, unwritable
from wizard.run.events import Event, Output, event_data
from wizard.workshop.progress import followed

RESERVED_BYTES = 64 * 2**10
"""Of the disk, so that the error that ends a build can be added to its record when the disk is full."""
SHOWN_BYTES = 64 * 2**20
"""Bytes of a record from which on the steps' output is in their logs only: a log may have any size."""


def main() -> None:
    """Carry out the order on standard input."""
    order = from_json(Order, sys.stdin.buffer.readline(), where="-")
    os.environ.update(order.secrets)  # not in what others see of it (proc_pid_environ(5)); commands get theirs
    language.use(order.language)
    with suppress(asyncio.CancelledError):
        asyncio.run(_carry_out(order))


async def _carry_out(order: Order) -> None:
    _stop_on_signals(order)
    server = Workspace(Path(order.plan.workspace)).server(order.plan.name)
    record: Record | None = None
    error: WizardError | None = None
    steps = run(order.plan, redo=set(order.redo), skip=set(order.skip), exposure=order.exposure, keep=order.keep)
    try:
        async with aclosing(followed("run", steps)) as events:
            async for event in events:
                record = record or Record(server, order)
                record.add(event)
    except asyncio.CancelledError:
        todo = tr("To continue, run `up` again.")
        error = CancelledError("TW-U07", tr("the build was stopped; completed steps are kept"), todo)
    except WizardError as failed:
        error = (record and record.error) or failed  # on a full disk, stopping the step may have failed, too
    if error is None:
        return
    if record is None:
        _answer(_line(Failure.of(error)))
    else:
        record.end(error)


def _stop_on_signals(order: Order) -> None:
    """Cancel this task, once, on a signal or when the process that gave the order has ended, if so ordered."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    stopping = False

    def stop() -> None:
        nonlocal stopping
        if task and not stopping:
            stopping = True  # a second cancellation would stop the clean-up
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if order.caller is not None:

        def ended() -> None:
            loop.remove_reader(0)
            stop()

        loop.add_reader(0, ended)


class Record:
    """Where the followers read. Making it ends the answer on standard output, which then leads to the log.

    Raises:
        WorkspaceError: TW-R04 if it cannot be written, as does `add`.
    """

    def __init__(self, server: ServerFolder, order: Order) -> None:
        self.error: WorkspaceError | None = None
        """Why it could not be written."""
        self._path = server.build
        self._bytes = 0
        self._left_out: set[str] = set()
        self._logs = server.logs
        try:
            server.root.mkdir(parents=True, exist_ok=True)
            log = os.open(server.build_log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            self._reserved = TemporaryFile(dir=server.root)  # noqa: SIM115 -- it is there as long as this
            os.posix_fallocate(self._reserved.fileno(), 0, RESERVED_BYTES)
            self._file = begin(server, order)  # last: it takes the place of the record before
        except OSError as error:
            raise unwritable(self._path, error) from error
        _answer("{}")
        for stream in (1, 2):
            os.dup2(log, stream)

    def add(self, event: Event) -> None:
        """Add ``event``; of too much output only where it is."""
        if isinstance(event, Output) and self._bytes > SHOWN_BYTES:
            if event.step in self._left_out:
                return
            self._left_out.add(event.step)
            more = tr("More output is in {log} only.", log=self._logs / f"{event.step}.log")
            event = Output(event.step, (more,), event.at)
        try:
            self._write(_line(event, event_data(event)))
        except OSError as error:
            self.error = unwritable(self._path, error)
            raise self.error from error

    def end(self, error: WizardError) -> None:
        """Add the error that ended the build, after what may be half of a line."""
        with suppress(OSError):  # others took what was reserved
            self._reserved.truncate(0)
            self._write(f"\n{_line(Failure.of(error))}")

    def _write(self, line: str) -> None:
        data = f"{line}\n".encode()
        self._bytes += len(data)
        while data:
            data = data[os.write(self._file, data) :]


def _line(value: object, data: dict[str, object] | None = None) -> str:
    return redact(to_json({**(data or to_data(value)), "messages": messages(value)}))


def _answer(line: str) -> None:
    """Answer the process that gave the order, which may have ended."""
    with suppress(BrokenPipeError):
        os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    main()
