"""Servers that take turns: each is started from its plan for its runs, and stopped before the next one starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from wizard.bench.bench import Subject
from wizard.bench.order import rig_of, target_of
from wizard.kernel.lock import writing
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Plan
from wizard.plan.runtimes.venv import Venv
from wizard.probe.live import Reading
from wizard.run.engine import run
from wizard.run.events import Event
from wizard.serve import find, gateway
from wizard.serve.endpoint import Endpoint
from wizard.serve.stop import stop


@dataclass(slots=True)
class Turns:
    """Starts one server at a time; at the end, `end` stops the last one."""

    workspace: Workspace
    serving: Plan | None = None
    """What was started last."""

    async def start(self, plan: Plan) -> AsyncGenerator[Event, None]:
        """Serve ``plan``, after stopping the server before it; nothing if it is that one.

        Raises:
            StepError, ServerError, WorkspaceError: See `wizard.run.engine.run` and `wizard.serve.stop.stop`.
        """
        if self.serves(plan):
            return
        await self._stop()
        self.serving = plan
        async with aclosing(run(plan)) as events:
            async for event in events:
                yield event

    def serves(self, plan: Plan) -> bool:
        """Whether the server of ``plan`` was started last."""
        return self.serving is not None and self.serving.fingerprint == plan.fingerprint

    def endpoint(self) -> Endpoint:
        """The running server, with its OpenAI-compatible address."""
        name = self.serving.name if self.serving else None
        return gateway.with_address(self.workspace, find.endpoint(self.workspace, name))

    async def end(self) -> None:
        """Stop the server that is running, and the OpenAI-compatible address if no other one needs it."""
        await self._stop()
        await asyncio.to_thread(gateway.stop_unused, self.workspace)

    async def _stop(self) -> None:
        """The address stays: the next server is behind it, too."""
        plan, self.serving = self.serving, None
        if plan is not None:
            with writing(self.workspace):
                await stop(self.workspace.server(plan.name))


def prepare(
    subject: Subject,
    workspace: Workspace,
    endpoint: Endpoint,
    plan: Plan | None,
    venv: Venv,
    read: Callable[[], Reading],
) -> None:
    """Make a subject ready for its runs, once its server is at ``endpoint``; ``read`` reads the machine.

    Raises:
        UsageError: TW-C67 if the server cannot be measured as wanted, TW-C69 if the folder has a report.
        WorkspaceError: TW-C68 if it is not writable.
    """
    target = target_of(endpoint, plan, subject.report.target.api)
    subject.report = replace(subject.report, target=target)
    subject.rig = rig_of(workspace, endpoint, target, venv, subject.report.machine.cores, read)
    subject.begin()
