"""Money and energy for a million output tokens, from the throughput under the load of an estimate. Pure."""

from __future__ import annotations

from wizard.advise.advice import Cost, Speed

MILLION = 1e6
SECONDS_PER_HOUR = 3600.0


def cost(speed: Speed | None, per_hour: float | None, watts: float | None) -> Cost | None:
    """What a million tokens take at ``speed``; None if neither a rate nor a power limit is known.

    The throughput has the relative range of the time between two tokens: the estimate has none for prompts.

    Args:
        speed: Of all replicas; without it (or without a throughput) only the given values are returned.
        per_hour: Rate of the whole machine.
        watts: Sum of the power limits of the GPUs in use.
    """
    if per_hour is None and watts is None:
        return None
    tokens = speed.throughput_tokens_per_s if speed else None
    if speed is None or not tokens or not speed.tpot_ms:
        return Cost(per_hour, watts=watts)
    hours = MILLION / tokens / SECONDS_PER_HOUR
    fast, slow = (hours * (end or speed.tpot_ms) / speed.tpot_ms for end in (speed.low, speed.high))
    energy = None if watts is None else watts / 1000 * slow
    if per_hour is None:
        return Cost(watts=watts, kwh_per_million_tokens=energy)
    return Cost(per_hour, per_hour * hours, per_hour * fast, per_hour * slow, watts, energy)
