"""Wait for an answer as long as it takes, but not for one that can never arrive.

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
"""Seconds without a piece between checks of the model's process."""


async def watched(
    pieces: AsyncGenerator[Piece, None], lives: Callable[[], bool], ended: Callable[[], Exception]
) -> AsyncGenerator[Piece, None]:
    """Yield ``pieces`` as they arrive; raise ``ended()`` if ``lives()`` is False.

    There is no timeout for a living model: a long prompt on a slow machine takes minutes.
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
