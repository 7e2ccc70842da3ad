"""What was measured of an answer, in words; every door says it with these."""

from __future__ import annotations

from wizard.chat.conversation import Stats
from wizard.kernel.units import duration

STOPPED = "stopped"
ENDS = {"length": "cut at max_tokens", "gate": "the model was not sure, so it says that it does not know"}
"""Ends of an answer that deserve a word (`Stats.finish`)."""


def figures(stats: Stats | None) -> str:
    """``240.0 tokens/s · first token 50 ms · 12 tokens``, and how it ended if that deserves a word.

    What was not measured is left out; None is an answer that was stopped before its end.
    """
    if stats is None:
        return STOPPED
    parts: list[str] = []
    if stats.tokens_per_s is not None:
        parts.append(f"{stats.tokens_per_s:.1f} tokens/s")
    if stats.ttft_s is not None:
        parts.append(f"first token {duration(stats.ttft_s) if stats.ttft_s >= 1 else f'{1000 * stats.ttft_s:.0f} ms'}")
    if stats.tokens is not None:
        parts.append(f"{stats.tokens:,} token{'' if stats.tokens == 1 else 's'}")
    elif not parts:
        parts.append(f"{duration(stats.total_s)} in all")
    if stats.finish in ENDS:
        parts.append(ENDS[stats.finish])
    return " · ".join(parts)
