"""Running plans, on the screen or in the background: one at a time, with a notification when each ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Set
from concurrent.futures import wait
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from wizard.kernel.errors import WorkspaceError
from wizard.kernel.language import tr
from wizard.kernel.text import one_line, plain
from wizard.tui import background
from wizard.tui.servers import measured

if TYPE_CHECKING:
    from textual.message import Message

    from wizard.flow.port import JourneyPort
    from wizard.kernel.paths import Workspace
    from wizard.plan.plan import Plan
    from wizard.run.events import Event
    from wizard.serve.status import Status
    from wizard.tui.app import WizardApp
    from wizard.tui.run import Run

JOIN_S = 1.0
"""Maximum seconds to wait for the app, which may be quitting."""


class Builds:
    """The runs of the app's plans (`WizardApp.runs`).

    Args:
        app: The app that shows them.
        journey: The facade that runs them.
        workspace: The workspace of the runs.
        changed: Called when a server was started or stopped.
    """

    def __init__(self, app: WizardApp, journey: JourneyPort, workspace: Workspace, changed: Callable[[], None]) -> None:
        self._app, self._journey, self._workspace, self._changed = app, journey, workspace, changed
        self._measured: dict[str, str] = {}
        self._loop = asyncio.get_running_loop()

    def measured(self, name: str) -> str:
        """The measured and predicted memory of the server ``name`` that became ready; empty if it was not measured."""
        return self._measured.get(name, "")

    def run(self, plan: Plan) -> Run:
        """The run of ``plan``: the one shown again, or the active one for its server, or a new one."""
        run = self._app.runs.get(plan.name)
        if run is not None and run.plan is plan:
            return run
        if run is not None and run.under_way:
            name = one_line(plan.name)
            self._app.notify(tr("{name} is already being built; this is its progress.", name=name), markup=False)
            return run
        return self._new(plan)

    def _new(self, plan: Plan) -> Run:
        from wizard.tui.run import Run

        run = Run(plan, partial(self._carry_out, plan), self._app.beside, self._app.clock)
        run.listen(partial(self._ended, run))
        self._app.runs[plan.name] = run
        return run

    def join(self) -> None:
        """Follow a build that was started elsewhere, in the background (blocking; not in the app's thread)."""
        build = self._journey.building(self._workspace)
        run = self._app.runs.get(build.name) if build else None
        if build is None or (run is not None and run.under_way):
            return
        plan = self._journey.earlier_plan(self._workspace, build.name)
        if plan is not None:
            joined = asyncio.run_coroutine_threadsafe(self._join(plan), self._loop)
            wait([joined], timeout=JOIN_S)

    async def _join(self, plan: Plan) -> None:
        run = self._app.runs.get(plan.name)
        if run is None or not run.under_way:
            self._new(plan).begin(start=lambda _redo, _skip: self._noted(plan, self._attached(plan)))

    def _attached(self, plan: Plan) -> AsyncGenerator[Event, None]:
        return self._journey.attach(self._workspace, plan.name, leaving=self._app.leaving)

    def stop(self, name: str) -> Status:
        """Stop the server ``name`` (blocking)."""
        status = self._journey.stop(self._workspace, name)
        self._app.running.pop(name, None)
        self._changed()
        return status

    def _ended(self, run: Run, message: Message) -> None:
        """Notify about the end of a run that no screen shows; a failed one can be opened again."""
        from wizard.tui.event_messages import Ended
        from wizard.tui.views.build import Phase

        if not isinstance(message, Ended) or self._app.watches(run):
            return
        name = one_line(run.plan.name)
        if run.view.phase is Phase.READY:
            self._app.runs.pop(run.plan.name, None)  # it is in the list of servers now
            self._app.notify(tr("The server is responding."), title=tr("{name} is ready", name=name), markup=False)
        elif run.view.error is not None:
            title = tr("Could not build {name}", name=name)
            self._app.notify(plain(run.view.error.what), title=title, severity="error", markup=False)

    def _carry_out(self, plan: Plan, redo: Set[str], skip: Set[str]) -> AsyncGenerator[Event, None]:
        return self._noted(plan, self._journey.run(plan, redo=redo, skip=skip, leaving=self._app.leaving))

    async def _noted(self, plan: Plan, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """The run's events; remembers the ready server, for the message after quitting.

        Raises:
            WorkspaceError: TW-R09 if another plan is running in the background.
        """
        from wizard.run.events import Ready

        if other := next((run for run in self._app.runs.values() if run.under_way and run.plan is not plan), None):
            raise WorkspaceError(
                "TW-R09",
                tr("{name} is being built, and a workspace builds one server at a time", name=other.plan.name),
                tr("Wait until it is ready, or stop it first."),
            )
        self._app.running.pop(plan.name, None)
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Ready):
                    past = await background.call(partial(self._journey.calibration, self._workspace))
                    self._measured[plan.name] = measured(past, plan.name)
                    self._app.running[event.endpoint.name] = event.endpoint
                    self._changed()
                yield event
