"""The servers in the welcome: those of the workspace, and those being built in the background. Blocking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wizard.flow.perform import earlier
from wizard.tui.views.welcome import Server, listed

if TYPE_CHECKING:
    from wizard.advise.calibration import Calibration
    from wizard.flow.port import JourneyPort
    from wizard.flow.values import State
    from wizard.kernel.paths import Workspace
    from wizard.tui.app import WizardApp
    from wizard.tui.builds import Builds


def servers(app: WizardApp, builders: Builds, journey: JourneyPort, workspace: Workspace, state: State) -> list[Server]:
    """Servers that are running here, being built, or were set up last (blocking, see `wizard.journey.statuses`)."""
    builders.join()
    runs = dict(app.runs)  # before the servers are checked: one that becomes ready meanwhile is not missed
    builds = {name: None if run.ended else run.share for name, run in runs.items()}
    statuses = journey.statuses(workspace)
    past = journey.calibration(workspace)
    answering = [status.endpoint for status in statuses if status.endpoint and status.state == "ready"]
    app.running.update({endpoint.name: endpoint for endpoint in answering})
    off = [status.name for status in statuses if status.state in ("stopped", "dead") and status.name not in runs]
    allowed, last = earlier(journey, workspace, state, off)
    trouble = {status.name: status.trouble for status in statuses}
    here = [endpoint for endpoint in answering if allowed(endpoint.name)]

    def notes(server: str) -> str:
        return " · ".join(filter(None, (trouble.get(server), measured(past, server))))

    return listed(here, builds, notes, last)


def measured(past: Calibration, server: str) -> str:
    """The measured and predicted memory of the last start of ``server``; empty if it was not measured."""
    from wizard.advise.calibration import summary

    measurement = past.latest_of(server)
    return summary(measurement) if measurement else ""
