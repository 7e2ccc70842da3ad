"""How quickly a conversation of 100,000 tokens (400 kB in 200 turns) opens and scrolls: ``transcript.py [KEYS]``.

The transcript of the chat in an app without a terminal, 120 × 40. Opening: from giving it the conversation to its first
picture. Scrolling: from PgUp's key event to the end of drawing the picture that it brings about, through the whole
conversation, of which every part is laid out when it is first seen; the way to a terminal is not in it.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.strip import Strip
from token_server import PART

import wizard.tui.app  # noqa: F401 - the period between two pictures, which it sets
from wizard.chat.conversation import Message
from wizard.tui import garbage_collection
from wizard.tui.widgets.transcript import Transcript

CHARACTERS, TURNS = 400_000, 200


class Watched(Transcript):
    """Notes when it was drawn last, and at which line it stood then."""

    drawn: tuple[int, float] = (-1, 0.0)

    def render_lines(self, crop: Region) -> list[Strip]:
        strips = super().render_lines(crop)
        self.drawn = self.virtual_size.height - self.scroll_offset.y, time.monotonic()
        return strips


class Opened(App[None]):
    """The transcript alone."""

    CSS = "Watched { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("pageup", "up", "Up", priority=True)]

    def compose(self) -> ComposeResult:
        yield Watched()

    def action_up(self) -> None:
        view = self.query_one(Watched)
        view.scroll_relative(y=-view.size.height, animate=False)


def conversation() -> list[Message]:
    """Questions and answers of all kinds of Markdown."""
    size = 2 * CHARACTERS // TURNS
    text = (PART * (size // len(PART) + 1))[:size]
    return [Message("assistant", text) if turn % 2 else Message("user", "Go on") for turn in range(TURNS)]


async def measure(keys: int) -> tuple[float, list[float]]:
    """Milliseconds of opening, and of each page."""
    messages = conversation()
    garbage_collection.collect_rarely()  # as the chat does
    async with Opened().run_test(size=(120, 40)) as pilot:
        view = pilot.app.query_one(Watched)
        begun = time.monotonic()
        view.show(messages)
        while view.drawn[1] < begun:  # noqa: ASYNC110
            await asyncio.sleep(0.0005)
        opened, pages = (view.drawn[1] - begun) * 1e3, []
        for _ in range(keys):
            await asyncio.sleep(0.03)
            before, begun = view.drawn[0], time.monotonic()
            if view.scroll_offset.y == 0:
                break
            pilot.app.post_message(events.Key("pageup", None))
            while view.drawn[0] == before:  # noqa: ASYNC110
                await asyncio.sleep(0.0005)
            pages.append((view.drawn[1] - begun) * 1e3)
    return opened, pages


def main() -> int:
    opened, pages = asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 300))
    cuts = statistics.quantiles(pages, n=100, method="inclusive")
    print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; opened in {opened:.0f} ms")
    print(f"{len(pages)} pages   p50 {cuts[49]:.1f}   p99 {cuts[98]:.1f}   max {max(pages):.1f} ms")
    return 0 if cuts[98] <= 50.0 else 1


if __name__ == "__main__":
    sys.exit(main())
