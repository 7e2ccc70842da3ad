"""The measurements of an answer in words, shared by all interfaces."""

from __future__ import annotations

import time

from wizard.chat.conversation import Message, Stats
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.text import one_line
from wizard.kernel.units import duration

STOPPED = mark("stopped")
COMPARABLE_S = 0.2
"""Seconds of an answer from which its rate is reliable enough for a comparison."""
ENDS = {
    "length": mark("cut off at max_tokens"),
    "gate": mark("the model was not confident, so it answered that it does not know"),
}
"""Finish reasons that are shown (`Stats.finish`)."""
UNANSWERED = {
    "length": mark("max_tokens reached before the answer: raise it, or turn thinking off"),
    "cancelled": mark("stopped before the answer"),
}
NO_ANSWER = mark("no answer")
"""Why only a thought is there, by finish reason, and otherwise."""


def figures(stats: Stats | None) -> str:
    """``240.0 tokens/s · first token 50 ms · 12 tokens``, and the finish reason if it is notable.

    Missing measurements are omitted; None is an answer that was stopped early.
    """
    if stats is None:
        return tr(STOPPED)
    parts: list[str] = []
    if stats.tokens_per_s is not None:
        parts.append(tr("{rate:.1f} tokens/s", rate=stats.tokens_per_s))
    elif stats.pieces_per_s is not None:
        parts.append(pieces_rate(stats.pieces_per_s))
    if stats.ttft_s is not None:
        parts.append(tr("TTFT {time}", time=short(stats.ttft_s)))
    if stats.thought_s is not None and stats.answer_s is not None:
        parts.append(tr("answer after {time}", time=short(stats.answer_s)))
    if stats.tokens is not None:
        parts.append(ntr("{count:,} token", "{count:,} tokens", stats.tokens, count=stats.tokens))
    elif not parts:
        parts.append(tr("{time} in total", time=duration(stats.total_s)))
    if stats.finish in ENDS:
        parts.append(tr(ENDS[stats.finish]))
    return " · ".join(parts)


def about(message: Message) -> str:
    """``qwen3 · 2026-11-25 18:30:05 · 240.0 tokens/s · …``: who wrote a message and when, and an answer's figures.

    The time is that of this machine's clock and zone. What is unknown is omitted.
    """
    names = {"user": tr("You"), "system": tr("System prompt"), "assistant": one_line(message.model) or tr("Model")}
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(message.at)) if message.at else ""
    return " · ".join(filter(None, (names[message.role], when, figures(message.stats) if message.stats else "")))


def pieces_rate(rate: float) -> str:
    """The rate of a server that does not count its tokens, which the pieces of its stream stand for."""
    return tr("≈ {rate:.1f} tokens/s (pieces counted)", rate=rate)


def thought_line(stats: Stats | None, *, answered: bool) -> str:
    """``Thought for 3.2 s · 214 tokens``: the line that stands for a thought, and why no answer follows it.

    Args:
        stats: Of the answer; None if it was stopped.
        answered: Whether there is an answer.
    """
    parts = [tr("Thinking")]
    if stats is not None and stats.thought_s is not None:
        parts = [tr("Thought for {time}", time=short(stats.thought_s))]
        if stats.thought_tokens:
            parts.append(ntr("{count:,} token", "{count:,} tokens", stats.thought_tokens, count=stats.thought_tokens))
        elif stats.thought_pieces:
            parts.append(tr("≈ {count:,} tokens", count=stats.thought_pieces))
    if not answered:
        parts.append(tr(UNANSWERED.get(stats.finish if stats else "cancelled", NO_ANSWER)))
    return " · ".join(parts)


def short(seconds: float) -> str:
    """A time that is usually below a second."""
    return duration(seconds) if seconds >= 1 else f"{1000 * seconds:.0f} ms"
