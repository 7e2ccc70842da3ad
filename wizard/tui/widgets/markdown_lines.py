"""Markdown as lines of styled text: parsed once into blocks, laid out again when the width changes.

HTML tags are shown verbatim, except line breaks, and a line break in the source is one on the screen. Text of an answer
is never interpreted as terminal markup, and no character that Markdown decodes (``&#x202e;``) reaches the terminal
unsanitized.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias, cast
from urllib.parse import unquote

from rich.cells import cell_len
from textual.content import Content, Span
from textual.style import Style

from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line, plain
from wizard.tui.formula import readable
from wizard.tui.formula_parts import script
from wizard.tui.widgets.markdown_rules import GROWS, parsed
from wizard.tui.widgets.markdown_table import Align, natural, table, wrapped

if TYPE_CHECKING:
    from markdown_it.token import Token

LEAST_WIDTH = 8
MEASURE = 96
"""Maximum cells of a line of prose. Code, tables and formulas may be wider."""
PIECE = 16
"""Lines of code that are highlighted together while more may follow."""
TAB = 8
INDENT = 2
"""Cells before a formula of its own line."""
_LISTS = ("bullet_list_open", "ordered_list_open")
_INLINE = {"strong_open": "bold", "em_open": "italic", "s_open": "strike", "link_open": "underline"}
_LANGUAGE = re.compile(r"[\w+#.-]*")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}
_BULLETS = "•◦▪"
_HEADINGS = {"h1": "bold underline $accent", "h2": "bold $accent"} | dict.fromkeys(("h3", "h4", "h5", "h6"), "bold")
_CODE = "$accent on $surface"
_CONTAINERS = {f"{name}_{end}" for name in ("list_item", "blockquote", "note") for end in ("open", "close")}
_SAFE = re.compile(r"(?:https?://|mailto:)[!-~]+")
"""Addresses that the terminal may open: printable ASCII."""
DIAGRAMS = {"mermaid", "dot", "graphviz", "plantuml", "d2"}
"""Languages of diagrams, which a terminal cannot draw."""
_DIAGRAM = mark("diagram, copy it with ^B")
Kind: TypeAlias = Literal["text", "heading", "code", "table", "rule", "formula"]


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading, a block of code, a table, a rule or a formula, with the prefixes of its lines.

    Attributes:
        kind: Its type.
        text: Text of a paragraph or a heading.
        first: Prefix of the first line: a list's marker, a quotation's bar.
        rest: Prefix of the other lines, with the same width.
        gap: Whether there is an empty line before it.
        code: Content of a block of code, for copying; LaTeX of a formula.
        language: Language of the code, as named in the answer.
        rows: Rows of a table, the header first.
        aligns: Alignments of its columns.
        least: Minimum widths of its columns: they continue a table whose rows are in a block before it.
        partial: Whether more may follow.
        open: Whether it is a formula without its end.
    """

    kind: Kind
    text: Content = field(default_factory=lambda: Content(""))
    first: Content = field(default_factory=lambda: Content(""))
    rest: Content = field(default_factory=lambda: Content(""))
    gap: bool = True
    code: str = ""
    language: str = ""
    rows: tuple[tuple[Content, ...], ...] = ()
    aligns: tuple[Align, ...] = ()
    least: tuple[int, ...] = ()
    partial: bool = False
    open: bool = False

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths that a table's columns need."""
        return natural(self.rows, self.least)

    def lines(self, width: int) -> list[Content]:
        """The block in ``width`` cells, without the gap."""
        room = max(width - self.rest.cell_length, LEAST_WIDTH)
        prose = max(min(width, MEASURE) - self.rest.cell_length, LEAST_WIDTH)
        match self.kind:
            case "code":
                body = self._code(room, prose)
            case "table":
                body = table(self.rows, self.aligns, room, least=self.least)
            case "formula":
                body = self._formula(room)
            case "rule":
                body = [Content.styled("─" * prose, "$border-blurred")]
            case _:
                body = wrapped(self.text, prose)
        marks = [self.first, *[self.rest] * (len(body) - 1)]
        return [mark + line if mark else line for mark, line in zip(marks, body, strict=True)]

    def _formula(self, room: int) -> list[Content]:
        """On several lines if they fit; else on one, which wraps."""
        if self.open:
            return wrapped(Content.styled(self.code, "$text-muted"), room)
        lines = [Content(" " * INDENT + line) for line in readable(self.code).split("\n")]
        if max(line.cell_length for line in lines) <= room:
            return lines
        return wrapped(Content(readable(self.code, flat=True)), room)

    def _code(self, room: int, prose: int) -> list[Content]:
        lines = self.code.split("\n")
        if lines[-1] == "":
            lines.pop()
        if max((cell_len(line.expandtabs(TAB)) for line in lines), default=0) <= prose - 2:
            room = min(room, prose)
        size = PIECE if self.partial else max(len(lines), 1)
        pieces = ["\n".join(lines[at : at + size]) for at in range(0, len(lines), size)]
        shown = [line for piece in pieces for line in _coloured(piece, self.language, room - 2)]
        name = Content(self.language or "·")
        if self.language in DIAGRAMS:
            name = Content(f"{self.language}: {tr(_DIAGRAM)}")
        return [_of_code(name.truncate(room - 2, ellipsis=True, pad=True).stylize_before("$text-muted")), *shown]


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


