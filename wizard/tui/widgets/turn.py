"""A turn of a conversation as lines: laid out when visible, and while it grows only at its end."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from wizard.chat import report
from wizard.chat.conversation import Message, Role, Stats
from wizard.chat.image_references import shown
from wizard.chat.tools.called import Called
from wizard.kernel.language import tr
from wizard.kernel.text import one_line, plain
from wizard.tui.widgets.calls import Calls
from wizard.tui.widgets.markdown_growing import growing
from wizard.tui.widgets.markdown_lines import Block, blocks
from wizard.tui.widgets.thought import Thought

BAR = 2
"""Cells before each line: a bar in the color of the role."""
BARS: dict[Role, str] = {"user": "$secondary", "assistant": "$primary", "system": "$text-muted"}
LONGEST = 2_000
"""Characters of a question to show; pasted text may be a book."""
PARTS = 2
"""Displayed parts of a longer one: its beginning and its end, equally long."""


class Turn:
    """A message. `lines` is cached for a width.

    Attributes:
        role: The author's role.
        text: The complete text, as received.
        thought: What the model thought before it, folded unless `opened`.
        calls: The tools that it called before it, folded unless `opened`.
        marked: Number of the marked block of code; None if none is.
        current: Whether the keys for copying apply to it.
        message: The message that it shows, once it is complete.
        detailed: Whether the author, the time and the measurements stand above it.
    """

    def __init__(
        self,
        role: Role,
        text: str = "",
        *,
        grows: bool = False,
        thought: Thought | None = None,
        model: str = "",
        calls: tuple[Called, ...] = (),
    ) -> None:
        """With a ``model``, its name stands above the text."""
        self.role = role
        self._model = one_line(model)
        self.thought = thought or Thought()
        self.calls = Calls(calls)
        self.marked: int | None = None
        self.current = False
        self.message: Message | None = None
        self.detailed = False
        self._pieces = [text]
        self._width = 0
        self._lines: list[Content] | None = None
        self._blocks: list[Block] | None = None
        self._grows = grows
        self._open = ""
        """The end of a text that grows, from its last block on."""
        self._done: list[Block] = []
        self._closed: list[Content] = []
        """Lines of the blocks that grow no more."""

    @property
    def text(self) -> str:
        """The complete text."""
        if len(self._pieces) != 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def add(self, piece: str, thought: str = "", *, recast: bool = False) -> None:
        """Append text, as in `wizard.chat.chunk.Chunk`; the cached layout is discarded."""
        if recast:
            self.thought.add(self.text)
            self._pieces, self._open, self._done = [], "", []
        if recast or thought or not self.text:  # the lines before the text change
            self._closed = []
        self._pieces.append(piece)
        self._open += plain(piece)
        self.thought.add(thought)
        self._lines = None

    def call(self, called: Called) -> None:
        """The new state of a call; the text so far belongs to a new one."""
        if self.calls.take(called):
            self._pieces, self._open, self._done = [""], "", []
        self.refold()

    def finish(self, stats: Stats | None = None) -> None:
        """The text is complete: lay all of it out again."""
        self.thought.stats, self.thought.complete = stats, True
        self.calls.end()
        self._grows, self._open, self._done, self._closed = False, "", [], []
        self.changed()

    def changed(self) -> None:
        """Lay it out again when it is visible."""
        self._lines = self._blocks = None

    def refold(self) -> None:
        """The thought or the calls were opened or folded, or have changed."""
        self._closed, self._lines = [], None

    @property
    def known(self) -> bool:
        """Whether it is laid out."""
        return self._lines is not None

    def height(self, width: int) -> int:
        """Lines in ``width`` cells including the empty one before it; an estimate until it is laid out."""
        if self._lines is not None and width == self._width:
            return len(self._lines)
        shown = self.text if self.role == "assistant" else self.text[:LONGEST]
        return 1 + sum(1 + len(line) // max(width - BAR, 1) for line in shown.splitlines() or [""])

    def lines(self, width: int) -> list[Content]:
        """Its lines in ``width`` cells, including bar and empty line."""
        if self._lines is None or width != self._width:
            if width != self._width:
                self._closed, self._width = [], width
            self._lines = self._grown(width) if self._grows else self._laid_out(width)
        return self._lines

    def code(self) -> list[str]:
        """Its blocks of code, for copying."""
        return (
            [block.code for block in blocks(plain(self.text)) if block.kind == "code"]
            if self.role == "assistant"
            else []
        )

    def code_line(self, number: int, width: int) -> int:
        """The first line of code block ``number`` in ``width`` cells."""
        line, seen = self.head(width) - 1, 0
        for block in self._read():
            line += block.gap
            if block.kind == "code":
                if seen == number:
                    break
                seen += 1
            line += len(block.lines(width - BAR))
        return line

    def _read(self) -> list[Block]:
        if self._blocks is None:
            self._blocks = blocks(plain(self.text)) if self.role == "assistant" else [Block("text", self._user_text())]
        return self._blocks

    def _user_text(self) -> Content:
        text = shown(plain(self.text)).strip("\n")
        if len(text) > LONGEST:
            half = LONGEST // PARTS
            left = tr("… {count:,} more characters …", count=len(text) - 2 * half)
            return Content.assemble(text[:half], "\n", (left, "$text-muted"), "\n", text[-half:])
        return Content.assemble((tr("System: "), "bold"), text) if self.role == "system" else Content(text)

    def _laid_out(self, width: int) -> list[Content]:
        return [*self._head(width), *self._with_bar(self._read(), width, 0)]

    def head(self, width: int) -> int:
        """Number of its lines before the text."""
        return len(self._head(width))

    def _title(self, width: int) -> list[Content]:
        title = report.about(self.message) if self.detailed and self.message else self._model
        return Content.styled(title, "$text-muted").wrap(width - BAR) if title else []

    def _head(self, width: int) -> list[Content]:
        """The lines before the text: an empty one, the model's name or the details, the thought and the calls."""
        bar = Content.styled(self._mark, BARS[self.role])
        thought = self.thought.lines(width - BAR, answered=bool(self.text or self.calls.all))
        calls = self.calls.lines(width - BAR, answered=bool(self.text))
        return [Content(""), *(bar + line for line in (*self._title(width), *thought, *calls))]

    def unfolds_at(self, line: int, width: int) -> bool:
        """Whether ``line`` of it is the one that opens or folds the thought with a click."""
        named = len(self._title(width)) + 1
        return line == named < self.head(width)

    @property
    def _mark(self) -> str:
        return "┃ " if self.current else "▌ "

    def _grown(self, width: int) -> list[Content]:
        done, left, rest = growing(self._open, self._done[-1] if self._done else None)
        if not self._closed:
            self._closed = [*self._head(width), *self._with_bar(self._done, width, 0)]
        if done:
            self._closed += self._with_bar(done, width, len(self._done))
            self._done += done
            self._open = left
        return self._closed + self._with_bar(rest, width, len(self._done))

    def _with_bar(self, some: list[Block], width: int, before: int) -> list[Content]:
        """Lines of ``some`` blocks, with ``before`` blocks in front of them."""
        bar = Content.styled(self._mark, BARS[self.role])
        lines: list[Content] = []
        code = 0
        for at, block in enumerate(some, before):
            body = block.lines(width - BAR)
            if block.kind == "code":
                body = [line.stylize("reverse") for line in body[:1]] + body[1:] if code == self.marked else body
                code += 1
            lines += [bar + line for line in ([Content("")] if block.gap and at else []) + body]
        if self.role == "user":
            return [line.pad_right(max(width - line.cell_length, 0)).stylize_before("on $surface") for line in lines]
        return [line.stylize("$text-muted", BAR) for line in lines] if self.role == "system" else lines


def say_key(turns: Sequence[Turn], key: str) -> None:
    """Show the ``key`` that opens a thought beside the one that it opens, which is the last."""
    last = next((turn for turn in reversed(turns) if turn.thought.text), None)
    for turn in turns:
        if turn.thought.key != (shown := key if turn is last else ""):
            turn.thought.key = shown
            turn.refold()
