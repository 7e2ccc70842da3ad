"""The content of the build screen, folded from the run's events. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Literal

from wizard.kernel.errors import CancelledError, StepError, WizardError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.program import command
from wizard.plan.plan import Plan
from wizard.run.diagnose import CommandError
from wizard.run.events import Event, Progress, Ready, StepFinished, StepStarted
from wizard.serve.endpoint import Endpoint

_MIN_S = 0.5
"""Minimum seconds that each step counts."""


class Phase(Enum):
    """The state of the build as a whole."""

    RUNNING = 1
    STOPPING = 2
    READY = 3
    FAILED = 4
    CANCELLED = 5


@dataclass(frozen=True, slots=True)
class StepView:
    """A line of the list of steps."""

    id: str
    title: str
    state: Literal["waiting", "running", "done", "skipped", "omitted", "failed", "cancelled"] = "waiting"
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class BuildView:
    """The state of the screen."""

    phase: Phase = Phase.RUNNING
    steps: tuple[StepView, ...] = ()
    began: float = 0.0
    """Clock at the beginning of the running step."""
    progress: Progress | None = None
    reported_at: float = 0.0
    """Clock at the time of ``progress``."""
    endpoint: Endpoint | None = None
    proof: str = ""
    """What the files of the served model were compared with; empty if that is unknown."""
    error: WizardError | None = None


def begun(plan: Plan, now: float) -> BuildView:
    """The initial state: every step is waiting."""
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
            return replace(view, progress=event, reported_at=now)
        case Ready():
            return replace(view, phase=Phase.READY, endpoint=event.endpoint, proof=event.proof)
        case _:
            return view


def ended(view: BuildView, error: WizardError | None) -> BuildView:
    """``view`` after the last event, with the error that ended the run if there was one."""
    if view.phase is Phase.RUNNING and isinstance(error, CancelledError):  # in another terminal
        view = replace(view, phase=Phase.STOPPING)
    if view.phase is Phase.RUNNING:
        nothing_said = StepError(
            "TW-R90", tr("the run ended before the server was ready"), tr("Check the logs and try again.")
        )
        return replace(view, phase=Phase.FAILED, error=error or view.error or nothing_said, progress=None)
    if view.phase is Phase.STOPPING:
        steps = tuple(replace(step, state="cancelled") if step.state == "running" else step for step in view.steps)
        return replace(view, phase=Phase.CANCELLED, steps=steps, progress=None)
    return view


def still_building(name: str, workspace: Workspace) -> str:
    """The message after quitting while the server ``name`` is being built."""
    return tr(
        "The build of {name} continues. Watch: {watch} · stop: {stop}",
        name=name,
        watch=command("attach", workspace=workspace),
        stop=command("cancel", workspace=workspace),
    )


def share(view: BuildView, plan: Plan) -> float:
    """Progress of the build, 0 to 1, by the steps' estimates; the running step counts by its progress."""
    weights = [max(step.estimate.seconds, _MIN_S) for step in plan.steps]
    fraction = (view.progress.fraction if view.progress else None) or 0.0
    done = {"done": 1.0, "skipped": 1.0, "omitted": 1.0, "running": fraction}
    parts = [done.get(step.state, 0.0) * weight for step, weight in zip(view.steps, weights, strict=True)]
    return sum(parts) / sum(weights) if weights else 0.0


def _with(view: BuildView, step: str, **changes: object) -> BuildView:
    steps = tuple(replace(earlier, **changes) if earlier.id == step else earlier for earlier in view.steps)  # type: ignore[arg-type]
    return replace(view, steps=steps)


def _error(data: dict[str, str]) -> WizardError:
    error = StepError(data["code"], data["what"], data["todo"])
    error.known = data.get("known", "")
    return error


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a build failed.

    Attributes:
        error: The error, with its remedy.
        line: The line of the log with the cause; empty if there is none.
        log: The file with the failed step's complete output; empty if no step failed.
        command: The command that failed; empty if there is none.
        by_hand: What the user must run to fix it; empty if there is nothing.
    """

    error: WizardError
    line: str = ""
    log: str = ""
    command: str = ""
    by_hand: str = ""

    def text(self) -> str:
        """The complete diagnosis, to send to someone who can help."""
        rows = (
            (tr("What failed"), f"{self.error.code}: {self.error.what}"),
            (tr("Log output"), self.line),
            (tr("What to do"), self.error.todo + (self.by_hand and f"\n{self.by_hand}")),
            (tr("Command"), self.command),
            (tr("Full output"), self.log),
        )
        return "\n".join(f"{title}: {value}" for title, value in rows if value)


def diagnosis(view: BuildView, logs: Path, by_hand: str = "") -> Diagnosis | None:
    """Why the build failed, if it did; ``logs`` is the folder of the steps' logs, ``by_hand`` as in `Diagnosis`."""
    error = view.error
    if view.phase is not Phase.FAILED or error is None:
        return None
    step = next((earlier for earlier in view.steps if earlier.state == "failed"), None)
    if isinstance(error, CommandError) and step is not None:
        failure = error.failure
        message = tr("{title}: {how}", title=step.title, how=failure.how)
        shown = StepError(error.code, message, failure.todo)
        return Diagnosis(shown, failure.line, failure.log, failure.command, by_hand)
    return Diagnosis(error, log=str(logs / f"{step.id}.log") if step else "", by_hand=by_hand)
