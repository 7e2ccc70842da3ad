"""The models that a conversation can go on with."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from wizard.flow.perform import ready
from wizard.kernel.errors import WizardError

if TYPE_CHECKING:
    from wizard.chat.nearby import Nearby
    from wizard.flow.port import JourneyPort
    from wizard.kernel.paths import Workspace
    from wizard.serve.endpoint import Endpoint


def others(journey: JourneyPort, workspace: Workspace, now: Endpoint) -> list[Endpoint]:
    """All models that answer, besides ``now``: of its server first, then of the workspace, then of other programs on
    this machine (blocking).
    """
    here: list[Endpoint] = []
    if now.url is not None:
        with suppress(WizardError):  # it may have ended; the others have not
            here = journey.models(now.url)
    served = ready(journey, workspace)
    strangers = [endpoint for server in nearby(journey, workspace) for endpoint in server.endpoints]
    unique = {(endpoint.http, endpoint.model): endpoint for endpoint in (*here, *served, *strangers)}
    return [endpoint for endpoint in unique.values() if not endpoint.answers_as(now)]


def nearby(journey: JourneyPort, workspace: Workspace) -> list[Nearby]:
    """The servers of other programs on this machine (blocking)."""
    return journey.nearby(ready(journey, workspace))
