"""Markdown as lines of styled text: parsed once into blocks, laid out again when the width changes.

HTML tags are shown verbatim, and a line break in the source is one on the screen. Text of an answer is never
interpreted as terminal markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from textual.content import Content, Span

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LEAST_WIDTH = 8
PIECE = 16
"""Lines of code that are highlighted together while more may follow."""
TAB = 8
LEAST_COLUMN = 8
"""Minimum cells of a table's column, unless it needs fewer."""
_LISTS = ("bullet_list_open", "ordered_list_open")
_INLINE = {"strong_open": "bold", "em_open": "italic", "s_open": "strike", "link_open": "underline"}
_LANGUAGE = re.compile(r"[\w+#.-]*")
Kind: TypeAlias = Literal["text", "heading", "code", "table", "rule"]


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading, a block of code, a table or a rule, with the prefixes of its lines.

    Attributes:
        kind: Its type.
        text: Text of a paragraph or a heading.
        first: Prefix of the first line: a list's marker, a quotation's bar.
        rest: Prefix of the other lines, with the same width.
        gap: Whether there is an empty line before it.
        code: Content of a block of code, for copying.
        language: Language of the code, as named in the answer.
        rows: Rows of a table, the header first.
        partial: Whether more may follow.
    """

    kind: Kind
    text: Content = field(default_factory=lambda: Content(""))
    first: Content = field(default_factory=lambda: Content(""))
    rest: Content = field(default_factory=lambda: Content(""))
    gap: bool = True
    code: str = ""
    language: str = ""
    rows: tuple[tuple[Content, ...], ...] = ()
    partial: bool = False

    def lines(self, width: int) -> list[Content]:
        """The block in ``width`` cells, without the gap."""
        room = max(width - self.rest.cell_length, LEAST_WIDTH)
        body = {"code": self._code, "table": self._table, "rule": self._rule}.get(self.kind, self._text)(room)
        marks = [self.first, *[self.rest] * (len(body) - 1)]
        return [mark + line if mark else line for mark, line in zip(marks, body, strict=True)]

    def _text(self, room: int) -> list[Content]:
        return [piece for line in self.text.split("\n", allow_blank=True) for piece in line.wrap(room)] or [Content("")]

    def _rule(self, room: int) -> list[Content]:
        return [Content.styled("─" * room, "$border-blurred")]

    def _code(self, room: int) -> list[Content]:
        lines = self.code.split("\n")
        if lines[-1] == "":
            lines.pop()
        size = PIECE if self.partial else max(len(lines), 1)
        pieces = ["\n".join(lines[at : at + size]) for at in range(0, len(lines), size)]
        shown = [line for piece in pieces for line in _coloured(piece, self.language, room - 2)]
        name = Content.styled((self.language[: room - 4] or "·").ljust(room - 2), "$text-muted")
        return [_of_code(name), *shown]

    def _table(self, room: int) -> list[Content]:
        count = max(map(len, self.rows))
        rows = [[*row, *[Content("")] * (count - len(row))] for row in self.rows]
        natural = [max(row[at].cell_length for row in rows) for at in range(count)]
        if sum(min(each, LEAST_COLUMN) for each in natural) > room - 3 * (count - 1) and len(rows) > 1:
            return _cards(rows, room)
        widths = _widths(natural, room - 3 * (count - 1))
        bar = Content.styled(" │ ", "$border-blurred")
        lines: list[Content] = []
        for index, row in enumerate(rows):
            cells = [cell.wrap(size) or [Content("")] for cell, size in zip(row, widths, strict=True)]
            for at in range(max(map(len, cells))):
                parts = [cell[at] if at < len(cell) else Content("") for cell in cells]
                padded = [part.pad_right(size - part.cell_length) for part, size in zip(parts, widths, strict=True)]
                line = bar.join(padded)
                lines.append(line.stylize("bold") if index == 0 else line)
            if index == 0:
                lines.append(Content.styled("─┼─".join("─" * size for size in widths), "$border-blurred"))
        return lines


def _cards(rows: list[list[Content]], room: int) -> list[Content]:
    """A table with too many columns for ``room`` cells: each row below the previous one, its cells labeled by the
    header.
    """
    head, *others = rows
    lines: list[Content] = []
    for row in others:
        lines += [Content.styled("─" * room, "$border-blurred")] if lines else []
        for name, cell in zip(head, row, strict=True):
            if cell:
                lines += Content.assemble(name.stylize("bold"), ": " if name else "", cell).wrap(room)
    return lines


def _widths(natural: list[int], room: int) -> list[int]:
    """Widths of columns in ``room`` cells: narrow ones keep their width, the others share the rest."""
    widths = [max(each, 1) for each in natural]
    while sum(widths) > room and max(widths) > 3:
        widths[widths.index(max(widths))] -= 1
    return widths


@lru_cache(maxsize=2048)
def _coloured(code: str, language: str, width: int) -> tuple[Content, ...]:
    """Lines of ``code``, highlighted for its ``language``, padded to ``width`` after a bar; long ones wrap."""
    from textual.highlight import highlight

    text = highlight(code, language=language or "text", tab_size=TAB) if code else Content("")
    lines = text.expand_tabs(TAB).split("\n", allow_blank=True)
    pieces = [piece for line in lines for piece in (line.fold(width) if line.cell_length > width else [line])]
    return tuple(_of_code(piece.pad_right(max(width - piece.cell_length, 0))) for piece in pieces)


def _of_code(line: Content) -> Content:
    """``line`` as part of a block of code: its bar and its background."""
    return (Content.styled("│ ", "$border-blurred") + line).stylize_before("on $surface")


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("gfm-like", {"html": False})


def parsed(text: str) -> list[Token]:
    """The tokens of ``text``."""
    return _parser().parse(text)


def blocks(text: str) -> list[Block]:
    """The blocks of a complete text."""
    return list(_Reader(parsed(text)).blocks())


def growing(text: str) -> tuple[list[Block], int, list[Block]]:
    """The blocks of a growing text: the complete ones, where the rest begins in it, and the rest's blocks."""
    tokens = parsed(text)
    starts = [index for index, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0 and token.map]
    if not starts:
        return [], 0, []
    last = starts[-1]
    line = (tokens[last].map or [0])[0]
    offset = sum(map(len, text.splitlines(keepends=True)[:line])) if line else 0
    rest = [replace(block, partial=True) for block in _Reader(tokens[last:]).blocks()]
    return list(_Reader(tokens[:last]).blocks()), offset, rest


