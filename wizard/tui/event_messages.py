"""Events of a run as messages for a screen.

Lines of output are posted in batches every 50 ms, or 100 ms in a flood: a view that is updated for every line is 10 to
60 times slower (measured on 20,000 lines with ``textual.widgets.Log``: 0.55 s batched, 5 s and more line by line).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from textual.message import Message

from wizard.kernel.text import plain
from wizard.run.capture import only_in_log
from wizard.run.events import Event, Output, Progress

FLUSH_S = 0.05
"""Seconds between two batches."""
FLOOD_LINES, FLOOD_S = 200, 0.1
"""From this number of lines per batch on, no one can follow, and the next batch comes later: keys have priority."""
MAX_LINES = 5_000
"""Maximum number of lines in a view; the log on disk has all of them."""


BATCH_LINES = 1_000
"""Maximum number of lines in a batch: the search, too, keeps up with 200,000 lines per second."""


class LogLines(Message):
    """Lines of output since the last batch, without escape sequences."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__()
        self.lines = lines


class Happened(Message):
    """Any other event; of several `Progress` within a batch only the last."""

    def __init__(self, event: Event) -> None:
        super().__init__()
        self.event = event


class Begun(Message):
    """The run began, possibly again: earlier output is obsolete."""


class Moved(Message):
    """The run's state has changed."""


class Ended(Message):
    """The run has ended; always the last message."""


async def relay(events: AsyncGenerator[Event, None], post: Callable[[Message], object]) -> None:
    """Post all ``events`` in order, output in batches; cancelling this closes ``events``."""
    loop = asyncio.get_running_loop()
    lines: deque[str] = deque(maxlen=BATCH_LINES)
    count = 0
    progress: list[Progress] = []
    timer: asyncio.TimerHandle | None = None
    pause = FLUSH_S

    def flush() -> None:
        nonlocal timer, pause, count
        pause = FLOOD_S if len(lines) >= FLOOD_LINES else FLUSH_S
        if timer is not None:
            timer.cancel()
            timer = None
        if lines:
            omitted = count - len(lines)
            post(LogLines((*((only_in_log(omitted),) if omitted else ()), *lines)))
            lines.clear()
            count = 0
        if progress:
            post(Happened(progress.pop()))

    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Output):
                    count += len(event.lines)
                    latest = event.lines[-BATCH_LINES:]
                    lines.extend(line if line.isprintable() else plain(line) for line in latest)
                elif isinstance(event, Progress):
                    progress[:] = [event]
                else:
                    flush()
                    post(Happened(event))
                    continue
                timer = timer or loop.call_later(pause, flush)
    finally:
        flush()
