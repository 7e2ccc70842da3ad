"""The full-screen wizard: wiring only. The screens are in ``screens/``, their order is in ``flow.py``."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.command import CommandPalette, Provider
from textual.screen import ModalScreen

from wizard.flow.port import JourneyPort
from wizard.kernel import clipboard, language
from wizard.kernel.errors import CancelledError, WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.paths import Workspace
from wizard.kernel.settings import THEME, Settings, change, load
from wizard.tui import garbage_collection, suspending, textual_private
from wizard.tui.chat_tools import ChatTools
from wizard.tui.flow import Flow
from wizard.tui.guide import Guide
from wizard.tui.inert import InertApp
from wizard.tui.screens.modal import AskScreen, ReaderScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.theme import THEMES
from wizard.tui.widgets.chrome import JourneyBar, Speaks, key_name

LONGEST_S = 0.5
"""Maximum seconds that a key waits for text typed before it."""
ALONE_S = 0.3
"""Seconds without another key after which a letter is a key, and not the beginning of a typed word."""

if TYPE_CHECKING:
    from rich.console import RenderableType
    from textual.driver import Driver
    from textual.timer import Timer
    from textual.worker import Worker

    from wizard.bench.opened import Opened
    from wizard.catalog.workshops import Workshop
    from wizard.plan.question import Answers
    from wizard.serve.endpoint import Endpoint
    from wizard.tui.opening import Opening
    from wizard.tui.run import Run


def _commands() -> type[Provider]:
    from wizard.tui.palette import Commands

    return Commands


class WizardApp(InertApp):
    """Interface 1: full screen. Its result is the exit status.

    Args:
        workspace: The workspace of the servers.
        journey: The functions of `wizard.journey`, or others with the same names and meanings.
        answers: Answers given in advance; the forms contain them, and a named model is inspected without a question.
        hardware: Plan for this machine instead of the current one (see `wizard.journey.probe`).
        offline: Never access the Hub.
        clock: Monotonic seconds.
        workshop: The facilitator's workshop.
        explain: Whether every stage shows its explanation.
        opening: A chat to begin with; None begins with the welcome.
        report: A report to show instead of the workflow.
    """

    TITLE = "triton-wizard"
    COMMANDS = {_commands}  # noqa: RUF012 - Textual declares it without ClassVar
    CSS_PATH = Path(__file__).with_name("wizard.tcss")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-medium"), (100, "-wide")]  # noqa: RUF012 - Textual declares it without ClassVar
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - the same
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", mark("Help"), id="app.help", priority=True),
        Binding("f2", "settings", mark("Settings"), id="app.settings", priority=True),
        Binding("ctrl+p", "command_palette", mark("Commands"), id="app.commands", priority=True),
        Binding("ctrl+q", "quit", mark("Quit"), id="app.quit", priority=True),
        Binding("ctrl+z", "suspend_process", mark("Suspend"), id="app.suspend", priority=True, show=False),
        Binding("ctrl+c", "interrupt", mark("Copy the selection, or quit"), id="app.copy", priority=True, show=False),
    ]

    def __init__(
        self,
        workspace: Workspace,
        *,
        journey: JourneyPort | None = None,
        answers: Answers | None = None,
        hardware: str | None = None,
        offline: bool = False,
        clock: Callable[[], float] = time.monotonic,
        workshop: Workshop | None = None,
        explain: bool = False,
        opening: Opening | None = None,
        report: Opened | None = None,
    ) -> None:
        if not os.environ.get("NO_COLOR"):
            os.environ.pop("NO_COLOR", None)  # empty means unset (no-color.org), but Textual would treat it as set
        textual_private.draw_often()
        super().__init__()
        if journey is None:
            from wizard import journey as real

            journey = real
        self.workspace, self.journey, self._opening, self._report = workspace, journey, opening, report
        self.tools = ChatTools(self, opening)
        self.running: dict[str, Endpoint] = {}
        """Servers that are known to run, by name."""
        self.runs: dict[str, Run] = {}
        """Plans that are being carried out, on the screen or in the background, by the server's name."""
        self._told_to_end = False
        """Whether a signal told the wizard to exit; if so, it asks nothing."""
        self.leaving = threading.Event()
        """Set when builds continue although the wizard exits: its window was closed, or the user wants that."""
        self.answers, self.hardware, self.offline, self.clock = answers or {}, hardware, offline, clock
        self.chosen_keys: dict[str, str] = {}
        """Id of a binding → the keys that the user has put in its place."""
        self._tmux = asyncio.Lock()
        self._quits: Timer | None = None
        self._damaged: WizardError | None = None
        self.settings = Settings()
        """What the user likes; changed with `change_settings` only."""
        try:
            self.settings = load()
        except WizardError as error:
            self._damaged = error
        self.guide = Guide(workshop, shown=explain or self.settings.explain)
        """What all stages teach, and the workshop."""

    def get_driver_class(self) -> type[Driver]:
        """The driver for this platform's terminal, or the one in ``TEXTUAL_DRIVER``."""
        driver = super().get_driver_class()
        if driver.__name__ != "LinuxDriver":
            return driver
        from wizard.tui import terminal_driver

        return terminal_driver.Driver

    def compose(self) -> ComposeResult:
        """The content until the first screen appears."""
        yield JourneyBar(-1)

    def on_mount(self) -> None:
        """Apply the theme and start the flow."""
        gc.freeze()  # freeze loaded objects: scanning all of them delays a key by several frames
        self.set_interval(garbage_collection.EVERY_S, garbage_collection.collect_all)
        for theme in THEMES:
            self.register_theme(theme)
        self._apply()
        self.set_keymap(self.settings.keys)
        if self._damaged is not None:
            self.report_error(self._damaged)
        if self.settings.keys:
            self.call_after_refresh(self._take_keys, report=True)  # after the first frame: it imports all screens
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._terminate, number)
        self._walk()

    @work
    async def _walk(self) -> None:
        if self._report is not None:
            await self._read(self._report)
            return
        flow, opening = Flow(self, self.journey, self.workspace), self._opening
        await (flow.walk(opening.state(flow.fresh()), opening.kept) if opening else flow.walk())

    async def _read(self, opened: Opened) -> None:
        """Show a report, and leave after it."""
        from wizard.tui.voting import report_screen

        await self.push_screen_wait(report_screen(self, opened))
        self.exit(0)

    def change_settings(self, **changes: Any) -> None:
        """Change fields of `Settings`, now and for the next runs; reports if they cannot be saved."""
        try:
            self.settings, aside = change(**changes)
        except WizardError as error:
            self.settings = replace(self.settings, **changes)
            self.report_error(error)
        else:
            if aside is not None:
                text = tr("Could not read your settings. The old file was renamed to {path}.", path=aside)
                self.notify(text, severity="warning", markup=False)
        self.guide.shown = changes.get("explain", self.guide.shown)
        if "language" in changes:
            language.use(self.settings.language or language.preferred())
            self._relabel()
        self._apply()
        self._take_keys()

    def _relabel(self) -> None:
        """Update all text on the screen, and on the stage below a window, to the current language."""
        for run in self.runs.values():
            run.relabel()
        for screen in self.screen_stack:
            for node in screen.walk_children(with_self=True):
                if isinstance(node, Speaks):
                    node.relabel()

    def _apply(self) -> None:
        """Apply the theme from the settings; the language was set before, possibly by a flag."""
        known = self.settings.theme in self.available_themes
        self.theme = self.settings.theme if known else THEME
        if not known:
            text = tr("Unknown theme: {name}. Using the default theme.", name=self.settings.theme)
            self.notify(text, severity="warning", markup=False)

    def _take_keys(self, *, report: bool = False) -> None:
        """Apply the valid keys of the settings, and ``report`` the others."""
        from wizard.tui.keys import usable

        good, problems = usable(self.settings.keys) if self.settings.keys else ({}, [])
        self.chosen_keys = good
        self.set_keymap(good)
        for problem in problems if report else ():
            self.notify(problem, severity="warning", markup=False)

    def report_error(self, error: WizardError) -> None:
        """Report an error with which the workflow can continue."""
        self.notify(f"{error.what}\n{error.todo}", title=error.code, severity="warning", markup=False)

    def beside(self, work: Coroutine[Any, Any, None]) -> Worker[None]:
        """Run ``work`` in the background."""
        return self.run_worker(work, group="beside")

    def watches(self, run: Run) -> bool:
        """Whether a screen shows ``run``."""
        return any(getattr(screen, "run", None) is run for screen in self.screen_stack)

    @on(events.DeliveryComplete)
    def _saved(self, event: events.DeliveryComplete) -> None:
        from wizard.tui.palette import PICTURE

        if event.name == PICTURE:
            text = tr("Saved as {path}", path=event.path) if event.path else tr("Saved")
            self.notify(text, markup=False)

    @on(events.DeliveryFailed)
    def _not_saved(self, event: events.DeliveryFailed) -> None:
        from wizard.kernel.reasons import unreadable
        from wizard.tui.palette import PICTURE

        if event.name == PICTURE:
            reason = unreadable(event.exception) if isinstance(event.exception, Exception) else event.exception
            self.notify(tr("Cannot save the screenshot: {reason}", reason=reason), severity="error", markup=False)

    async def on_event(self, event: events.Event) -> None:
        """Text typed before a key is processed before it, however fast it was typed."""
        if isinstance(event, events.Key) and self._quits is not None:
            self._quits.stop()
            self._quits = None
        if isinstance(event, events.Key) and not (event.is_forwarded or event.is_printable):
            await self._typed()
        await super().on_event(event)

    async def _typed(self) -> None:
        """Wait until the focused field or list, and its ancestors up to the screen, have processed the typed text.

        Textual queues letters and arrows for the widget, but handles keys with priority at once: Enter would overtake
        them.
        """
        from textual.widgets import OptionList

        field = self.focused
        if field is None or not (field.check_consume_key("a", "a") or isinstance(field, OptionList)):
            return
        for node in field.ancestors_with_self:
            if node is not self:
                done = asyncio.Event()
                if node.call_later(done.set):
                    with suppress(asyncio.TimeoutError):  # one that waits for this very key must not wait forever
                        await asyncio.wait_for(done.wait(), LONGEST_S)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A window that waits for a key gets every key, including those for settings and for leaving."""
        if action == "suspend_process" and not suspending.possible(self):
            return False
        return not getattr(self.screen, "takes_every_key", False) and super().check_action(action, parameters)

    def action_suspend_process(self) -> None:
        """Give the terminal back to the shell until ``fg``."""
        suspending.suspend(self)

    def get_key_display(self, binding: Binding) -> str:
        """Printed names of keys: Esc, F1, ^R."""
        return binding.key_display or key_name(binding.key)

    async def action_quit(self) -> None:
        """Leave; the stage may ask first. If that question is already open, this answers it."""
        if isinstance(self.screen, AskScreen) and self.screen.leaves:
            self.screen.dismiss(self.screen.leaves)
            return
        stage = self._stage()
        if stage is None:
            self.exit(0)
        else:
            stage.leave()

    def action_quit_alone(self) -> None:
        """Leave if no other key follows at once: a sentence that is typed where no field is must not leave."""
        self._quits = self.set_timer(ALONE_S, self.action_quit)

    def _terminate(self, number: int) -> None:
        self._told_to_end = True
        if number == signal.SIGHUP:  # the window, or the browser's tab, was closed
            self.leaving.set()
        stage = self._stage()
        if stage is None:
            self.exit(CancelledError.exit_code)
        else:
            stage.terminate()

    def _stage(self) -> StageScreen[Any] | None:
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, StageScreen)), None)

    def exit(self, result: int | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Leave, and print what keeps running: servers, and builds that the user does not want to stop first."""
        builds = [run.plan.name for run in self.runs.values() if run.under_way]
        if builds and not self.leaving.is_set():
            self._stop_first()
            return
        if message is None and (self.running or builds):
            from wizard.tui.stopping import what_continues

            message = what_continues(self, builds) or None
        super().exit(result, return_code, message)

    @work(exclusive=True, group="leave")
    async def _stop_first(self) -> None:
        from wizard.tui.stopping import stopped

        under_way = [run for run in self.runs.values() if run.under_way]
        status = await stopped(self, under_way, self.leaving, ask=not self._told_to_end)
        if status is not None:
            self.exit(status)

    async def action_interrupt(self) -> None:
        """Ctrl+C: copy the selection; without one, leave."""
        selected = self.screen.get_selected_text() or getattr(self.focused, "selected_text", "")
        if selected:
            self.copy_to_clipboard(selected)
        else:
            await self.action_quit()

    def copy_to_clipboard(self, text: str) -> None:
        """Put ``text`` into the clipboard of the terminal, or of the browser."""
        super().copy_to_clipboard(text)
        if clipboard.in_tmux() and not self.is_web:
            self._give_tmux(text)

    @work(group="clipboard")
    async def _give_tmux(self, text: str) -> None:
        from wizard.tui import background

        async with self._tmux:  # the last copied text wins
            await background.call(partial(clipboard.tmux_takes, text))

    def action_help(self) -> None:
        """Explain the current screen."""
        from wizard.tui.screens.help import help_screen

        if not isinstance(self.screen, (ReaderScreen, CommandPalette)):
            self.push_screen(help_screen(self.screen))

    def action_doctor(self) -> None:
        """Check this machine for problems; over a stage, not over a window."""
        from wizard.tui.screens.doctor import DoctorScreen

        if not isinstance(self.screen, ModalScreen):
            self.push_screen(DoctorScreen(partial(self.journey.doctor, self.workspace, offline=self.offline)))

    def action_settings(self) -> None:
        """Language, theme, keys; over a stage, not over a window."""
        from wizard.tui.screens.settings import SettingsScreen

        if not isinstance(self.screen, ModalScreen):
            self.push_screen(SettingsScreen(lambda: self.settings, self.change_settings, [*self.available_themes]))

    def action_command_palette(self) -> None:
        """Search everything that can be done here."""
        if not isinstance(self.screen, ModalScreen):
            self.push_screen(CommandPalette(id="--command-palette", placeholder=tr("Search for a command")))
