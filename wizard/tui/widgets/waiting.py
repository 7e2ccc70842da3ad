"""The messages that are sent when the current answer ends."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from wizard.kernel.language import ntr, tr
from wizard.kernel.text import one_line

MOST_SHOWN = 3
"""Messages that are shown; more are counted."""
LONGEST = 500
"""Characters of a message that can be visible on its line."""


class Waiting(Static):
    """A line for each waiting message, in the order in which they are sent."""

    DEFAULT_CSS = """
    Waiting { height: auto; padding: 0 2; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self) -> None:
        super().__init__(id="waiting")
        self.display = False
        self._texts: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The messages."""
        return self._texts

    @texts.setter
    def texts(self, texts: tuple[str, ...]) -> None:
        self._texts = texts
        self.display = bool(texts)
        self.relabel()

    def relabel(self) -> None:
        """Show the messages in the current language."""
        shown = self._texts[: MOST_SHOWN if len(self._texts) <= MOST_SHOWN else MOST_SHOWN - 1]
        lines = [Content.assemble((tr("next: "), "$accent"), one_line(text[:LONGEST])) for text in shown]
        if more := len(self._texts) - len(shown):
            lines.append(Content(ntr("and {count} more message", "and {count} more messages", more, count=more)))
        self.update(Content("\n").join(lines))

    def add(self, text: str) -> None:
        """Put a message at the end."""
        self.texts = (*self._texts, text)

    def take(self, place: int) -> str:
        """Remove and return the first (0) or the last (-1) message; there must be one."""
        texts = [*self._texts]
        text = texts.pop(place)
        self.texts = tuple(texts)
        return text
