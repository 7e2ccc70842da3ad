"""A few answers, all visible: select one with ← and →, or a click."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from wizard.kernel.language import mark

GAP = "   "
CHOSEN, OTHER = "● ", "○ "


class Options(Widget, can_focus=True):
    """The answers in a row, wrapped if needed; ``value`` is the selected one, empty if none is.

    Args:
        options: The options: value and text.
        value: The initial value.
    """

    DEFAULT_CSS = """
    Options { height: auto; padding: 0 1; background: $panel; }
    Options:focus { background: $primary 25%; }
    Options:disabled { color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "choose(-1)", mark("Choose"), id="options.previous", priority=True, key_display="←→"),
        Binding("right,space", "choose(1)", mark("Choose"), id="options.next", priority=True, show=False),
    ]
    value: reactive[str] = reactive("", init=False)

    class Changed(Message):
        """Another answer was selected."""

    def __init__(self, options: Sequence[tuple[str, str]], value: str, *, id: str) -> None:
        super().__init__(id=id)
        self._options = tuple(options)
        self.set_reactive(Options.value, value)

    def watch_value(self) -> None:
        """Notify the parent."""
        self.post_message(self.Changed())

    def action_choose(self, by: int) -> None:
        """Select the next or previous answer."""
        values = [value for value, _text in self._options]
        at = (values.index(self.value) if self.value in values else -1) + by
        if 0 <= at < len(values):
            self.value = values[at]

    def on_click(self, event: events.Click) -> None:
        """Select the clicked answer."""
        self.value = event.style.meta.get("option", self.value)

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        """The height that the answers need at this width."""
        return len(self._lines(width))

    def render(self) -> Content:
        """The answers; the selected one is marked."""
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> list[Content]:
        lines: list[Content] = []
        for value, text in self._options:
            chosen = value == self.value
            item = Content.assemble(
                (CHOSEN if chosen else OTHER, "$accent" if chosen else ""), (text, "bold" if chosen else "")
            ).stylize(Style.from_meta({"option": value}))
            if lines and lines[-1].cell_length + len(GAP) + item.cell_length <= width:
                lines[-1] = Content(GAP).join([lines[-1], item])
            else:
                lines.append(item)
        return lines
