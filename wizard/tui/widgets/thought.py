"""What a model thought before an answer, as lines: one when folded, its end while it grows, all of it when opened."""

from __future__ import annotations

from textual.content import Content

from wizard.chat.conversation import Stats
from wizard.chat.report import thought_line
from wizard.kernel.language import tr
from wizard.kernel.text import plain

TAIL = 6
"""Lines of a thought to show while it grows."""
OPENED_TAIL = 100
"""The same if it is opened; all of it is shown once it is complete."""


class Thought:
    """A thought; empty if there is none.

    Attributes:
        stats: Of the answer; None if it was stopped, or is not complete.
        complete: Whether it grows no more.
        opened: Whether all of it is shown.
        key: The name of the key that opens or folds it; empty if that opens another one.
    """

    def __init__(self, text: str = "", stats: Stats | None = None, *, complete: bool = False) -> None:
        self.stats = stats
        self.complete = complete
        self.opened = False
        self.key = ""
        self._pieces = [text]

    @property
    def text(self) -> str:
        """All of it, as received."""
        if len(self._pieces) != 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def add(self, piece: str) -> None:
        """Append text."""
        if piece:
            self._pieces.append(piece)

    def lines(self, width: int, *, answered: bool) -> list[Content]:
        """Its lines in ``width`` cells, with an empty one before an answer that has begun (``answered``); none without
        a thought.
        """
        if not self.text.strip():
            return []
        body: list[Content] = []
        if self.opened and (self.complete or answered):
            body = _wrapped(self.text, width)
        elif not (self.complete or answered):
            most = OPENED_TAIL if self.opened else TAIL
            body = _wrapped(self.text[-most * width :], width)[-most:]
        dim = [line.stylize("$text-muted") for line in [*self._title(answered=answered).wrap(width), *body]]
        return [*dim, Content("")] if answered else dim

    def _title(self, *, answered: bool) -> Content:
        if self.complete:
            words = thought_line(self.stats, answered=answered)
        else:
            words = tr("Thinking") if answered else tr("Thinking …")
        shown = self.opened or not (self.complete or answered)
        return Content(f"{'▾' if shown else '▸'} {words}{f' · {self.key}' if self.key and self.complete else ''}")


def _wrapped(text: str, width: int) -> list[Content]:
    lines = Content(plain(text).strip("\n")).split("\n", allow_blank=True)
    return [piece for line in lines for piece in line.wrap(width) or [Content("")]]
