"""A plan's values in a few words, the same in every door. Pure functions; foreign text is made harmless."""

from __future__ import annotations

from wizard.kernel.text import one_line
from wizard.kernel.units import count, duration, size
from wizard.model.facts import ModelFacts
from wizard.plan.plan import LINK_BYTES_PER_S, Estimate, Plan


def model_line(facts: ModelFacts) -> str:
    """A model in one line: parameters, size, context, licence; what is unknown is left out."""
    parts = [
        f"{count(facts.parameters)} parameters" if facts.parameters else "",
        size(facts.weight_bytes) if facts.weight_bytes else "",
        one_line(facts.quantization.detail or facts.quantization.method) if facts.quantization else facts.dtype or "",
        f"{facts.max_context:,} tokens of context" if facts.max_context else "",
        one_line(facts.licence) if facts.licence else "licence unknown",
    ]
    return " · ".join(part for part in parts if part)


def time(estimate: Estimate) -> str:
    """How long it takes, as far as that is known."""
    if estimate.unknown:
        return f"more than {duration(estimate.seconds)}" if estimate.seconds else "time not known"
    return f"about {duration(estimate.seconds)}"


def cost(estimate: Estimate) -> str:
    """What a step or plan takes: time, download, disk."""
    parts = [time(estimate)]
    if estimate.download_bytes:
        parts.append(f"{size(estimate.download_bytes)} to download")
    if estimate.disk_bytes:
        parts.append(f"{size(estimate.disk_bytes)} of disk")
    return " · ".join(parts)


def sums(plan: Plan) -> str:
    """What the whole plan takes; says of the time that the link's speed in it is assumed."""
    steps = f"{len(plan.steps)} steps · {cost(plan.estimate)}"
    return f"{steps} · downloads counted at {LINK_BYTES_PER_S // 10**6} MB/s" if plan.estimate.download_bytes else steps
