"""Summaries of a plan, the same in every interface. Pure functions; untrusted text is sanitized."""

from __future__ import annotations

from wizard.kernel.language import ntr, tr
from wizard.kernel.text import one_line
from wizard.kernel.units import count, duration, size
from wizard.model.facts import ModelFacts
from wizard.plan.plan import LINK_BYTES_PER_S, Estimate, Plan


def model_line(facts: ModelFacts) -> str:
    """A model in a line: parameters, size, context, license; unknown facts are omitted."""
    parts = [
        tr("{count} parameters", count=count(facts.parameters)) if facts.parameters else "",
        size(facts.weight_bytes) if facts.weight_bytes else "",
        one_line(facts.quantization.detail or facts.quantization.method) if facts.quantization else facts.dtype or "",
        tr("{max_context:,} tokens of context", max_context=facts.max_context) if facts.max_context else "",
        one_line(facts.licence) if facts.licence else tr("license unknown"),
    ]
    return " · ".join(part for part in parts if part)


def time(estimate: Estimate) -> str:
    """The duration, if known."""
    if estimate.unknown:
        return tr("more than {time}", time=duration(estimate.seconds)) if estimate.seconds else tr("time unknown")
    return tr("about {time}", time=duration(estimate.seconds))


def cost(estimate: Estimate) -> str:
    """The cost of a step or plan: time, download, disk."""
    parts = [time(estimate)]
    if estimate.download_bytes:
        parts.append(tr("{size} to download", size=size(estimate.download_bytes)))
    if estimate.disk_bytes:
        parts.append(tr("{size} of disk space", size=size(estimate.disk_bytes)))
    return " · ".join(parts)


def sums(plan: Plan) -> str:
    """The total cost of the plan; notes that the link's speed is assumed."""
    steps = ntr(
        "{count} step · {cost}",
        "{count} steps · {cost}",
        len(plan.steps),
        count=len(plan.steps),
        cost=cost(plan.estimate),
    )
    return (
        tr(
            "{steps} · downloads estimated at {speed} MB/s",
            steps=steps,
            speed=LINK_BYTES_PER_S // 10**6,
        )
        if plan.estimate.download_bytes
        else steps
    )


def takes(plan: Plan) -> tuple[str, ...]:
    """The total cost of the plan and its location; and another line if it is for another machine."""
    where = tr("{sums} · files in {folder}", sums=sums(plan), folder=plan.workspace)
    if plan.is_for_here:
        return (where,)
    return where, tr(
        "This plan is for {host}, not this machine: you can view it but not run it.", host=one_line(plan.host)
    )