def blocks(text: str) -> list[Block]:
    """The blocks of a complete text."""
    return list(Reader(parsed(text)).blocks())


class Reader:
    """Converts Markdown tokens to blocks; tracks the line prefixes at each depth."""

    def __init__(self, tokens: Sequence[Token], after: Block | None = None) -> None:
        """They follow ``after``; if that is `Block.partial`, they begin with the rest of its list or table."""
        self._tokens = tokens
        self._cut = after if after and after.partial else None
        self._marks: list[tuple[Content, Content]] = []
        """First and rest of each open list item and quotation."""
        self._numbers: list[int | None] = []
        """The next number of each open list; None for one with bullets."""
        self._rows: list[tuple[Content, ...]] = []
        self._row: list[Content] = []
        self._aligns: list[Align] = []
        """Of the columns of the first row."""
        self._begins = False
        """A list that is in no other begins: there is an empty line before it."""

    def blocks(self) -> Iterator[Block]:
        """Convert them."""
        kind: Kind = "text"
        hidden = in_table = False
        style = ""
        for token in self._tokens:
            name = token.type
            if name in _LISTS or name in ("bullet_list_close", "ordered_list_close"):
                self._list(token)
            elif name in _CONTAINERS:
                self._container(token)
            elif name in ("paragraph_open", "heading_open"):
                kind, hidden = "text" if name == "paragraph_open" else "heading", token.hidden
                style = _HEADINGS.get(token.tag, "")
            elif name in ("table_open", "table_close", "tr_open", "tr_close", "th_open"):
                in_table = name != "table_close"
                yield from self._table(token)
            elif name == "inline":
                text = inline(token.children or [])
                if in_table:
                    self._row.append(text)
                else:
                    yield self._block(
                        kind, self._task(text).stylize(style) if style else self._task(text), gap=not hidden
                    )
            else:
                yield from self._alone(token)

    def _alone(self, token: Token) -> Iterator[Block]:
        """Code, a formula or a rule."""
        if token.type in ("fence", "code_block"):
            match = _LANGUAGE.match(token.info.strip())
            yield self._block("code", code=token.content, language=match[0] if match else "")
        elif token.type == "formula_block":
            yield replace(self._block("formula", code=token.content), open=token.meta[GROWS])
        elif token.type == "hr":
            yield self._block("rule")

    def _list(self, token: Token) -> None:
        if token.nesting < 0:
            self._numbers.pop()
        else:
            self._numbers.append(int(token.attrs.get("start", 1)) if token.type == "ordered_list_open" else None)
            self._begins = self._begins or (len(self._numbers) == 1 and not self._cut)
            self._cut = None

    def _container(self, token: Token) -> None:
        if token.nesting < 0:
            self._marks.pop()
        elif token.type == "blockquote_open":
            bar = Content.styled("▏ ", "$text-muted")
            self._marks.append((bar, bar))
        elif token.type == "note_open":
            self._mark(f"{_note(token.info)} ")
        else:
            number = self._numbers[-1]
            if number is not None:
                self._numbers[-1] = number + 1
            bullet = _BULLETS[min(self._numbers.count(None), len(_BULLETS)) - 1]
            self._mark(f"{bullet} " if number is None else f"{number}. ")

    def _mark(self, text: str) -> None:
        """A marker before the first line."""
        self._marks.append((Content.styled(text, "bold $accent"), Content(" " * cell_len(text))))

    def _task(self, text: Content) -> Content:
        """``text`` without a task's box, which becomes the marker of its list item."""
        box = _TASKS.get(text.plain[:4])
        if not box or not self._numbers or not self._marks or self._marks[-1][0].plain[:1] not in _BULLETS:
            return text
        self._marks[-1] = (Content.styled(box, "bold $accent"), self._marks[-1][1])
        return text[4:]

    def _table(self, token: Token) -> Iterator[Block]:
        if token.type == "tr_open":
            self._row = []
        elif token.type == "tr_close":
            self._rows.append(tuple(self._row))
        elif token.type == "table_open":
            self._rows, self._aligns = [], []
        elif token.type == "th_open":
            side = str(token.attrs.get("style", "")).removeprefix("text-align:")
            self._aligns.append(cast("Align", side) if side in ("center", "right") else "left")
        elif self._rows:
            before, self._cut = self._cut, None
            made = replace(self._block("table", rows=tuple(self._rows)), aligns=tuple(self._aligns))
            yield replace(made, gap=False, least=before.widths) if before else made

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
        return Block(kind, text or Content(""), first, rest, gap, code, language, rows)


