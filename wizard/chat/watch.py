"""Wait for an answer as long as it takes, but not for one that can never come.

When the process of a Python-backend model ends (killed, crashed, out of memory), Triton 2.51.0 goes on saying that the
model is ready and never ends the requests that the process held (measured with SIGKILL, over both protocols). A
request that comes later is refused after a second; `wizard.chat.ask.server_said` knows those words.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from wizard.chat.ask import Piece

LOOK_S = 1.0
"""Seconds without a piece after which the model's process is looked at, again and again."""


async def watched(
    pieces: AsyncGenerator[Piece, None], lives: Callable[[], bool], ended: Callable[[], Exception]
) -> AsyncGenerator[Piece, None]:
    """Yield ``pieces`` as they come; raise ``ended()`` when none comes any more because ``lives()`` is False.

    A model that lives is waited for without end: a long prompt on a slow machine takes minutes.
    """
    async with aclosing(pieces):
        while True:
            coming = asyncio.ensure_future(pieces.__anext__())
            try:
                while not (await asyncio.wait((coming,), timeout=LOOK_S))[0]:
                    if not lives():
                        raise ended()
                piece = coming.result()
            except StopAsyncIteration:
                return
            finally:
                coming.cancel()
                await asyncio.gather(coming, return_exceptions=True)
            yield piece
