"""Run asynchronous work from synchronous code, so that Ctrl-C stops it without skipping cleanup."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from typing import Any

from wizard.kernel.language import tr


def until_stopped(
    work: Coroutine[Any, Any, None],
    signals: Iterable[int] = (signal.SIGINT,),
    leaving: threading.Event | None = None,
) -> bool:
    """Run ``work`` to its end, or until one of ``signals`` cancels it; False if it was stopped.

    Cancelling lets the work release its resources: a request in the server, a child process. A KeyboardInterrupt, which
    can arrive at any line, would not. Further signals are ignored: a second cancellation would stop the cleanup. Only
    for the main thread, as signal handlers are.

    ``leaving`` is set when SIGHUP cancels the work: the terminal's window was closed, and what can continue without it
    does. If it is set before, every signal only ends the view of such work.

    A signal that is ignored, as nohup(1) does with SIGHUP, stays ignored.
    """
    import asyncio

    heeded = [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]

    async def main() -> None:
        task = asyncio.ensure_future(work)
        loop = asyncio.get_running_loop()
        stopping = False

        def stop(number: int) -> None:
            nonlocal stopping
            if stopping:
                return
            stopping = True
            task.cancel()
            if leaving is not None and number == signal.SIGHUP:
                leaving.set()
            if leaving is None or not leaving.is_set():
                with suppress(OSError):  # the terminal is gone
                    print(f"\n{tr('stopping')}", file=sys.stderr, flush=True)

        for number in heeded:
            loop.add_signal_handler(number, stop, number)
        try:
            await task
        finally:
            for number in heeded:
                loop.remove_signal_handler(number)

    try:
        asyncio.run(main())
    except (asyncio.CancelledError, KeyboardInterrupt):  # the latter before the handler is in place
        return False
    return True
