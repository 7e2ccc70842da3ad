"""The journey's events as messages for a screen.

Lines of output are handed over in batches every 50 ms, or 100 ms in a flood: a view that is touched for every line is
10 to 60 times slower (measured on 20,000 lines with ``textual.widgets.Log``: 0.55 s batched, 5 s and more line by
line).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from textual.message import Message

from wizard.kernel.text import plain
from wizard.run.events import Event, Output, Progress

FLUSH_S = 0.05
"""Seconds between two batches."""
FLOOD_LINES, FLOOD_S = 200, 0.1
"""From so many lines in a batch on nobody reads along, and the next one comes later: keys go before."""
MAX_LINES = 5_000
"""Lines that a view keeps; the log on disk has all of them."""


class LogLines(Message):
    """Lines of output since the last batch, without escape sequences."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__()
        self.lines = lines


class Happened(Message):
    """Anything else that the engine said; of several `Progress` within a batch only the last."""

    def __init__(self, event: Event) -> None:
        super().__init__()
        self.event = event


class Begun(Message):
    """It began, once more perhaps: what was said before is of no interest."""


class Moved(Message):
    """What is known of it is something else now."""


class Ended(Message):
    """Nothing more will come; always the last."""


async def relay(events: AsyncGenerator[Event, None], post: Callable[[Message], object]) -> None:
    """Post every event of ``events`` in order, output in batches; cancelling this closes ``events``."""
    loop = asyncio.get_running_loop()
    lines: deque[str] = deque(maxlen=MAX_LINES)
    progress: list[Progress] = []
    timer: asyncio.TimerHandle | None = None
    pause = FLUSH_S

    def flush() -> None:
        nonlocal timer, pause
        pause = FLOOD_S if len(lines) >= FLOOD_LINES else FLUSH_S
        if timer is not None:
            timer.cancel()
            timer = None
        if lines:
            post(LogLines(tuple(lines)))
            lines.clear()
        if progress:
            post(Happened(progress.pop()))

    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Output):
                    lines.extend(line if line.isprintable() else plain(line) for line in event.lines)
                elif isinstance(event, Progress):
                    progress[:] = [event]
                else:
                    flush()
                    post(Happened(event))
                    continue
                timer = timer or loop.call_later(pause, flush)
    finally:
        flush()
