"""Servers that take turns: each is started from its plan for its runs, and stopped before the next one starts."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from wizard.kernel.lock import writing
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Plan
from wizard.run.engine import run
from wizard.run.events import Event
from wizard.serve import find, gateway
from wizard.serve.endpoint import Endpoint
from wizard.serve.stop import stop


@dataclass(slots=True)
class Turns:
    """Starts one server at a time; at the end, `end` stops the last one."""

    workspace: Workspace
    serving: str | None = None
    """Name of the server that was started last."""

    async def start(self, plan: Plan) -> AsyncGenerator[Event, None]:
        """Serve ``plan``, after stopping the server before it; nothing if it is that one.

        Raises:
            StepError, ServerError, WorkspaceError: See `wizard.run.engine.run` and `wizard.serve.stop.stop`.
        """
        if self.serving == plan.name:
            return
        await self._stop()
        self.serving = plan.name
        async with aclosing(run(plan)) as events:
            async for event in events:
                yield event

    def endpoint(self) -> Endpoint:
        """The running server, with its OpenAI-compatible address."""
        return gateway.with_address(self.workspace, find.endpoint(self.workspace, self.serving))

    async def end(self) -> None:
        """Stop the server that is running, and the OpenAI-compatible address if no other one needs it."""
        await self._stop()
        gateway.stop_unused(self.workspace)

    async def _stop(self) -> None:
        """The address stays: the next server is behind it, too."""
        name, self.serving = self.serving, None
        if name is not None:
            with writing(self.workspace):
                await stop(self.workspace.server(name))
