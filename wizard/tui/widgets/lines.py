"""A widget with the height of its lines; a change redraws only the changed lines."""

from __future__ import annotations

from abc import abstractmethod

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from wizard.tui.textual_private import style_parser

LEAST_WIDTH = 8


class Lines(Widget):
    """The content depends on the width alone; `changed` updates it."""

    DEFAULT_CSS = "Lines { height: auto; }"

    def __init__(self) -> None:
        super().__init__()
        self._made: tuple[int, list[Content]] | None = None
        """The lines for a width."""

    @abstractmethod
    def lines(self, width: int) -> list[Content]:
        """The lines in ``width`` cells."""

    def changed(self) -> None:
        """Update the content."""
        width, height = self.size
        before, self._made = self._made, None
        if not self.display:  # its height is 0, so each change would lay out the whole screen
            return
        now = self._lines(width)
        if before is None or before[0] != width or not len(before[1]) == len(now) == height:
            self.refresh(layout=len(now) != height)
        elif regions := [Region(0, y, width, 1) for y in range(height) if not before[1][y].is_same(now[y])]:
            self.refresh(*regions)

    def get_content_width(self, container: Size, _viewport: Size) -> int:
        """The available width."""
        return container.width

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        """The height of the lines."""
        return len(self._lines(width))

    def render(self) -> Content:
        """The lines."""
        return Content("\n").join(self._lines(self.size.width))

    def render_line(self, y: int) -> Strip:
        """Render a single line: it is wrapped already, and Textual would wrap and draw all others with it."""
        lines = self._lines(self.size.width)
        if self.text_selection is not None or y >= len(lines):
            return super().render_line(y)
        segments: list[Segment] = []
        x = 0
        for text, style in lines[y].render(self.visual_style, end="", parse_style=style_parser(self)):
            segments.append(
                Segment(text, style.rich_style_with_offset(x, y))
            )  # offsets are for selection with the mouse
            x += len(text)
        return Strip(segments)

    def _lines(self, width: int) -> list[Content]:
        if self._made is None or self._made[0] != width:
            self._made = (width, self.lines(width))
        return self._made[1]


class Text(Lines):
    """A wrapped text."""

    def __init__(self) -> None:
        super().__init__()
        self._text = Content("")

    def show(self, text: Content) -> None:
        """Show this text instead of the current one."""
        self._text = text
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """The text's lines."""
        return [piece for line in self._text.split("\n") for piece in line.wrap(max(width, LEAST_WIDTH))]