class _Reader:
    """Converts Markdown tokens to blocks; tracks the line prefixes at each depth."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._marks: list[tuple[Content, Content]] = []
        """First and rest of each open list item and quotation."""
        self._numbers: list[int | None] = []
        """The next number of each open list; None for one with bullets."""
        self._rows: list[tuple[Content, ...]] = []
        self._row: list[Content] = []
        self._begins = False
        """A list that is in no other begins: there is an empty line before it."""

    def blocks(self) -> Iterator[Block]:
        """Convert them."""
        kind: Kind = "text"
        hidden = in_table = False
        for token in self._tokens:
            name = token.type
            if name in _LISTS or name in ("bullet_list_close", "ordered_list_close"):
                self._list(token)
            elif name in ("list_item_open", "blockquote_open", "list_item_close", "blockquote_close"):
                self._container(token)
            elif name in ("paragraph_open", "heading_open"):
                kind, hidden = "text" if name == "paragraph_open" else "heading", token.hidden
            elif name in ("table_open", "table_close", "tr_open", "tr_close"):
                in_table = name != "table_close"
                yield from self._table(token)
            elif name == "inline":
                text = inline(token.children or [])
                if in_table:
                    self._row.append(text)
                else:
                    yield self._block(kind, text, gap=not hidden)
            elif name in ("fence", "code_block"):
                match = _LANGUAGE.match(token.info.strip())
                yield self._block("code", code=token.content, language=match[0] if match else "")
            elif name == "hr":
                yield self._block("rule")

    def _list(self, token: Token) -> None:
        if token.nesting < 0:
            self._numbers.pop()
        else:
            self._numbers.append(int(token.attrs.get("start", 1)) if token.type == "ordered_list_open" else None)
            self._begins = self._begins or len(self._numbers) == 1

    def _container(self, token: Token) -> None:
        if token.nesting < 0:
            self._marks.pop()
        elif token.type == "blockquote_open":
            bar = Content.styled("▏ ", "$text-muted")
            self._marks.append((bar, bar))
        else:
            number = self._numbers[-1]
            mark = "• " if number is None else f"{number}. "
            if number is not None:
                self._numbers[-1] = number + 1
            self._marks.append((Content.styled(mark, "bold $accent"), Content(" " * len(mark))))

    def _table(self, token: Token) -> Iterator[Block]:
        if token.type == "tr_open":
            self._row = []
        elif token.type == "tr_close":
            self._rows.append(tuple(self._row))
        elif token.type == "table_open":
            self._rows = []
        elif self._rows:
            yield self._block("table", rows=tuple(self._rows))

    def _block(
        self,
        kind: Kind,
        text: Content | None = None,
        *,
        gap: bool = True,
        code: str = "",
        language: str = "",
        rows: tuple[tuple[Content, ...], ...] = (),
    ) -> Block:
        first = Content("").join([first for first, _rest in self._marks])
        rest = Content("").join([rest for _first, rest in self._marks])
        self._marks = [(after, after) for _first, after in self._marks]  # a marker is before the first block only
        gap, self._begins = gap or self._begins, False
        styled = (text or Content("")).stylize("bold $accent") if kind == "heading" else text or Content("")
        return Block(kind, styled, first, rest, gap, code, language, rows)


def inline(tokens: Sequence[Token]) -> Content:
    """Text with its emphasis, code and links; an address is shown if it differs from the text."""
    parts: list[str] = []
    spans: list[Span] = []
    opened: list[tuple[str, int, str]] = []
    at = 0

    def add(text: str) -> None:
        nonlocal at
        parts.append(text)
        at += len(text)

    for token in tokens:
        if token.type in _INLINE:
            opened.append((_INLINE[token.type], at, str(token.attrs.get("href", ""))))
        elif token.nesting < 0 and opened:
            style, start, address = opened.pop()
            spans.append(Span(start, at, style))
            if address and "".join(parts)[start:at] not in address:
                add(f" ({address})")
        elif token.type in ("softbreak", "hardbreak"):
            add("\n")
        elif token.type == "image":
            add(f"[{token.content}]({token.attrs.get('src', '')})")
        elif token.type == "code_inline":
            spans.append(Span(at, at + len(token.content), "$accent on $surface"))
            add(token.content)
        else:
            add(token.content)
    return Content("".join(parts), spans)
