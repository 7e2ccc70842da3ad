"""Which build or server a new kernel continues with."""

from __future__ import annotations

from typing import Any

from wizard.kernel.errors import ServerError, UsageError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Plan


def attached_plan(journey: Any, workspace: Workspace, name: str | None) -> Plan:
    """The plan of the server ``name``; see `wizard.notebook.session.Journey.attach` for the default and the errors."""
    plan: Plan | None = journey.earlier_plan(workspace, name or _running(journey, workspace) or "")
    if plan is None and name is None:
        plan = journey.latest_plan(workspace, workspace.names())
    if plan is None:
        message = (
            tr("there is no build or server {name} in {folder}", name=name, folder=workspace.root)
            if name
            else tr("there is no build or server in {folder}", folder=workspace.root)
        )
        raise UsageError("TW-N10", message, tr('Start one: `Journey("demo").up()`.'))
    return plan


def _running(journey: Any, workspace: Workspace) -> str | None:
    if build := journey.building(workspace):
        return str(build.name)
    try:
        running: str = journey.endpoint(workspace).name
    except ServerError:  # none
        return None
    return running
