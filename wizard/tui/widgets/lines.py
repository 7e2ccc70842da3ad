"""A widget that is as high as its lines; it asks for a new layout only if there are more of them, or fewer."""

from __future__ import annotations

from abc import abstractmethod

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

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
        self._made = None
        self.refresh(layout=len(self._lines(self.size.width)) != self.size.height)

    def get_content_width(self, container: Size, _viewport: Size) -> int:
        """As wide as there is room."""
        return container.width

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        """As high as the lines."""
        return len(self._lines(width))

    def render(self) -> Content:
        """The lines."""
        return Content("\n").join(self._lines(self.size.width))

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
