"""Names and figures of a report on quality in words. Pure."""

from __future__ import annotations

from wizard.bench.measured import Interval
from wizard.bench.quality.report import Subject
from wizard.kernel.language import tr
from wizard.texts.benchmark.words import unknown


def name(subject: Subject) -> str:
    """A server's name."""
    return subject.target.name


def task(name: str, filtered: str) -> str:
    """A task, with the way in which its answers were read if it is a special one."""
    return name if filtered in ("none", "answer", "") else f"{name}, {filtered}"


def points(value: Interval) -> str:
    """A difference of shares in percentage points: ``-2.0 (-4.1 to +0.1)``."""
    if value.low is None or value.high is None:
        return f"{value.value * 100:+.1f}"
    low, high = f"{value.low * 100:+.1f}", f"{value.high * 100:+.1f}"
    return tr("{value} ({low} to {high})", value=f"{value.value * 100:+.1f}", low=low, high=high)


def exact(value: Interval | None) -> str:
    """A ratio near 1."""
    if value is None:
        return unknown()
    low, high = value.low or 0.0, value.high or 0.0
    return tr("{value} ({low} to {high})", value=f"{value.value:.4f}", low=f"{low:.4f}", high=f"{high:.4f}")
