"""A running plan, whether a screen shows it or not.

A run owns its task, its state, and its latest output. A screen listens while it is shown and can come back later: only
lines that are in the log files by then are lost.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from textual.message import Message

from wizard.kernel.errors import WizardError
from wizard.kernel.language import localized
from wizard.tui.event_messages import MAX_LINES, Begun, Ended, Happened, LogLines, Moved, relay
from wizard.tui.views.build import BuildView, Phase, begun, ended, folded, share

if TYPE_CHECKING:
    from textual.worker import Worker

    from wizard.plan.plan import Plan
    from wizard.run.events import Event, Progress

Start: TypeAlias = "Callable[[Set[str], Set[str]], AsyncGenerator[Event, None]]"
"""Runs a plan; IDs of steps to rerun, IDs of steps to skip."""
Spawn: TypeAlias = "Callable[[Coroutine[Any, Any, None]], Worker[None]]"
"""Runs a coroutine in the background, for as long as the app lives."""


class Run:
    """A plan and its progress; `begin` runs it, also again after it has ended.

    Args:
        plan: The plan.
        start: Starts the run.
        spawn: Starts the background task.
        clock: Monotonic seconds.
    """

    def __init__(self, plan: Plan, start: Start, spawn: Spawn, clock: Callable[[], float]) -> None:
        self.plan = plan
        self._start, self._spawn, self._clock = start, spawn, clock
        self.view: BuildView = begun(plan, clock())
        self.lines: deque[str] = deque(maxlen=MAX_LINES)
        """The latest output, without escape sequences."""
        self.left_out: set[str] = set()
        """Ids of the steps that the user wants left out."""
        self._listeners: list[Callable[[Message], object]] = []
        self._worker: Worker[None] | None = None
        self._over = asyncio.Event()

    @property
    def under_way(self) -> bool:
        """Whether a step is running, or being stopped."""
        return self.view.phase in (Phase.RUNNING, Phase.STOPPING)

    @property
    def begun(self) -> bool:
        """Whether it ever began."""
        return self._worker is not None

    @property
    def ended(self) -> bool:
        """Whether everything of it has ended: a moment after its server is ready."""
        return self._over.is_set()

    @property
    def share(self) -> float:
        """Progress, 0 to 1, by the steps' estimates."""
        return share(self.view, self.plan)

    @property
    def elapsed(self) -> float:
        """Seconds since the running step began."""
        return self._clock() - self.view.began

    @property
    def progress(self) -> Progress | None:
        """The running step's last progress, with the time left adjusted to now."""
        reported = self.view.progress
        if reported is None or reported.eta_s is None:
            return reported
        left = reported.eta_s - (self._clock() - self.view.reported_at)
        return replace(reported, eta_s=left if left > 0 else None)

    def begin(self, redo: Set[str] = frozenset(), *, start: Start | None = None) -> None:
        """Run the plan from where it was left, and rerun ``redo``; no effect while it is active.

        ``start`` gives the events of a run that is active already, in another process.
        """
        if self._worker is not None and self.under_way:
            return
        self.lines.clear()
        self._over.clear()
        self.view = begun(self.plan, self._clock())
        self._tell(Begun())
        events = (start or self._start)(redo, frozenset(self.left_out))
        self._worker = self._spawn(self._carry_out(events))

    def stop(self) -> None:
        """Stop the running step; completed steps are kept."""
        if self._worker is not None and self.view.phase is Phase.RUNNING:
            self.view = replace(self.view, phase=Phase.STOPPING)
            self._tell(Moved())
            self._worker.cancel()

    def relabel(self) -> None:
        """Render titles and errors in the current language."""
        self.view = localized(self.view)
        self._tell(Moved())

    async def over(self) -> None:
        """Wait until everything of it has ended."""
        await self._over.wait()

    def listen(self, listener: Callable[[Message], object]) -> Callable[[], None]:
        """Send every `Begun`, `LogLines`, `Moved` and `Ended` to ``listener``; call the returned function to end
        that.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def _carry_out(self, events: AsyncGenerator[Event, None]) -> None:
        error = None
        try:
            await relay(events, self._take)
        except WizardError as failed:
            error = failed
        finally:
            self.view = ended(self.view, error)
            self._over.set()
            self._tell(Ended())

    def _take(self, message: Message) -> None:
        if isinstance(message, LogLines):
            self.lines.extend(message.lines)
            self._tell(message)
        elif isinstance(message, Happened):
            self.view = folded(self.view, message.event, self._clock())
            self._tell(Moved())

    def _tell(self, message: Message) -> None:
        for listener in tuple(self._listeners):
            listener(message)
