"""What was measured of an answer, in words; every door says it with these."""

from __future__ import annotations

from wizard.chat.conversation import Stats
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.units import duration

STOPPED = mark("stopped")
ENDS = {
    "length": mark("cut at max_tokens"),
    "gate": mark("the model was not sure, so it says that it does not know"),
}
"""Ends of an answer that deserve a word (`Stats.finish`)."""


def figures(stats: Stats | None) -> str:
    """``240.0 tokens/s · first token 50 ms · 12 tokens``, and how it ended if that deserves a word.

    What was not measured is left out; None is an answer that was stopped before its end.
    """
    if stats is None:
        return tr(STOPPED)
    parts: list[str] = []
    if stats.tokens_per_s is not None:
        parts.append(tr("{rate:.1f} tokens/s", rate=stats.tokens_per_s))
    if stats.ttft_s is not None:
        first = duration(stats.ttft_s) if stats.ttft_s >= 1 else f"{1000 * stats.ttft_s:.0f} ms"
        parts.append(tr("first token {time}", time=first))
    if stats.tokens is not None:
        parts.append(ntr("{count:,} token", "{count:,} tokens", stats.tokens, count=stats.tokens))
    elif not parts:
        parts.append(tr("{time} in all", time=duration(stats.total_s)))
    if stats.finish in ENDS:
        parts.append(tr(ENDS[stats.finish]))
    return " · ".join(parts)
