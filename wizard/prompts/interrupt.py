"""Run asynchronous work from synchronous code, so that Ctrl-C stops it without skipping cleanup."""

from __future__ import annotations

import signal
import sys
from collections.abc import Coroutine, Iterable
from typing import Any

from wizard.kernel.language import tr


def until_stopped(work: Coroutine[Any, Any, None], signals: Iterable[int] = (signal.SIGINT,)) -> bool:
    """Run ``work`` to its end, or until one of ``signals`` cancels it; False if it was stopped.

    Cancelling lets the work release its resources: a request in the server, a child process. A KeyboardInterrupt, which
    can arrive at any line, would not. Further signals are ignored: a second cancellation would stop the cleanup. Only
    for the main thread, as signal handlers are.
    """
    import asyncio

    async def main() -> None:
        task = asyncio.ensure_future(work)
        loop = asyncio.get_running_loop()
        stopping = False

        def stop() -> None:
            nonlocal stopping
            if not stopping:
                stopping = True
                print(f"\n{tr('stopping')}", file=sys.stderr, flush=True)
                task.cancel()

        for number in signals:
            loop.add_signal_handler(number, stop)
        try:
            await task
        finally:
            for number in signals:
                loop.remove_signal_handler(number)

    try:
        asyncio.run(main())
    except (asyncio.CancelledError, KeyboardInterrupt):  # the latter before the handler is in place
        return False
    return True
