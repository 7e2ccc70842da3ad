"""The thoughts of a model that thinks before it answers: ``reasoning_content``, as vLLM and DeepSeek have it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from wizard.chat.ask import Ask, Piece
from wizard.chat.served import ServedModel
from wizard.chat.thinking import Splitter


def splitter_of(ask: Ask, served: ServedModel) -> Splitter | None:
    """What splits the answer to ``ask``; None if there is no thought: a schema guides the answer from its beginning.

    Raises:
        UsageError: See `wizard.chat.thinking.formats_of`.
    """
    return Splitter(served.formats, ask.prompt) if served.formats and ask.json_schema is None else None


async def split(pieces: AsyncGenerator[Piece, None], splitter: Splitter) -> AsyncGenerator[Piece, None]:
    """``pieces`` with the thought apart from the text."""
    async with aclosing(pieces) as stream:
        async for piece in stream:
            new = splitter.feed(piece.text)
            if piece.finish:
                new += splitter.end()
            yield replace(piece, text=new.answer, thought=piece.thought + new.thought)
