"""The explanation of a stage or a step, below it: all of it if there is room, else its first sentence."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from wizard.catalog.explanations import Part
from wizard.kernel.text import one_line, plain
from wizard.tui.widgets.pane import Pane

ROOMY = Size(60, 30)
"""Minimum columns and rows of a terminal for the complete explanation below the stage."""
ROWS_FOR_ONE = 20
"""Minimum rows of a terminal for its first sentence."""
COLUMNS_FOR_TWO = 100
"""Columns from which on the tutorial's commands are shown next to the explanation."""


def roomy(size: Size) -> bool:
    """Whether the complete explanation fits below the stage in a terminal of this size."""
    return size.width >= ROOMY.width and size.height >= ROOMY.height


class Pinned(Static):
    """The pinned answers of a stage, above it."""

    DEFAULT_CSS = """
    Pinned { height: auto; padding: 0 2; background: $panel; color: $warning; }
    """

    def on_resize(self) -> None:
        """In a low terminal it is hidden."""
        low = self.app.size.height < ROWS_FOR_ONE
        self.styles.max_height = 1 if low else 3
        self.styles.text_wrap, self.styles.text_overflow = ("nowrap", "ellipsis") if low else ("wrap", "fold")


class ExplanationPanel(Pane):
    """Shown and filled by the stage; it never takes the focus and scrolls with the other details."""

    DEFAULT_CSS = """
    ExplanationPanel {
        display: none; layout: vertical; height: auto; max-height: 36%; padding: 0 2;
        border-top: solid $border-blurred; border-title-color: $accent;
    }
    ExplanationPanel.-brief > .said { max-height: 2; }
    ExplanationPanel > Static { height: auto; width: 1fr; }
    ExplanationPanel > .typed { margin: 0; color: $text-muted; }
    ExplanationPanel.-beside { layout: horizontal; }
    ExplanationPanel.-beside > .typed { margin: 0 0 0 4; }
    """

    def __init__(self) -> None:
        super().__init__(classes="reading", can_focus=False)
        self._shown: tuple[tuple[Part, ...], Size, str] | None = None

    def compose(self) -> ComposeResult:
        """The explanation, and the tutorial's commands."""
        yield Static(classes="said")
        yield Static(classes="typed")

    def show(self, explanation: Sequence[Part], *, title: str, brief: bool = True) -> None:
        """Show ``explanation`` if the terminal has room for all of it, or for its first sentence if ``brief``."""
        size = self.app.size
        if self._shown == (tuple(explanation), size, title):
            return  # a build updates its progress many times a second; the scroll position is kept
        self._shown = tuple(explanation), size, title
        full = roomy(size)
        self.display = bool(explanation) and (full or (brief and size.height >= ROWS_FOR_ONE))
        self.set_class(not full, "-brief")
        self.border_title = Content(title)
        parts = [part for part in explanation if not part.commands][: None if full else 1]
        typed = [part for part in explanation if part.commands] if full else []
        self.query_one(".said", Static).update(Content("\n").join(map(_paragraph, parts)))
        commands = self.query_one(".typed", Static)
        commands.display = bool(typed)
        commands.update(Content("\n").join(map(_commands, typed)))
        self.scroll_home(animate=False)

    def on_resize(self, event: events.Resize) -> None:
        """Side by side if the panel is wide."""
        self.set_class(event.size.width >= COLUMNS_FOR_TWO, "-beside")


def _paragraph(part: Part) -> Content:
    return Content.assemble((part.heading, "bold $accent"), "  ", one_line(part.text))


def _commands(part: Part) -> Content:
    return Content.assemble((part.heading, "bold $accent"), "\n", plain(part.text))
