"""What the build screen shows, folded from the journey's events. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal

from wizard.kernel.errors import StepError, WizardError
from wizard.plan.plan import Plan
from wizard.run.events import Event, Progress, Ready, StepFinished, StepStarted
from wizard.serve.endpoint import Endpoint


class Phase(Enum):
    """How far the build as a whole is."""

    RUNNING = 1
    STOPPING = 2
    READY = 3
    FAILED = 4
    CANCELLED = 5


@dataclass(frozen=True, slots=True)
class StepView:
    """One line of the list of steps."""

    id: str
    title: str
    state: Literal["waiting", "running", "done", "skipped", "failed", "cancelled"] = "waiting"
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class BuildView:
    """What is on the screen."""

    phase: Phase = Phase.RUNNING
    steps: tuple[StepView, ...] = ()
    began: float = 0.0
    """The clock when the running step began."""
    progress: Progress | None = None
    endpoint: Endpoint | None = None
    error: WizardError | None = None


def begun(plan: Plan, now: float) -> BuildView:
    """The beginning: every step waits."""
    return BuildView(steps=tuple(StepView(step.id, step.title) for step in plan.steps), began=now)


def folded(view: BuildView, event: Event, now: float) -> BuildView:
    """``view`` after ``event``."""
    match event:
        case StepStarted():
            return replace(_with(view, event.step, state="running"), began=now, progress=None)
        case StepFinished():
            view = replace(_with(view, event.step, state=event.outcome, seconds=event.seconds), progress=None)
            return replace(view, error=_error(event.error)) if event.error else view
        case Progress():
            return replace(view, progress=event)
        case Ready():
            return replace(view, phase=Phase.READY, endpoint=event.endpoint)
        case _:
            return view


def ended(view: BuildView, error: WizardError | None) -> BuildView:
    """``view`` when no more events will come, with the error that ended them if there was one."""
    if view.phase is Phase.RUNNING:
        nothing_said = StepError(
            "TW-R90", "the run ended before the server was ready", "Look at the logs and try again."
        )
        return replace(view, phase=Phase.FAILED, error=error or view.error or nothing_said, progress=None)
    if view.phase is Phase.STOPPING:
        steps = tuple(replace(step, state="cancelled") if step.state == "running" else step for step in view.steps)
        return replace(view, phase=Phase.CANCELLED, steps=steps, progress=None)
    return view


def _with(view: BuildView, step: str, **changes: object) -> BuildView:
    steps = tuple(replace(one, **changes) if one.id == step else one for one in view.steps)  # type: ignore[arg-type]
    return replace(view, steps=steps)


def _error(data: dict[str, str]) -> WizardError:
    return StepError(data["code"], data["what"], data["todo"])
