"""Stage 7, while the benchmark runs: its progress, what is known of each level, and the output of AIPerf."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

from wizard.bench.bench import LONG_S, Agree, BenchItem, Outlook, expected
from wizard.bench.load import Load
from wizard.bench.measured import Measured
from wizard.bench.report import Report
from wizard.kernel.errors import CancelledError, WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line, plain
from wizard.kernel.units import duration
from wizard.run.events import Event
from wizard.texts.benchmark import words
from wizard.tui import background
from wizard.tui.clipboard import copy
from wizard.tui.event_messages import Happened, LogLines, relay
from wizard.tui.screens.bench import long_question
from wizard.tui.screens.stage import StageScreen
from wizard.tui.views.bench import BenchView, folded
from wizard.tui.widgets.error import ErrorPanel, errors_shown
from wizard.tui.widgets.live_log import LiveLog
from wizard.tui.widgets.notes import Notes
from wizard.tui.widgets.progress import ProgressLines


class MeasureScreen(StageScreen[str]):
    """Dismissed with the folder of the report, or None if nothing was measured.

    Args:
        title: The server.
        start: Starts the benchmark; it asks the function that it gets if it takes long.
        folder: Where the report will be.
        kept: Whether the folder has a report with results, after the end; blocks.
        clock: Monotonic seconds.
    """

    STAGE = 6
    HELP = mark(
        "The benchmark is running. Every level of load is measured once before any is repeated, and the report is "
        "written after every run: Esc or Ctrl-C stops the benchmark and shows what was measured until then. If the "
        "server stops responding, the report is kept, too."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Show the report"), priority=True, key_display="⏎", id="measure.accept"),
        Binding("f", "follow", mark("Follow"), id="measure.follow"),
        Binding("w", "wrap", mark("Wrap"), id="measure.wrap"),
        Binding("c", "copy", mark("Copy"), id="measure.copy"),
        Binding("escape", "stop", mark("Stop"), id="measure.stop"),
        Binding("escape", "back", mark("Back"), id="measure.back"),
    ]
    view: reactive[BenchView] = reactive(BenchView())

    def __init__(
        self,
        title: str,
        start: Callable[[Agree], AsyncGenerator[BenchItem, None]],
        folder: Path,
        kept: Callable[[], bool],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._title, self._start, self._folder, self._kept = title, start, folder, kept
        self._clock = clock
        self.set_reactive(MeasureScreen.view, BenchView())
        self._status: int | None = None
        """The exit status, if the wizard ends after the benchmark has stopped."""

    def compose(self) -> ComposeResult:
        """Progress and results, and the output."""
        left = Vertical(ProgressLines(), Notes(), ErrorPanel(), Static(id="outcome"), id="left", classes="reading")
        output = Vertical(LiveLog(), id="output")
        yield from self.framed(
            Static(classes="heading", markup=False),
            Static(classes="subheading", markup=False),
            Container(left, output, classes="master-detail"),
        )

    def on_mount(self) -> None:
        """Begin."""
        self.query_one(LiveLog).focus()
        self.mutate_reactive(MeasureScreen.view)
        self.set_interval(1.0, self._show_progress)
        self._measure()

    @work(exclusive=True, group="measure")
    async def _measure(self) -> None:
        error = None
        try:
            await relay(self._events(), self._take)
        except WizardError as failed:
            error = failed
        finally:
            self.call_later(self._over, error)

    async def _events(self) -> AsyncGenerator[Event, None]:
        """Events of the runs; takes what was measured."""
        async with aclosing(self._start(self._agree)) as items:
            async for item in items:
                if isinstance(item, Measured):
                    self.view = folded(self.view, item, self._clock())
                elif not isinstance(item, Report):
                    yield item

    async def _agree(self, outlook: Outlook) -> Load | None:
        """The rest takes long: how to continue. If that was expected, the user has accepted it before."""
        before = expected(outlook.load)
        if before is not None and before.seconds > LONG_S:
            return outlook.load
        answer = await self.app.push_screen_wait(long_question(outlook))
        return {"all": outlook.load, "shorter": outlook.shorter}.get(answer or "")

    def _take(self, message: Message) -> None:
        if isinstance(message, LogLines):
            self.query_one(LiveLog).write_lines(message.lines)
        elif isinstance(message, Happened):
            self.view = folded(self.view, message.event, self._clock())

    async def _over(self, error: WizardError | None) -> None:
        """It has ended and AIPerf has stopped: show the report, or what went wrong."""
        kept = False
        with errors_shown(self.app):  # a full disk must not hide what went wrong first
            kept = await background.call(self._kept)
        if self._status is not None:
            self.app.exit(self._status)
        elif kept and error is None:
            self.dismiss(str(self._folder))
        else:
            self.view = replace(self.view, phase="failed" if error else "stopped", error=error, kept=kept)

    # -- keys ----------------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What applies to a benchmark that runs, or has ended."""
        over = self.view.phase in ("stopped", "failed")
        if action == "scroll":
            return self.hides_something
        applies = {"stop": self.view.phase == "running", "back": over, "accept": over and self.view.kept}
        return applies.get(action, True) and bool(super().check_action(action, parameters))

    def action_accept(self) -> None:
        """Show the partial report."""
        self.dismiss(str(self._folder))

    def action_stop(self) -> None:
        """Stop; what was measured is kept."""
        if self.view.phase == "running":
            self.view = replace(self.view, phase="stopping")
            self.workers.cancel_group(self, "measure")

    def action_follow(self) -> None:
        """Go to the end of the output and follow it."""
        self.query_one(LiveLog).action_follow()

    def action_wrap(self) -> None:
        """Toggle wrapping of long lines."""
        self.query_one(LiveLog).toggle_wrap()

    def action_copy(self) -> None:
        """Copy the selection, or the visible lines of the output."""
        text = self.get_selected_text() or self.query_one(LiveLog).visible_text()
        copy(self.app, text, tr("Copied"), instead=str(self._folder))

    def leave(self) -> None:
        """Ctrl+C stops a running benchmark, and leaves after it."""
        if self.view.phase in ("running", "stopping"):
            self.action_stop()
        else:
            super().leave()

    def terminate(self) -> None:
        """Stop AIPerf before the wizard ends."""
        if self.view.phase in ("running", "stopping"):
            self._status = CancelledError.exit_code
            self.action_stop()
        else:
            super().terminate()

    # -- showing -------------------------------------------------------------------------------------------------------

    def relabel(self) -> None:
        """Update all text to the current language; titles of steps change with the next one."""
        super().relabel()
        self.mutate_reactive(MeasureScreen.view)

    def watch_view(self, view: BenchView) -> None:
        """Show the state."""
        self.query_one(".heading", Static).update(self._heading())
        self.query_one(Notes).show((Content.assemble(("✓ ", "$success")), _result(each)) for each in view.measured)
        self.query_one(ErrorPanel).show(view.error)
        outcome = self.query_one("#outcome", Static)
        outcome.display = view.phase in ("stopped", "failed")
        kept = tr("What was measured is kept in {folder}. Press Enter to show it.", folder=self._folder)
        outcome.update(Content(plain(kept if view.kept else tr("Nothing was measured."))))
        self._show_progress()
        self.refresh_bindings()

    def _heading(self) -> str:
        name = one_line(self._title)
        return {
            "running": tr("Measuring {name}", name=name),
            "stopping": tr("Stopping …"),
            "stopped": tr("Stopped"),
            "failed": tr("The benchmark of {name} failed", name=name),
        }[self.view.phase]

    def _show_progress(self) -> None:
        view, now = self.view, self._clock()
        about = [tr("Step {number} of {count}", number=view.index, count=view.count), view.title] if view.count else []
        left = view.left(now) if view.phase == "running" else None
        about += [tr("about {time} left in total", time=duration(left))] if left is not None else []
        self.query_one(".subheading", Static).update(" · ".join(map(one_line, about)))
        lines = self.query_one(ProgressLines)
        lines.display = view.phase in ("running", "stopping")
        lines.show(view.progress_at(now), now - view.began if view.count else 0.0, stopping=view.phase == "stopping")


def _result(measured: Measured) -> Content:
    """What is known of a level of load."""
    ttft = words.number(measured.ttft_ms.p50.value) if measured.ttft_ms else words.unknown()
    text = tr(
        "{level}: {rate} tokens/s, {ttft} ms to the first token",
        level=words.level(measured.point),
        rate=words.brief(measured.tokens_per_s),
        ttft=ttft,
    )
    return Content(text)
