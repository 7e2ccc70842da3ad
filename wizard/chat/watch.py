"""Wait for an answer as long as it takes, but not for one that can never arrive (`wizard.chat.life`).

When the process of a Python-backend model ends (killed, crashed, out of memory), Triton 2.51.0 still reports the model
as ready and never ends the requests of that process (measured with SIGKILL, over both protocols). A later request is
rejected after a second; `wizard.chat.ask.server_error` recognizes the text.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from wizard.chat.ask import Piece

LOOK_S = 1.0
"""Seconds between checks of the model's process, while a piece is awaited."""


async def watched(
    pieces: AsyncGenerator[Piece, None], trouble: Callable[[], Exception | None]
) -> AsyncGenerator[Piece, None]:
    """Yield ``pieces`` as they arrive; raise the exception of ``trouble()`` once there is one.

    There is no timeout for a living model: a long prompt on a slow machine takes minutes. A timer looks, and cancels
    the task that waits; a task for each piece would be expensive.
    """
    watch = _Watch(trouble)
    watch.look()
    try:
        async with aclosing(pieces):
            while True:
                watch.task = asyncio.current_task()
                try:
                    piece = await pieces.__anext__()
                except StopAsyncIteration:
                    return
                except asyncio.CancelledError:
                    if watch.over is None or watch.cancelled_by_others():
                        raise
                    raise watch.over from None
                finally:
                    watch.task = None
                yield piece
    finally:
        watch.timer.cancel()


class _Watch:
    """Looks again and again.

    Attributes:
        task: The one that waits for a piece; None between pieces.
        over: Why it was cancelled, if it was.
        timer: Of the next look.
    """

    timer: asyncio.TimerHandle

    def __init__(self, trouble: Callable[[], Exception | None]) -> None:
        self.task: asyncio.Task[object] | None = None
        self.over: Exception | None = None
        self._trouble = trouble

    def look(self) -> None:
        """Cancel the waiting task if no piece can arrive any more; otherwise look again later."""
        if self.task and (over := self._trouble()):
            self.over = over
            self.task.cancel()
        else:
            self.timer = asyncio.get_running_loop().call_later(LOOK_S, self.look)

    def cancelled_by_others(self) -> bool:
        """Whether somebody else has cancelled the task, too; Python 3.10 does not count."""
        uncancel: Callable[[], int] | None = getattr(asyncio.current_task(), "uncancel", None)
        return bool(uncancel and uncancel())
