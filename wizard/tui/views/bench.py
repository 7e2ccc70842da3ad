"""The content of the screen of a running benchmark, folded from its events. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from wizard.bench.load import Point
from wizard.bench.measured import Measured
from wizard.kernel.errors import WizardError
from wizard.run.events import Event, Progress, StepFinished, StepStarted


@dataclass(frozen=True, slots=True)
class BenchView:
    """The state of the screen; times are seconds of the same clock."""

    phase: Literal["running", "stopping", "stopped", "failed"] = "running"
    title: str = ""
    """Of the running step."""
    index: int = 0
    """Its number, of ``count``."""
    count: int = 0
    began: float = 0.0
    progress: Progress | None = None
    reported_at: float = 0.0
    took: tuple[float, ...] = ()
    """Seconds of each finished run."""
    measured: tuple[Measured, ...] = ()
    """What is known of each level, in the order in which they were measured first."""
    error: WizardError | None = None
    kept: bool = False
    """Whether there is a report with results, after the end."""

    def left(self, now: float) -> float | None:
        """Seconds until the end, by the finished runs; None before the first has finished."""
        if not self.took:
            return None
        each = sum(self.took) / len(self.took)
        return max(0.0, each - (now - self.began)) + (self.count - self.index) * each

    def progress_at(self, now: float) -> Progress | None:
        """The last progress, with the time left adjusted to ``now``."""
        if self.progress is None or self.progress.eta_s is None:
            return self.progress
        left = self.progress.eta_s - (now - self.reported_at)
        return replace(self.progress, eta_s=left if left > 0 else None)


def folded(view: BenchView, item: Event | Measured, now: float) -> BenchView:
    """``view`` after ``item``."""
    match item:
        case StepStarted():
            began = replace(view, title=item.title, index=item.index, count=item.count, began=now, progress=None)
            return replace(began, took=view.took if view.measured else ())  # not that of the installation
        case Progress():
            return replace(view, progress=item, reported_at=now)
        case StepFinished():
            return replace(view, took=(*view.took, item.seconds) if item.outcome == "done" else view.took)
        case Measured():
            levels: dict[Point, Measured] = {each.point: each for each in (*view.measured, item)}
            return replace(view, measured=tuple(levels.values()))
        case _:
            return view
