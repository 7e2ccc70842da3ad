"""A plan that is being carried out, whether a screen shows it or not.

A run owns the task that does it, what is known of it, and its latest output. A screen listens while it is shown and can
come back later: nothing is lost but the lines that are only in the log files by then.
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
"""Carries a plan out; ids of steps to do again, ids of steps to leave out."""
Spawn: TypeAlias = "Callable[[Coroutine[Any, Any, None]], Worker[None]]"
"""Lets a coroutine work beside the screens, for as long as the app lives."""


class Run:
    """One plan and how far it is; `begin` carries it out, once more if it has ended.

    Args:
        plan: What is done.
        start: How it is done.
        spawn: Where it is done.
        clock: Seconds that only go forward.
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
        """Whether a step runs, or is asked to end."""
        return self.view.phase in (Phase.RUNNING, Phase.STOPPING)

    @property
    def begun(self) -> bool:
        """Whether it was ever begun."""
        return self._worker is not None

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs any more: a moment after its server is ready."""
        return self._over.is_set()

    @property
    def share(self) -> float:
        """How far it is, 0 to 1, by the estimates of the steps."""
        return share(self.view, self.plan)

    @property
    def elapsed(self) -> float:
        """Seconds since the running step began."""
        return self._clock() - self.view.began

    @property
    def progress(self) -> Progress | None:
        """What the running step has told last; of the time that was left then, what is left now."""
        reported = self.view.progress
        if reported is None or reported.eta_s is None:
            return reported
        left = reported.eta_s - (self._clock() - self.view.reported_at)
        return replace(reported, eta_s=left if left > 0 else None)

    def begin(self, redo: Set[str] = frozenset()) -> None:
        """Carry the plan out from where it was left, and ``redo`` anew; not while it is under way already."""
        if self._worker is not None and self.under_way:
            return
        self.lines.clear()
        self._over.clear()
        self.view = begun(self.plan, self._clock())
        self._tell(Begun())
        self._worker = self._spawn(self._carry_out(redo, frozenset(self.left_out)))

    def stop(self) -> None:
        """Ask the running step to end; what is done stays done."""
        if self._worker is not None and self.view.phase is Phase.RUNNING:
            self.view = replace(self.view, phase=Phase.STOPPING)
            self._tell(Moved())
            self._worker.cancel()

    def relabel(self) -> None:
        """Render titles and errors in the present language."""
        self.view = localized(self.view)
        self._tell(Moved())

    async def over(self) -> None:
        """Wait until nothing of it runs any more."""
        await self._over.wait()

    def listen(self, listener: Callable[[Message], object]) -> Callable[[], None]:
        """Let ``listener`` have every `Begun`, `LogLines`, `Moved` and `Ended`; call what is returned to end that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def _carry_out(self, redo: Set[str], skip: Set[str]) -> None:
        error = None
        try:
            await relay(self._start(redo, skip), self._take)
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
