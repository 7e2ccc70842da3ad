"""A widget that is as high as its lines; a change draws only the lines that are others now."""

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
    """What is shown depends on the width alone; `changed` says that it is something else now."""

    DEFAULT_CSS = "Lines { height: auto; }"

    def __init__(self) -> None:
        super().__init__()
        self._made: tuple[int, list[Content]] | None = None
        """The lines for a width."""

    @abstractmethod
    def lines(self, width: int) -> list[Content]:
        """The lines in ``width`` cells."""

    def changed(self) -> None:
        """Show what there is to show now."""
        width, height = self.size
        before, self._made = self._made, None
        now = self._lines(width)
        if before is None or before[0] != width or not len(before[1]) == len(now) == height:
            self.refresh(layout=len(now) != height)
        elif regions := [Region(0, y, width, 1) for y in range(height) if not before[1][y].is_same(now[y])]:
            self.refresh(*regions)

    def get_content_width(self, container: Size, _viewport: Size) -> int:
        """As wide as there is room."""
        return container.width

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        """As high as the lines."""
        return len(self._lines(width))

    def render(self) -> Content:
        """The lines."""
        return Content("\n").join(self._lines(self.size.width))

    def render_line(self, y: int) -> Strip:
        """The line alone: it is wrapped already, and Textual would wrap and draw all others with it."""
        lines = self._lines(self.size.width)
        if self.text_selection is not None or y >= len(lines):
            return super().render_line(y)
        segments: list[Segment] = []
        x = 0
        for text, style in lines[y].render(self.visual_style, end="", parse_style=style_parser(self)):
            segments.append(
                Segment(text, style.rich_style_with_offset(x, y))
            )  # offsets are for selecting with the mouse
            x += len(text)
        return Strip(segments)

    def _lines(self, width: int) -> list[Content]:
        if self._made is None or self._made[0] != width:
            self._made = (width, self.lines(width))
        return self._made[1]


class Text(Lines):
    """A text, wrapped."""

    def __init__(self) -> None:
        super().__init__()
        self._text = Content("")

    def show(self, text: Content) -> None:
        """Show this instead of the present text."""
        self._text = text
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """The text's lines."""
        return [piece for line in self._text.split("\n") for piece in line.wrap(max(width, LEAST_WIDTH))]
