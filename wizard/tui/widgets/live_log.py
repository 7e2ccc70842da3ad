"""Live output: follows its end until the user scrolls up; can be searched, wrapped and copied."""

from __future__ import annotations

from bisect import bisect_left
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from wizard.kernel.language import mark, tr
from wizard.tui.event_messages import MAX_LINES
from wizard.tui.textual_private import set_virtual_size
from wizard.tui.views.log_text import LogText, Match, Row

LEAST_WIDTH = 8
SIDEWAYS = 8
"""Cells per step of ← and →."""


class LiveLog(ScrollView, can_focus=True):
    """The latest `MAX_LINES` lines.

    (Textual's own ``Log`` counts cells in a thread for each batch, lays out the screen each time, and can neither
    search nor wrap.)
    """

    ALLOW_SELECT = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {"live-log--match", "live-log--here", "live-log--cause"}
    DEFAULT_CSS = """
    LiveLog { overflow: scroll; scrollbar-size: 0 1; }
    LiveLog > .live-log--match { background: $warning 40%; color: $foreground; }
    LiveLog > .live-log--here { background: $warning; color: $background; text-style: bold; }
    LiveLog > .live-log--cause { background: $error 30%; color: $foreground; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(0, -1)", mark("Scroll"), key_display="↑↓←→", id="log.up"),
        Binding("down", "move(0, 1)", mark("Scroll"), show=False, id="log.down"),
        Binding("left", "move(-8, 0)", mark("Scroll"), show=False, id="log.left"),
        Binding("right", "move(8, 0)", mark("Scroll"), show=False, id="log.right"),
        Binding("home", "first", mark("First line"), show=False, id="log.first"),
        Binding("end", "follow", mark("Follow"), show=False, id="log.follow"),
    ]

    class Scrolled(Message):
        """The visible part, the matches, or whether the end is followed has changed."""

    follows: reactive[bool] = reactive(True, repaint=False)
    """Whether new lines scroll into view automatically; the title shows it."""

    def __init__(self) -> None:
        super().__init__(id="log", classes="reading")
        self._text = LogText(MAX_LINES)
        self._styles: dict[str, Style] = {}
        self.sought = ""
        """What is searched for."""
        self.here: Match | None = None
        """The match that was jumped to."""
        self._cause: int | None = None

    # -- lines ---------------------------------------------------------------------------------------------------------

    @property
    def lines(self) -> list[str]:
        """The lines in memory."""
        return self._text.lines

    @property
    def line_count(self) -> int:
        """Number of lines in memory."""
        return len(self._text.lines)

    @property
    def wraps(self) -> bool:
        """Whether long lines wrap."""
        return self._text.width is not None

    def write_lines(self, lines: tuple[str, ...] | list[str]) -> None:
        """Add a batch of lines."""
        before = len(self._text.matches)
        dropped = self._text.add(lines)
        self._measure()
        if self.follows and not self.is_vertical_scrollbar_grabbed:
            self._to_end()
        elif dropped:  # the visible part does not move, as long as it is in memory
            self.scroll_to(y=max(0, self.scroll_y - dropped), animate=False)
        if self.here is not None and self.here[0] < self._text.first:
            self.here = None
        self.refresh()
        if self.sought and (dropped or len(self._text.matches) != before):
            self.post_message(self.Scrolled())

    def write_line(self, line: str) -> None:
        """Add one line."""
        self.write_lines((line,))

    def clear(self) -> None:
        """Remove all lines."""
        self._text.clear()
        self.here = self._cause = None
        self.follows = True
        self._measure()
        self.scroll_to(0, 0, animate=False)
        self.refresh()
        self.post_message(self.Scrolled())

    def point_at(self, words: str) -> None:
        """Mark the last line that contains ``words`` as the cause, and scroll to it."""
        self._cause = self._text.last_with(words)
        if self._cause is not None:
            self._show_row(self._text.row_of(self._cause))
        self.refresh()

    def visible_text(self) -> str:
        """The visible lines, unwrapped."""
        top = round(self.scroll_y)
        return self._text.joined(top, top + self.size.height)

    # -- moving --------------------------------------------------------------------------------------------------------

    def action_move(self, columns: int, rows: int) -> None:
        """Scroll; at its end it follows the output again."""
        self.scroll_relative(x=columns, y=rows, animate=False)

    def action_first(self) -> None:
        """Go to the oldest line."""
        self.scroll_to(y=0, animate=False)

    def action_follow(self) -> None:
        """Go to the end and follow it."""
        self.follows = True
        self._to_end()

    def watch_follows(self) -> None:
        """Show it in the title."""
        self.relabel()
        self.post_message(self.Scrolled())

    def relabel(self) -> None:
        """Render the title in the current language."""
        follows = self.follows
        self.border_title = tr("Output · following") if follows else tr("Output · paused (press End to follow)")

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Update whether the end is visible."""
        super().watch_scroll_y(old_value, new_value)
        self.follows = new_value >= self.max_scroll_y

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap the lines again, and show the end again if it was visible before."""
        if self.wraps:
            self._text.wrap(self._width())
            self._measure()
        if self.follows:
            self.call_after_refresh(self._to_end)

    def toggle_wrap(self) -> None:
        """Toggle wrapping of long lines."""
        top = self._text.row(min(round(self.scroll_y), self._text.height - 1)) if self._text.height else None
        self._text.wrap(None if self.wraps else self._width())
        self._measure()
        self.scroll_to(x=0, animate=False)
        if self.follows:
            self._to_end()
        elif top is not None:
            self.scroll_to(y=self._text.row_of(top.line, top.start), animate=False)
        self.refresh()
        self.post_message(self.Scrolled())

    def _width(self) -> int:
        return max(self.scrollable_content_region.width, LEAST_WIDTH)

    def _measure(self) -> None:
        width = self._text.longest if self._text.width is None else self._text.width
        size = Size(width, self._text.height)
        if size != self.virtual_size:
            set_virtual_size(self, size)

    def _to_end(self) -> None:
        self.scroll_to(y=self.max_scroll_y, animate=False)

    def _show_row(self, row: int) -> None:
        top, height = round(self.scroll_y), self.size.height
        if not top <= row < top + height:
            self.scroll_to(y=max(0, row - height // 2), animate=False)

    # -- searching -----------------------------------------------------------------------------------------------------

    @property
    def match_counts(self) -> tuple[int, int]:
        """The number of the current match, counted from 1 (0: none), and the total."""
        matches = self._text.matches
        return bisect_left(matches, self.here) + 1 if self.here is not None else 0, len(matches)

    def seek(self, sought: str) -> None:
        """Search for ``sought`` and go to the match nearest to the visible part; at a match, stay in its line."""
        self.sought = sought
        self._text.seek(sought)
        top = round(self.scroll_y)
        if not sought or not self._text.height:
            self.here = None
        elif self.here is not None:
            self.here = self._text.beside(self.here[0], -1, 1)
        elif self.follows:
            self.here = self._text.beside(self._text.first + len(self._text.lines), 0, -1)
        else:
            line = self._text.row(min(top, self._text.height - 1)).line
            self.here = self._text.beside(line, -1, 1)
        self._jump()

    def seek_next(self, by: int) -> None:
        """Go to the next match, or with ``by`` < 0 to the previous one."""
        if self.here is None:
            self.seek(self.sought)
            return
        self.here = self._text.beside(*self.here[:2], by)
        self._jump()

    def _jump(self) -> None:
        if self.here is not None:
            self.follows = False  # the matching text stays visible
            row = self._text.row_of(*self.here[:2])
            self._show_row(row)
            self._show_columns(self._text.row(row), self.here)
        self.refresh()
        self.post_message(self.Scrolled())

    def _show_columns(self, row: Row, match: Match) -> None:
        """Scroll the cells of ``match`` into view."""
        text, width = self._text.text(row), self.size.width
        begin, end = (cell_len(text[: column - row.start]) for column in match[1:])
        if not self.scroll_x <= begin or end > self.scroll_x + width:
            self.scroll_to(x=max(0, end - width + SIDEWAYS) if end > width else 0, animate=False)

    # -- drawing -------------------------------------------------------------------------------------------------------

    def notify_style_update(self) -> None:
        """Colors may have changed."""
        super().notify_style_update()
        self._styles.clear()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text selected with the mouse."""
        text = "\n".join(self._text.text(self._text.row(at)) for at in range(self._text.height))
        return selection.extract(text), "\n"

    def selection_updated(self, _selection: Selection | None) -> None:
        """Show the selection."""
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the screen; their common style is looked up once."""
        self._styles[""] = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """A row of the screen."""
        scroll_x, scroll_y = self.scroll_offset
        width, base = self.size.width, self._styles.get("") or self.rich_style
        at = scroll_y + y
        if at >= self._text.height:
            return Strip.blank(width, base)
        row = self._text.row(at)
        strip = Strip(self._segments(row, at, base))
        return strip.crop_extend(scroll_x, scroll_x + width, base).apply_offsets(scroll_x, at)

    def _segments(self, row: Row, at: int, base: Style) -> list[Segment]:
        text = self._text.text(row)
        if row.line == self._cause:
            base += self._style("live-log--cause")
        spans = [
            (match[1] - row.start, match[2] - row.start, "live-log--here" if match == self.here else "live-log--match")
            for match in (self._text.in_row(row) if self.sought else ())
        ]
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(at)) is not None:
            spans = [(span[0], len(text) if span[1] == -1 else span[1], "screen--selection")]
        segments: list[Segment] = []
        done = 0
        for start, end, name in spans:
            begin = max(start, done)
            segments += [Segment(text[done:begin], base), Segment(text[begin:end], base + self._style(name))]
            done = max(end, done)
        return [segment for segment in (*segments, Segment(text[done:], base)) if segment.text]

    def _style(self, name: str) -> Style:
        if name not in self._styles:
            owner = self.screen if name.startswith("screen") else self
            self._styles[name] = owner.get_component_rich_style(name)
        return self._styles[name]
