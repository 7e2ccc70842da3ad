"""A build that leaves the notebook free: its steps, the running step's log, Stop and Continue."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from contextlib import aclosing

from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.notebook.background import Background
from wizard.notebook.live import LiveRun
from wizard.notebook.panels.panel import Panel, html_place
from wizard.plan.plan import Plan
from wizard.run.events import Event

LINES = 200
"""Lines of the log."""


class BuildPanel(Panel):
    """The panel; starts the build.

    Args:
        background: Runs it.
        plan: What is built.
        run: Yields the events of the build, from its beginning.
    """

    def __init__(self, background: Background, plan: Plan, run: Callable[[Plan], AsyncGenerator[Event, None]]) -> None:
        from ipywidgets import Button, HBox, VBox

        self._background, self._plan, self._run = background, plan, run
        self._shown, self._place = html_place()
        self._stop = Button(description=tr("Stop"), icon="stop", button_style="warning")
        self._continue = Button(description=tr("Continue"), icon="play", disabled=True)
        self._stop.on_click(lambda _: self.stop())
        self._continue.on_click(lambda _: self.start())
        box = VBox([HBox([self._stop, self._continue]), self._shown])
        super().__init__(box, lambda: self._shown.value, "journey.up()")
        self.start()

    def start(self) -> None:
        """Start or continue the build; returns when it has begun."""
        begun = threading.Event()
        self._running(True)
        self._future: Future[None] = self._background.spawn(self._show(begun))
        begun.wait()

    def stop(self) -> None:
        """Stop the running step; completed ones are kept."""
        self._stop.disabled = True
        self._future.cancel()

    async def _show(self, begun: threading.Event) -> None:
        show = LiveRun(self._place, LINES, self._plan)
        try:
            async with aclosing(self._run(self._plan)) as events:
                async for event in events:
                    show.show(event)
                    begun.set()
        except asyncio.CancelledError:
            show.end()
            raise
        except WizardError as error:
            show.end(error)
        finally:
            begun.set()
            self._running(False)

    def _running(self, running: bool) -> None:
        self._stop.disabled, self._continue.disabled = not running, running
