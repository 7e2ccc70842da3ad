"""Whether a server of this machine can still answer. Any number of requests share one look at it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from wizard.chat.ask import lost, model_ended
from wizard.kernel import proctable
from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.serve import find
from wizard.serve.endpoint import Endpoint

FRESH_S = 0.5
"""Seconds for which a look is good for further requests."""


@dataclass(slots=True)
class Life:
    """Of the model at ``endpoint``.

    Attributes:
        endpoint: Where the model is served, by a server of this machine.
        process: The process that computes the answers; None if it cannot be seen.
    """

    endpoint: Endpoint
    process: proctable.Process | None
    _seen: tuple[float, WizardError | None] = field(default=(-FRESH_S, None), init=False)

    def trouble(self) -> WizardError | None:
        """Why no answer can arrive any more; None while it can."""
        at, seen = self._seen
        if time.monotonic() - at >= FRESH_S:
            seen = self._look()
            self._seen = time.monotonic(), seen
        return seen

    def _look(self) -> WizardError | None:
        if find.ending(self.endpoint):
            return lost(self.endpoint.http, tr("the server is shutting down"))
        if self.process and not proctable.alive(self.process):
            return model_ended(self.endpoint.model)
        return None
