"""Output tokens per second over the time of a run, from its requests."""

from __future__ import annotations

from math import ceil

from wizard.bench.run import Run


def tokens_per_s(run: Run, width_s: float) -> tuple[float, ...] | None:
    """Output tokens per second in each ``width_s`` seconds of ``run``, from its first request.

    The load generator records when a request's first and last tokens arrived, and how many there were: those between
    are spread evenly. An incomplete last part is left out. None if the server counted the tokens of no request.
    """
    counted = [each for each in run.requests if each.output_tokens is not None and not each.error]
    if not counted:
        return None
    last = max(each.end_s for each in counted)
    bins = [0.0] * max(1, ceil(last / width_s - 1e-9))
    for each in counted:
        first = each.end_s if each.ttft_ms is None else min(each.start_s + each.ttft_ms / 1000, each.end_s)
        _spread(bins, width_s, first, each.end_s, each.output_tokens or 0)
    whole = max(1, int(last / width_s + 1e-9))
    return tuple(tokens / width_s for tokens in bins[:whole])


def _spread(bins: list[float], width_s: float, first: float, last: float, tokens: int) -> None:
    """Add a request's tokens to ``bins``: one at ``first``, and the others evenly until ``last``."""
    if not tokens:
        return
    bins[_bin(bins, first, width_s)] += 1
    if last <= first:
        bins[_bin(bins, first, width_s)] += tokens - 1
        return
    per_s = (tokens - 1) / (last - first)
    for at in range(_bin(bins, first, width_s), _bin(bins, last, width_s) + 1):
        bins[at] += per_s * max(0.0, min(last, (at + 1) * width_s) - max(first, at * width_s))


def _bin(bins: list[float], at_s: float, width_s: float) -> int:
    return min(len(bins) - 1, max(0, int(at_s / width_s)))
