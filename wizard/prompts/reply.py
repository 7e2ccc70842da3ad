"""An answer as the plain chat received it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Stats
from wizard.chat.tools.called import Called
from wizard.kernel.values import to_data


@dataclass(frozen=True, slots=True)
class Reply:
    """The received part of an answer. ``stats`` is None if it was stopped early."""

    text: str
    stats: Stats | None
    thought: str = ""
    calls: tuple[Called, ...] = ()
    chunks: list[Chunk] = field(default_factory=list)
    """Chunks with more than text: the request, log probabilities."""


def reply_data(question: str, reply: Reply, model: str) -> dict[str, Any]:
    """An answer as JSON data; times in seconds, null if unknown. ``logprobs`` and ``calls`` only if there are any."""
    stats = reply.stats
    logprobs = [to_data(token) for chunk in reply.chunks for token in chunk.logprobs]
    return {
        "question": question,
        "answer": reply.text,
        "thought": reply.thought,
        "tokens": stats.tokens if stats else None,
        "thought_tokens": stats.thought_tokens if stats else None,
        "thought_pieces": stats.thought_pieces if stats else None,
        "ttft_s": stats.ttft_s if stats else None,
        "thought_s": stats.thought_s if stats else None,
        "answer_s": stats.answer_s if stats else None,
        "tokens_per_s": stats.tokens_per_s if stats else None,
        "pieces": stats.pieces if stats else None,
        "pieces_per_s": stats.pieces_per_s if stats else None,
        "total_s": stats.total_s if stats else None,
        "finish": stats.finish if stats else "cancelled",
        "model": model,
        **({"calls": to_data(reply.calls)} if reply.calls else {}),
        **({"logprobs": logprobs} if logprobs else {}),
    }
