"""The servers that the welcome lists: those of the workspace, and what is being built beside the screens. Blocking."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from wizard.kernel.errors import WizardError
from wizard.tui.views.welcome import Server, listed

if TYPE_CHECKING:
    from wizard.advise.calibration import Calibration
    from wizard.catalog.workshops import Workshop
    from wizard.kernel.paths import Workspace
    from wizard.serve.endpoint import Endpoint
    from wizard.tui.app import WizardApp
    from wizard.tui.port import JourneyPort


def servers(app: WizardApp, journey: JourneyPort, workspace: Workspace) -> list[Server]:
    """What runs here, is being built, or was set up last (blocking, see `wizard.journey.statuses`)."""
    runs = dict(app.runs)  # before the servers are looked at: what is ready by then is not missed
    builds = {name: None if run.ended else run.share for name, run in runs.items()}
    found = journey.statuses(workspace)
    past = journey.calibration(workspace)
    answering = [status.endpoint for status in found if status.endpoint and status.state == "ready"]
    app.running.update({one.name: one for one in answering})
    workshop = app.guide.workshop
    allowed = partial(_allowed, journey, workspace, workshop)
    off = [one.name for one in found if one.state in ("stopped", "dead") and one.name not in runs]
    again = app.hardware is None and ("model" in workshop.pin or "model" not in workshop.hide)
    last = journey.latest_plan(workspace, filter(allowed, off)) if again else None
    return listed([one for one in answering if allowed(one.name)], builds, partial(measured, past), last)


def ready(journey: JourneyPort, workspace: Workspace) -> list[Endpoint]:
    """Servers of the workspace that answer now (blocking)."""
    return [one.endpoint for one in journey.statuses(workspace) if one.endpoint and one.state == "ready"]


def now(journey: JourneyPort, workspace: Workspace, known: Endpoint) -> Endpoint | None:
    """The server that was ``known``, as it runs now: it may have been stopped elsewhere, and started again."""
    try:
        return journey.endpoint(workspace, known.name)
    except WizardError:
        return None


def measured(past: Calibration, server: str) -> str:
    """What ``server`` took when it was last started, beside what was predicted; empty if it was not measured."""
    from wizard.advise.calibration import summary
    from wizard.serve.calibration import latest_of

    found = latest_of(past, server)
    return summary(found) if found else ""


def _allowed(journey: JourneyPort, workspace: Workspace, workshop: Workshop, name: str) -> bool:
    """Whether ``name`` and its model are what the ``workshop`` pins; a model that is not known is no reason against."""
    if workshop.pin.get("name", name) != name:
        return False
    model = workshop.pin.get("model")
    plan = journey.earlier_plan(workspace, name) if model else None
    return plan is None or plan.facts.ref == model
