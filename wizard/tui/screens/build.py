"""Stage 5: the plan is carried out; every step and all output is seen while it happens."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from wizard.kernel.errors import CancelledError, WizardError
from wizard.kernel.text import one_line
from wizard.kernel.units import duration
from wizard.plan.plan import Plan
from wizard.run.events import Event
from wizard.serve.endpoint import Endpoint
from wizard.tui.bridge import Happened, LogLines, relay
from wizard.tui.build_view import BuildView, Phase, StepView, begun, ended, folded
from wizard.tui.screens.modal import AskScreen, ReaderScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.live_log import LiveLog
from wizard.tui.widgets.progress import ProgressLines

MARKS = {
    "waiting": ("○", "$text-muted"),
    "running": ("●", "bold $accent"),
    "done": ("✓", "$success"),
    "skipped": ("✓", "$success"),
    "failed": ("✗", "bold $error"),
    "cancelled": ("■", "$warning"),
}


class BuildScreen(StageScreen[Endpoint]):
    """Dismissed with the endpoint of the server that is ready, or with None to look at the plan again."""

    STAGE = 4
    HELP = (
        "The steps of the plan run one after the other. Stop at any time: what is done stays done, and the next "
        "run goes on from there. The log shows the latest output; all of it is kept in the folder that `l` shows."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Chat with it", priority=True, key_display="⏎"),
        Binding("r", "run", "Try again"),
        Binding("escape", "stop", "Stop"),
        Binding("escape", "back", "Back to the plan"),
        Binding("up", "scroll_log(0, -1)", "Scroll", priority=True, key_display="↑↓←→ PgUp/Dn"),
        Binding("down", "scroll_log(0, 1)", "Scroll", priority=True, show=False),
        Binding("left", "scroll_log(-8, 0)", "Scroll", priority=True, show=False),
        Binding("right", "scroll_log(8, 0)", "Scroll", priority=True, show=False),
        Binding("pageup", "scroll(-1)", "Scroll", priority=True, show=False),
        Binding("pagedown", "scroll(1)", "Scroll", priority=True, show=False),
        Binding("l", "logs", "Log files"),
    ]
    view: reactive[BuildView] = reactive(BuildView())

    def __init__(
        self,
        plan: Plan,
        run: Callable[[], AsyncGenerator[Event, None]],
        measured: Callable[[], str],
        logs: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``measured`` says what a server that is ready took beside what was predicted, in a few words."""
        super().__init__()
        self._measured = measured
        self._plan, self._run, self._logs, self._clock = plan, run, logs, clock
        self._told = False
        """Whether a signal told the wizard to leave: nothing is asked any more."""
        self._asking: AskScreen | None = None
        self._quit = False
        """Whether the user wants to leave the wizard as soon as the step has stopped."""

    def compose(self) -> ComposeResult:
        """Steps, how far it is, the log, and how it ended."""
        log = LiveLog()
        log.border_title = "Output"
        yield from self.framed(
            Static(classes="heading"),
            Container(
                Vertical(Static(id="steps"), ProgressLines(), ErrorPanel(), Static(id="outcome"), id="left"),
                log,
                classes="master-detail",
            ),
        )

    def on_mount(self) -> None:
        """Begin."""
        self.query_one(LiveLog).focus()
        self.action_run()
        self.set_interval(1.0, self._tick)

    def _tick(self) -> None:
        if self.view.phase is Phase.RUNNING:
            self._show_progress()

    @work(exclusive=True, group="run")
    async def action_run(self) -> None:
        """Carry the plan out, from where it was left."""
        self.query_one(LiveLog).clear()
        self.view = begun(self._plan, self._clock())
        error = None
        try:
            await relay(self._run(), self.post_message)
        except WizardError as failed:
            error = failed
        finally:
            self.call_later(self._end, error)

    def _end(self, error: WizardError | None) -> None:
        """Runs after every message that was posted before it."""
        self.view = ended(self.view, error)
        if self._asking is not None and self.app.screen is self._asking and not self._told:
            self._asking.dismiss("on")  # there is nothing left to stop
        elif self._quit:
            self.leave()

    def on_log_lines(self, message: LogLines) -> None:
        """Show a batch of output."""
        self.query_one(LiveLog).write_lines(message.lines)

    def on_happened(self, message: Happened) -> None:
        """Show what happened."""
        self.view = folded(self.view, message.event, self._clock())

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Each key only while it makes sense."""
        phase = self.view.phase
        return {
            "accept": phase is Phase.READY,
            "run": phase in (Phase.FAILED, Phase.CANCELLED),
            "stop": phase is Phase.RUNNING,
            "back": phase in (Phase.FAILED, Phase.CANCELLED, Phase.READY),
        }.get(action, True)

    def action_accept(self) -> None:
        """Go to the chat."""
        self.dismiss(self.view.endpoint)

    def action_logs(self) -> None:
        """Say where the whole output is."""
        files = "\n".join(f"{self._logs / step.id}.log   {step.title}" for step in self._plan.steps)
        self.app.push_screen(
            ReaderScreen("The whole output of each step", f"{files}\n{self._logs / 'triton.log'}   the server")
        )

    def action_scroll_log(self, columns: int, lines: int) -> None:
        """Scroll the log; at its end it follows the output again."""
        self.query_one(LiveLog).scroll_relative(x=columns, y=lines, animate=False)

    @work(exclusive=True, group="ask")
    async def action_stop(self) -> None:
        """Ask once, then stop the running step gracefully."""
        question = "Stop here? What is done stays done, and the next run goes on from there."
        self._asking = AskScreen(question, [("stop", "Stop"), ("on", "Go on")])
        answer = await self.app.push_screen_wait(self._asking)
        self._asking = None
        if answer != "stop":
            self._quit = False
        elif self.view.phase is Phase.RUNNING:
            self._stop()
        elif self._quit:  # it ended while the question was open
            self.leave()

    def leave(self) -> None:
        """Quit; while a step runs, ask, and wait until it has stopped."""
        phase = self.view.phase
        if phase is Phase.RUNNING:
            self._quit = True
            self.action_stop()
        elif phase is Phase.STOPPING:
            self._quit = True
        else:
            self.app.exit(self._exit_code())

    def terminate(self) -> None:
        """Leave without asking, as soon as the running step has stopped."""
        self._quit = self._told = True
        if self.view.phase is Phase.RUNNING:
            self._stop()
        else:
            self.leave()

    def _stop(self) -> None:
        self.view = replace(self.view, phase=Phase.STOPPING)
        self.workers.cancel_group(self, "run")

    def _exit_code(self) -> int:
        if self._told or self.view.phase is Phase.CANCELLED:
            return CancelledError.exit_code
        return self.view.error.exit_code if self.view.error else 0

    def watch_view(self, view: BuildView) -> None:
        """Show the state."""
        heading = {
            Phase.RUNNING: f"Building {one_line(self._plan.name)}",
            Phase.STOPPING: "Stopping …",
            Phase.READY: f"{one_line(self._plan.name)} is ready",
            Phase.FAILED: "A step failed",
            Phase.CANCELLED: "Stopped",
        }[view.phase]
        style = "$error" if view.phase is Phase.FAILED else ""
        self.query_one(".heading", Static).update(Content.assemble((heading, style)))
        self.query_one("#steps", Static).update(Content("\n").join(_step(step) for step in view.steps))
        self.query_one(ErrorPanel).show(view.error if view.phase is Phase.FAILED else None)
        self.query_one("#outcome", Static).update(_outcome(view, self._measured()))
        self._show_progress()
        self.refresh_bindings()

    def _show_progress(self) -> None:
        lines, phase = self.query_one(ProgressLines), self.view.phase
        lines.display = phase in (Phase.RUNNING, Phase.STOPPING)
        lines.show(self.view.progress, self._clock() - self.view.began, stopping=phase is Phase.STOPPING)


def _step(step: StepView) -> Content:
    mark, style = MARKS[step.state]
    state = {"waiting": "", "done": duration(step.seconds), "skipped": "done before"}.get(step.state, step.state)
    line = Content.assemble((f"{mark} ", style), (one_line(step.title), "bold" if step.state == "running" else ""))
    return Content.assemble(line, (f"  {state}", "$text-muted"))


def _outcome(view: BuildView, measured: str) -> Content:
    if view.phase is Phase.READY and view.endpoint is not None:
        where = f"{view.endpoint.http} (HTTP) and {view.endpoint.grpc} (gRPC)"
        took = f"Measured: {measured}.\n" if measured else ""
        return Content.assemble(
            ("✓ Triton answers on ", "bold $success"),
            (where, "bold"),
            f"\n{took}",
            "Press Enter to chat with your model.",
        )
    if view.phase is Phase.CANCELLED:
        return Content.assemble(("■ Stopped. ", "bold $warning"), "What is done stays done; r goes on from there.")
    if view.phase is Phase.FAILED:
        return Content("Mend the cause and press r: what is done is not done again.")
    return Content("")
