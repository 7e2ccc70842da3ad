"""Texts of log lines (`wizard.catalog.failures.Failure.lines`) as patterns that are found in linear time.

A line is examined only if it has a short literal of a text. All literals are searched at once, by a regular expression
that branches on each character, so that most lines cost a single pass over their bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SPECIAL = re.compile(r"\*+")
_RARER = b" -etiornaslcd1m2:0p.u3f_gb/|hyv5\"46897+]k'w,xz()=\t[><\\q{}#$`;j*"
"""Bytes of logs, the most frequent first (counted in tests/cases); others are rarer."""
_SHORTEST = 5
"""Bytes of the shortest literal to search, if the text has as many; a third of a long one."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A text to find in lowercase bytes.

    Attributes:
        pieces: Its parts in order: literal bytes, or an expression if the part has a number.
        whole: Whether it is a whole line.
        literal: Bytes without which it cannot match.
        size: Literal bytes in total: of two patterns, the longer one is more specific.
    """

    pieces: tuple[bytes | re.Pattern[bytes], ...]
    whole: bool
    literal: bytes
    size: int

    def matches(self, text: bytes) -> bool:
        """Whether ``text``, in lowercase, has all parts in order. Each part is searched once, so time is linear."""
        if self.whole:
            return any(part.strip() == self.pieces[0] for part in text.split(b"\r"))
        at = 0
        for piece in self.pieces:
            if isinstance(piece, bytes):
                start = text.find(piece, at)
                if start < 0:
                    return False
                at = start + len(piece)
            else:
                match = piece.search(text, at)
                if match is None:
                    return False
                at = match.end()
        return True


def pattern(text: str) -> Pattern:
    """The pattern of a text as `wizard.catalog.failures.Failure.lines` has it."""
    lower = text.lower().encode()
    if text.startswith("^") and text.endswith("$"):
        inner = lower[1:-1]
        return Pattern((inner,), True, inner, len(inner))
    parts = [part for part in _SPECIAL.split(lower.decode()) if part]
    literals = [piece.encode() for part in parts for piece in part.split("#") if piece]
    return Pattern(tuple(map(_piece, parts)), False, _rarest(max(literals, key=len)), sum(map(len, literals)))


def _piece(part: str) -> bytes | re.Pattern[bytes]:
    if "#" not in part:
        return part.encode()
    return re.compile(rb"\d{1,20}".join(re.escape(piece.encode()) for piece in part.split("#")))


def _rarest(text: bytes) -> bytes:
    """The end of ``text`` from its rarest character on: the fewer lines have it, the faster the search."""
    starts = range(max(1, len(text) - max(_SHORTEST, len(text) // 3) + 1))
    return text[max(starts, key=lambda start: _RARER.find(text[start]) % 256) :]


def any_of(literals: Iterable[bytes]) -> re.Pattern[bytes]:
    """An expression that finds any of ``literals``; of two with the same beginning it finds the shorter one."""
    tree: dict[int, dict[int, object]] = {}
    for literal in sorted(literals, key=len):
        _add(tree, literal)
    return re.compile(_expression(tree))


_END = -1


def _add(tree: dict[int, dict[int, object]], literal: bytes) -> None:
    node: dict[int, object] = tree  # type: ignore[assignment]  # a tree of trees
    for byte in literal:
        if _END in node:
            return  # a shorter literal is its beginning
        node = node.setdefault(byte, {})  # type: ignore[assignment]
    node[_END] = None


def _expression(node: dict[int, dict[int, object]]) -> bytes:
    if _END in node:
        return b""
    branches = [re.escape(bytes([byte])) + _expression(child) for byte, child in node.items()]  # type: ignore[arg-type]
    return branches[0] if len(branches) == 1 else b"(?:" + b"|".join(branches) + b")"
