"""The full-screen wizard: wiring only. The screens are in ``screens/``, their order is in ``flow.py``."""

from __future__ import annotations

import asyncio
import gc
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from wizard.kernel.errors import CancelledError
from wizard.kernel.paths import Workspace
from wizard.tui.flow import Flow
from wizard.tui.port import JourneyPort
from wizard.tui.screens.modal import AskScreen, ReaderScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.theme import WIZARD
from wizard.tui.widgets.chrome import JourneyBar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from wizard.plan.questions import Answers
    from wizard.serve.endpoint import Endpoint


class WizardApp(App[int]):
    """Door 1. Its result is the exit status.

    Args:
        workspace: Where servers are made and found.
        journey: The functions of `wizard.journey`, or others with the same names and meanings.
        answers: Answers given beforehand; the forms hold them, and a model that was named is looked at without asking.
        hardware: Plan for this machine instead of the present one (see `wizard.journey.probe`).
        offline: Ask no hub.
        clock: Seconds that only go forward.
    """

    TITLE = "triton-wizard"
    CSS_PATH = Path(__file__).with_name("wizard.tcss")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-medium"), (100, "-wide")]  # noqa: RUF012 - Textual declares it without ClassVar
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-tall")]  # noqa: RUF012 - the same
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help"),
        Binding("ctrl+q", "quit", "Quit", priority=True),
        Binding("ctrl+c", "interrupt", "Quit", priority=True, show=False),
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
    ) -> None:
        super().__init__()
        if journey is None:
            from wizard import journey as real

            journey = real
        self.workspace, self.journey = workspace, journey
        self.running: dict[str, Endpoint] = {}
        """Servers that are known to run, by name."""
        self.answers, self.hardware, self.offline, self.clock = answers or {}, hardware, offline, clock

    def compose(self) -> ComposeResult:
        """What is seen until the first screen comes."""
        yield JourneyBar(-1)
        yield Static("◌ Looking around …", classes="heading")

    def on_mount(self) -> None:
        """Put the colours on and begin to walk."""
        gc.freeze()  # what is loaded by now stays: looking through all of it delays a key by several frames
        self.register_theme(WIZARD)
        self.theme = WIZARD.name
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):  # a closed window must leave no step running
            loop.add_signal_handler(number, self._terminate)
        self._walk()

    @work
    async def _walk(self) -> None:
        await Flow(self, self.journey, self.workspace).walk()

    def get_key_display(self, binding: Binding) -> str:
        """Names of keys as they are printed on them: Esc, F1, ^R."""
        shown = super().get_key_display(binding)
        return shown.title() if len(shown) > 1 and not binding.key_display else shown

    async def action_quit(self) -> None:
        """Leave; the stage may ask first. Asked already, the answer under the cursor is taken."""
        if isinstance(self.screen, AskScreen):
            self.screen.action_accept()
            return
        stage = self._stage()
        if stage is None:
            self.exit(0)
        else:
            stage.leave()

    def _terminate(self) -> None:
        stage = self._stage()
        if stage is None:
            self.exit(CancelledError.exit_code)
        else:
            stage.terminate()

    def _stage(self) -> StageScreen[Any] | None:
        return next((one for one in reversed(self.screen_stack) if isinstance(one, StageScreen)), None)

    def exit(self, result: int | None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Leave, and name the servers that go on running."""
        if message is None and self.running:
            from wizard.tui.chat_view import still_running

            message = "\n".join(still_running(one, self.workspace) for one in self.running.values())
        super().exit(result, return_code, message)

    async def action_interrupt(self) -> None:
        """Ctrl+C: copy what is selected; if nothing is, leave."""
        selected = self.screen.get_selected_text() or getattr(self.focused, "selected_text", "")
        if selected:
            self.copy_to_clipboard(selected)
        else:
            await self.action_quit()

    def action_help(self) -> None:
        """Explain the present screen."""
        from wizard.tui.screens.help import help_screen

        if not isinstance(self.screen, ReaderScreen):
            self.push_screen(help_screen(self, self.screen))


def run_tui(
    workspace: Workspace, *, hardware: str | None = None, offline: bool = False, answers: Answers | None = None
) -> int:
    """Run the full-screen wizard and return the exit status."""
    app = WizardApp(workspace, answers=answers, hardware=hardware, offline=offline)
    result = app.run()
    return (app.return_code or 0) if result is None else result
