"""The turns of a conversation of any length: only those near the visible lines are laid out.

The height of a turn that was never visible is estimated. When it becomes visible it is laid out, and the visible lines
do not move. Lines are drawn one at a time, so that scrolling costs only what the screen shows.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from rich.segment import Segment
from textual import events
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style

from wizard.chat.conversation import Message, models
from wizard.tui import textual_private
from wizard.tui.widgets.chrome import key_name
from wizard.tui.widgets.matches import Matches
from wizard.tui.widgets.thought import Thought
from wizard.tui.widgets.turn import BAR, Turn, say_key

FRAME_S = 1 / 15
"""Seconds between two frames of a streamed answer."""
DRAWN = 512
"""Maximum number of cached drawn lines."""
UNFOLD = "chat.unfold"
"""The binding that opens a thought."""
SHARE = 4
"""A slow frame is followed by a pause of this many times its duration."""


class Transcript(ScrollView, can_focus=False):
    """Follows the end until the user scrolls up, and again when the user is back at the end."""

    DEFAULT_CSS = """
    Transcript { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    """

    def __init__(self, *, id: str | None = None, beside: int = 0) -> None:
        """Prepare it; so many others are drawn ``beside`` it, which leaves each a part of the time."""
        super().__init__(id=id, classes="reading")
        self._sharing = 1 + beside
        self.turns: list[Turn] = []
        self._tops: list[int] = [0]
        """The first line of each turn, and behind the last the number of lines."""
        self._follows = True
        self._waits = False
        """A picture of what has come is due."""
        self._cost = 0.0
        """Seconds that the last one took."""
        self._measured: tuple[Turn, int, list[Content]] | None = None
        """The last turn, the width, and its lines there; None unless they were laid out with the last picture."""
        self._strips: LRUCache[int, tuple[Content, Strip]] = LRUCache(DRAWN)
        """Lines that were drawn lately, by where they are."""
        self._names = False
        self.detailed = False
        """Whether each turn has its author, time and measurements above it."""
        self._matches = Matches()

    # Messages

    def show(self, messages: Iterable[Message], model: str = "") -> None:
        """Show these messages instead, from their end; ``model`` answers next."""
        messages = tuple(messages)
        self._names = len({*models(messages), model} - {""}) > 1
        self.turns = [self.turn(each) for each in messages]
        self._follows = True
        self._say_key()
        self._measure()

    def turn(self, message: Message) -> Turn:
        """The turn that shows ``message``."""
        thought = Thought(message.thought, message.stats, complete=True)
        model = self.naming(message.model)
        turn = Turn(message.role, message.content, thought=thought, model=model, calls=message.calls)
        turn.message, turn.detailed = message, self.detailed
        return turn

    def detail(self, *, detailed: bool) -> None:
        """Show, or hide, author, time and measurements of each turn."""
        self.detailed = detailed
        for turn in self.turns:
            turn.detailed = detailed
            turn.refold()
        self._measure()

    def naming(self, model: str) -> str:
        """The name of ``model`` if turns say who answered: several models did, or will."""
        return model if self._names else ""

    def say(self, turn: Turn) -> Turn:
        """Add a turn, and show the end."""
        turn.detailed = self.detailed
        self.turns.append(turn)
        self._follows = True
        self._measure()
        return turn

    @property
    def current(self) -> Turn | None:
        """The turn that the user went to; None at the end."""
        return next((turn for turn in self.turns if turn.current), None)

    def drop(self, turn: Turn) -> None:
        """Remove ``turn``."""
        self.turns.remove(turn)
        self._measure()

    def relay(self) -> None:
        """Lay out the labels again, which have changed. The visible lines do not move."""
        for turn in self.turns:
            if turn.role != "assistant" or turn.thought.text or turn.calls.all or turn.detailed:
                turn.changed()
        self._measure()

    def grown(self) -> None:
        """The last turn has grown: show it with the next frame."""
        if not self._waits:
            self._waits = True
            self.set_timer(self._sharing * max(FRAME_S, SHARE * self._cost), self._draw)

    def complete(self) -> None:
        """The last turn is complete: show it now."""
        self._say_key()
        self._measure()

    def _say_key(self) -> None:
        say_key(self.turns, key_name(getattr(self.app, "chosen_keys", {}).get(UNFOLD, "f12").split(",")[0]))

    def _draw(self) -> None:
        if self._terminal_is_behind():
            self.set_timer(FRAME_S / 2, self._draw)  # a key that is pressed now must not queue behind frames
            return
        self._waits = False
        began = time.perf_counter()
        self._measure()
        self._cost = time.perf_counter() - began

    def _terminal_is_behind(self) -> bool:
        """Whether the terminal has not accepted the last frames yet; a page of colors is some 20 kB."""
        return textual_private.pictures_waiting(self.app) > 0

    # Position

    def top(self, turn: Turn) -> int:
        """The first line of ``turn``."""
        return self._tops[self.turns.index(turn)]

    def go(self, line: int) -> None:
        """Scroll ``line`` to the top, if there are enough lines below it."""
        self._follows = False
        self.scroll_to(y=line, animate=False)
        self._look()

    def go_to(self, turn: Turn, line: int = 0) -> None:
        """Scroll a line of ``turn`` to the top; everything from there on is laid out, so that it is exact."""
        turn.lines(self._width)
        self._measure()
        self.go(self.top(turn) + line)

    def step(self, by: int) -> None:
        """Go to the turn before or after; after the last comes the end."""
        here = self.current
        at = self.turns.index(here) if here else len(self.turns)
        self._point(None)
        at = max(at + by, 0)
        if at < len(self.turns):
            self._point(self.turns[at])
            self.go_to(self.turns[at])
        else:
            self._follows = True
        self._measure()

    @property
    def thoughts(self) -> list[Turn]:
        """Turns with thoughts: the one that the user went to, else all."""
        return [each for each in ([self.current] if self.current else self.turns) if each.thought.text]

    @property
    def foldable(self) -> list[Turn]:
        """Turns with thoughts or calls of tools: the one that the user went to, else all."""
        turns = [self.current] if self.current else self.turns
        return [each for each in turns if each.thought.text or each.calls.all]

    def unfold(self) -> None:
        """Open or fold thoughts and calls of the turn that the user went to, else the last ones; go to them."""
        self._unfold(self.foldable[-1])

    def on_click(self, event: events.Click) -> None:
        """A click on the line of a thought opens or folds it."""
        number = self.scroll_offset.y + event.y
        turn = self.turns[self._at(number)] if self.turns else None
        if turn and turn.unfolds_at(number - self.top(turn), self._width):
            self._unfold(turn)

    def _unfold(self, turn: Turn) -> None:
        turn.thought.opened = turn.calls.opened = not turn.thought.opened
        turn.refold()
        self._measure()
        if turn.thought.opened and turn.thought.complete:
            self.go_to(turn)

    def next_code(self) -> tuple[str, int, int] | None:
        """Mark a block of code and scroll to it: the last one, then each time the one before the marked one.

        Returns:
            The code, its number, counted from 1, and the total in the turn that the user went to, else in all turns;
                None if there is none.
        """
        turns = [self.current] if self.current else self.turns
        blocks = [(turn, number) for turn in turns for number in range(len(turn.code()))]
        if not blocks:
            return None
        marked = next((at for at, (turn, number) in enumerate(blocks) if turn.marked == number), 0)
        at = (marked - 1) % len(blocks)
        turn, number = blocks[at]
        for each in self.turns:
            if each.marked is not None:
                each.marked = None
                each.changed()
        turn.marked = number
        turn.changed()
        self.go_to(turn, turn.code_line(number, self._width))
        self._measure()
        return turn.code()[number], at + 1, len(blocks)

    def _point(self, turn: Turn | None) -> None:
        for each in self.turns:
            if each.current != (each is turn):
                each.current = each is turn
                each.changed()

    def seek(self, text: str, by: int) -> tuple[int, int]:
        """Go to the next match of ``text``, later (1) or earlier (-1), or to the last (0).

        Returns:
            The number of the match, counted from 1 (0: none), and the total.
        """
        if place := self._matches.go(self.turns, self._width, text, by):
            at, line = place
            self.go_to(self.turns[at], line - self.size.height // 2)
        self.refresh()
        return self._matches.position(self.turns, self._width)

    @property
    def _width(self) -> int:
        return max(self.scrollable_content_region.width, BAR + 1)

    def _measure(self) -> None:
        """Lay out the visible turns, and update the total height."""
        if not self.size:
            return
        width, page = self._width, self.size.height
        if self._follows:
            room = page + 1
            for turn in reversed(self.turns):
                room -= len(turn.lines(width))
                if room <= 0:
                    break
        self._tops = [0, *accumulate(turn.height(width) for turn in self.turns)]
        last = self.turns[-1] if self.turns else None
        self._measured = (last, width, last.lines(width)) if last and last.known else None
        self._say_height(width)
        if self._follows:
            self.scroll_end(animate=False, immediate=True, x_axis=False)
        self.refresh()

    def _say_height(self, width: int) -> None:
        """Update the scrollbar."""
        size = Size(width, self._tops[-1])
        if size != self.virtual_size:
            textual_private.set_virtual_size(self, size)

    def _look(self) -> None:
        """Lay out the turns that became visible; the visible lines do not move."""
        width, height = self._width, self.size.height
        top = self.scroll_offset.y
        at = self._at(top)
        moved = False
        shift = 0
        while at < len(self.turns) and self._tops[at] < top + shift + height:
            turn = self.turns[at]
            if not turn.known:
                before = turn.height(width)
                after = len(turn.lines(width))
                moved = True
                if self._tops[at] < top and after != before:
                    shift += after - before
                self._tops = [0, *accumulate(each.height(width) for each in self.turns)]
            at += 1
        if moved:
            self._say_height(width)
            if shift:
                self.scroll_to(y=max(top + shift, 0), animate=False, force=True)
            self.refresh()

    def _at(self, line: int) -> int:
        """The number of the turn that contains ``line``."""
        return min(max(bisect_right(self._tops, line) - 1, 0), max(len(self.turns) - 1, 0))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Update whether the end is visible; lay out the turns that became visible."""
        super().watch_scroll_y(old_value, new_value)
        self._follows = new_value >= self.max_scroll_y
        self._look()

    def on_resize(self, _event: events.Resize) -> None:
        """All lines have changed."""
        self._strips.clear()
        follows, turn, inside = self._follows, None, 0
        if not follows and self.turns:
            at = self._at(self.scroll_offset.y)
            turn, inside = self.turns[at], self.scroll_offset.y - self._tops[at]
        self._measure()
        if turn is not None:
            self.go_to(turn, inside)

    # Rendering

    def render_line(self, y: int) -> Strip:
        """A line, already wrapped; cached while it does not change or move."""
        number = self.scroll_offset.y + y
        if number >= self._tops[-1] or not self.turns:
            return Strip.blank(self.size.width, self.visual_style.rich_style)
        line = self.line(number)
        if self._matches.text or self.text_selection is not None:
            return self._drawn(self._with_selection(self._with_places(line, number), number), number)
        known = self._strips.get(number)
        if known is None or not known[0].is_same(line):
            known = self._strips[number] = (line, self._drawn(line, number))
        return known[1]

    def _drawn(self, line: Content, number: int) -> Strip:
        style, width = self.visual_style, self.size.width
        segments: list[Segment] = []
        x = 0
        for text, each in line.render(style, end="", parse_style=textual_private.style_parser(self)):
            # Offsets are for selection with the mouse; the bar is not part of the text.
            shown = each.rich_style_with_offset(x - BAR, number) if x >= BAR else each.rich_style
            segments.append(Segment(text, shown))
            x += len(text)
        return Strip(segments).adjust_cell_length(width, style.rich_style)

    def notify_style_update(self) -> None:
        """Colors may have changed."""
        super().notify_style_update()
        self._strips.clear()

    def _with_selection(self, line: Content, number: int) -> Content:
        """``line`` with the mouse selection."""
        selection = self.text_selection
        if selection is None or (span := selection.get_span(number)) is None:
            return line
        start, end = span
        selected = Style.from_styles(self.screen.get_component_styles("screen--selection"))
        return line.stylize(selected, start + BAR, len(line) if end == -1 else end + BAR)

    def _with_places(self, line: Content, number: int) -> Content:
        """``line`` with its matches highlighted, the current one most."""
        at, inside = self._matches.place or (len(self.turns), 0)
        return self._matches.marked(line, here=at < len(self.turns) and number == self._tops[at] + inside)

    def line(self, number: int) -> Content:
        """The line ``number``."""
        at = self._at(number)
        lines = self._lines(self.turns[at])
        inside = number - self._tops[at]
        return lines[inside] if inside < len(lines) else Content("")

    def _lines(self, turn: Turn) -> list[Content]:
        """Of a growing turn, those of the last picture: each repaint would lay out again what came since."""
        if self._measured and self._measured[:2] == (turn, self._width):
            return self._measured[2]
        return turn.lines(self._width)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text selected with the mouse, without bars."""
        first = selection.start.y if selection.start else 0
        last = selection.end.y if selection.end else self._tops[-1] - 1
        lines: list[str] = []
        for number in range(first, min(last, self._tops[-1] - 1) + 1):
            text = self.line(number).plain[BAR:]
            span = selection.get_span(number)
            start, end = span or (0, -1)
            lines.append(text[start:].rstrip() if end == -1 else text[start:end])
        return "\n".join(lines), "\n"

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002 - Textual's signature
        """Show the selection."""
        self.refresh()
