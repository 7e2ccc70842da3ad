"""The last fence before the terminal: whatever a screen draws has no escape sequence but Textual's own.

Screens sanitize what others wrote (`wizard.kernel.text.plain`), which also removes the rest of a sequence; this filter
is for the place that forgot to.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter

from wizard.kernel.text import inert


class Inert(LineFilter):
    """Removes control characters of lines."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's
        """``segments`` as they may be drawn."""
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [Segment(inert(segment.text), segment.style, segment.control) for segment in segments]


_INERT = Inert()


class InertApp(App[int]):
    """An app that draws nothing else."""

    def get_line_filters(self) -> list[LineFilter]:
        """Textual's, and this one."""
        return [*super().get_line_filters(), _INERT]