def inline(tokens: Sequence[Token]) -> Content:
    """Text with its emphasis, code, links and formulas; an address is shown if it differs from the text."""
    parts: list[str] = []
    spans: list[Span] = []
    opened: list[tuple[str | Style, int, str]] = []
    at = 0

    def add(text: str, style: str = "") -> None:
        nonlocal at
        text = plain(text)
        if style:
            spans.append(Span(at, at + len(text), style))
        parts.append(text)
        at += len(text)

    for token in tokens:
        if token.type in _INLINE:
            address = one_line(str(token.attrs.get("href", "")))
            opened.append((_link(address) if address else _INLINE[token.type], at, address))
        elif token.nesting < 0 and opened:
            style, start, address = opened.pop()
            spans.append(Span(start, at, style))
            if address and not _names("".join(parts)[start:at], address):
                add(f" ({address})")
        else:
            add(*_piece(token))
    return Content("".join(parts), spans)


def _piece(token: Token) -> tuple[str, str]:
    """A token's text and its style."""
    match token.type:
        case "softbreak" | "hardbreak":
            return "\n", ""
        case "image":
            return f"[{token.content}]({token.attrs.get('src', '')})", ""
        case "code_inline":
            return token.content, _CODE
        case "formula_inline":
            shown = readable(token.content, flat=True).replace("\n", " ")
            return shown, _CODE if "\\" in shown else ""
        case "note":
            return _note(token.content), "$accent"
        case _:
            return _BREAK.sub("\n", token.content), ""


def _link(address: str) -> Style | str:
    """The style of a link, which a terminal can open if it is an address of the web."""
    return Style(underline=True, link=address) if _SAFE.fullmatch(address) else "underline"


def _names(text: str, address: str) -> bool:
    """Whether ``text`` is the whole ``address``, except for its scheme."""
    return _bare(text) == _bare(address)


def _bare(address: str) -> str:
    return re.sub(r"^(?:https?://|mailto:)", "", unquote(address)).rstrip("/")


def _note(label: str) -> str:
    """The mark of a footnote."""
    return script(label, "^") if label.isascii() and label.isdecimal() else f"[{plain(label)}]"
