"""Markdown of a text that grows: only its last block is read again, and of a long list or table only the end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from wizard.tui.widgets.markdown_lines import Block, Reader
from wizard.tui.widgets.markdown_rules import parsed

if TYPE_CHECKING:
    from markdown_it.token import Token

MOST = 40
"""Items of a list, or rows of a table, that are read again with each piece: 100 rows took 12 ms."""
_HALF_TABLE = re.compile(r"\|([^\n]*)(?:\n[ \t]*\|?[ \t|:-]*)?")
_PARTS = {"bullet_list_open": "list_item_open", "ordered_list_open": "list_item_open", "table_open": "tr_open"}
_DEPTHS = {"list_item_open": 1, "tr_open": 2}


def growing(text: str, after: Block | None = None) -> tuple[list[Block], str, list[Block]]:
    """The blocks of a growing text: the complete ones, the rest of the text, and the rest's blocks.

    The head of a table is shown as one at once, and a formula without its end as it was written. A long list or table
    is cut before its last item or row: the block before the cut is `Block.partial`.

    Args:
        text: What follows the complete blocks.
        after: The last one of them.
    """
    tokens = parsed(text, grows=True)
    starts = [index for index, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0 and token.map]
    if not starts:
        return [], text, []
    last = starts[-1]
    first = (tokens[last].map or [0])[0]
    place, line = _cut(tokens, last)
    if place and (done := list(Reader([*tokens[:place], tokens[-1]], after).blocks())):
        done[-1] = replace(done[-1], partial=True)
        head = text[_offset(text, first) : _offset(text, first + 2)] if tokens[last].type == "table_open" else ""
        rest = head + text[_offset(text, line) :]
        return done, rest, _open(parsed(rest, grows=True), done[-1])
    offset = _offset(text, first)
    done = list(Reader(tokens[:last], after).blocks())
    end = tokens[last:]
    if end[0].type == "paragraph_open" and (half := _HALF_TABLE.fullmatch(text, offset)):
        cells = half[1].rstrip().removesuffix("|")
        columns = len(re.findall(r"(?<!\\)\|", cells)) + 1
        end = parsed(f"|{cells}|\n{'|-' * columns}|")
    return done, text[offset:], _open(end, done[-1] if done else after)


def _open(tokens: Sequence[Token], after: Block | None) -> list[Block]:
    return [replace(block, partial=True) for block in Reader(tokens, after).blocks()]


def _offset(text: str, line: int) -> int:
    return sum(len(each) + 1 for each in text.split("\n", line)[:line])


def _cut(tokens: Sequence[Token], last: int) -> tuple[int, int]:
    """Where the last item or row of the block at ``last`` begins, as a token and a line; (0, 0) if it is short."""
    kind = _PARTS.get(tokens[last].type, "")
    places = [at for at in range(last, len(tokens)) if tokens[at].type == kind and tokens[at].level == _DEPTHS[kind]]
    if len(places) <= MOST or not (lines := tokens[places[-1]].map):
        return 0, 0
    return places[-1], lines[0]
