"""Several answers to one request, as they come: ``n``, and several prompts of a completion."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TypeAlias

from wizard.chat.ask import Piece

AHEAD = 64
"""Pieces that wait for a slow client; then the engine's are left where they are."""
_Queue: TypeAlias = "asyncio.Queue[tuple[int, Piece | Exception | None]]"


async def merged(streams: Sequence[AsyncGenerator[Piece, None]]) -> AsyncGenerator[tuple[int, Piece], None]:
    """The pieces of all ``streams`` with the number of theirs; closing it closes them all, and so does an error."""
    if len(streams) == 1:
        async with aclosing(streams[0]) as pieces:
            async for piece in pieces:
                yield 0, piece
        return
    queue: _Queue = asyncio.Queue(AHEAD)
    tasks = [asyncio.create_task(_read(index, stream, queue)) for index, stream in enumerate(streams)]
    try:
        running = len(tasks)
        while running:
            index, item = await queue.get()
            if isinstance(item, Exception):
                raise item
            if item is None:
                running -= 1
            else:
                yield index, item
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(index: int, stream: AsyncGenerator[Piece, None], queue: _Queue) -> None:
    """Put the pieces of a stream, and then its error, or None."""
    try:
        async with aclosing(stream) as pieces:
            async for piece in pieces:
                await queue.put((index, piece))
    except Exception as error:
        await queue.put((index, error))
    else:
        await queue.put((index, None))
