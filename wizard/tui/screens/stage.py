"""What all stages have in common: the frame, going back, quitting, help."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget

from wizard.kernel.errors import CancelledError
from wizard.tui.widgets.chrome import JourneyBar, KeyBar
from wizard.tui.widgets.pane import Pane

R = TypeVar("R")


class StageScreen(Screen["R | None"], Generic[R]):
    """A stage of the journey. It is dismissed with what was decided, or with None to go back.

    A screen gets what it shows and the functions it may call; it knows neither the other screens nor their order.
    """

    STAGE: ClassVar[int] = -1
    """Index into `wizard.tui.widgets.chrome.STAGES`."""
    HELP: ClassVar[str] = ""
    """What this stage is for, in a few sentences, for the help screen."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back"),
        Binding("question_mark", "app.help", "Help", show=False),
        Binding("q", "app.quit", "Quit"),
    ]

    def framed(self, *widgets: Widget) -> ComposeResult:
        """The stage's own ``widgets`` in the frame that all stages have."""
        yield JourneyBar(self.STAGE)
        yield Pane(*widgets, id="stage", can_focus=False)
        yield KeyBar()

    def action_back(self) -> None:
        """Go back to the stage before."""
        self.dismiss(None)

    def action_scroll(self, pages: int) -> None:
        """Scroll what is to be read while a list or a field keeps the focus: its pane, and all in a low terminal."""
        for pane in self.query("#stage, .reading"):
            pane.scroll_relative(y=pages * max(1, pane.size.height - 1), animate=False)

    @property
    def hides_something(self) -> bool:
        """Whether there is more to read than is in sight."""
        return any(pane.max_scroll_y > 0 for pane in self.query("#stage, .reading"))

    def leave(self) -> None:
        """The user wants to quit; a stage that has something running asks first."""
        self.app.exit(0)

    def terminate(self) -> None:
        """The wizard was sent a signal: leave without asking, as the other doors do."""
        self.app.exit(CancelledError.exit_code)
