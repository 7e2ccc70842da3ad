"""Text for terminals: sanitizing untrusted text, tables, and output that cannot fail on an unusual encoding."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TextIO

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_WORD = re.compile(r"(?:`[^`\n]*`|\S)+")
"""An unbreakable unit: a word, or code between backticks."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """``text`` without escape sequences, control characters and direction marks; newlines and tabs are kept.

    Output of a server, a tool or the Hub may contain anything; it must not move the cursor or set the title. Clean text
    is returned as the same object, so a `wizard.kernel.language.Message` stays one.
    """
    cleaned = _CONTROL.sub("", _ANSI.sub("", text))
    return text if cleaned == text else cleaned


def inert(text: str) -> str:
    """``text`` without control characters and direction marks, with the same width: what is left of an escape sequence
    is printed, not obeyed.
    """
    return text if text.isprintable() else _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """``text`` sanitized and without line breaks."""
    return " ".join(plain(text).split())


def width(text: str) -> int:
    """Columns that ``text`` occupies in a terminal (wide East Asian characters occupy two)."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def wrap(text: str, limit: int, *, first: str = "", indent: str = "") -> str:
    """``text`` in lines of at most ``limit`` columns, broken at spaces; a longer word (a path, a URL) stays whole.

    Args:
        text: Words; a run of whitespace counts as a single space. A command between backticks is a single word.
        limit: Columns of the terminal.
        first: Prefix of the first line.
        indent: Prefix of the other lines.
    """
    lines, empty = [first], True
    for word in _WORD.findall(one_line(text)):
        if not empty and width(lines[-1]) + 1 + width(word) > limit:
            lines.append(indent)
            empty = True
        lines[-1] += word if empty else f" {word}"
        empty = False
    return "\n".join(line.rstrip() for line in lines)


def table(rows: Iterable[Sequence[str]], *, indent: str = "") -> str:
    """Rows of cells as left-aligned columns two spaces apart; the last column is not padded."""
    body = [[plain(cell).replace("\n", " ") for cell in row] for row in rows]
    if not body:
        return ""
    columns = [max(width(row[i]) for row in body if i < len(row)) for i in range(max(map(len, body)))]
    lines = (
        indent + "  ".join(cell + " " * (columns[i] - width(cell)) for i, cell in enumerate(row)).rstrip()
        for row in body
    )
    return "\n".join(lines)


def make_printable(stream: TextIO) -> None:
    """Make ``stream`` replace characters that its encoding lacks instead of raising (LANG=C,
    ``PYTHONIOENCODING=ascii``).
    """
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")


def is_terminal(stream: TextIO | None = None) -> bool:
    """Whether ``stream`` (standard input if not given) is an open terminal."""
    stream = sys.stdin if stream is None else stream
    try:
        return bool(stream and stream.isatty())
    except ValueError:  # closed
        return False
