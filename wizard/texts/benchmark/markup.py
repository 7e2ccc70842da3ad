"""Text of users, servers and files inside HTML, SVG and Markdown: it is shown, and never interpreted."""

from __future__ import annotations

import re
from html import escape

from wizard.kernel.secrets import redact
from wizard.kernel.text import plain

_UNWRITABLE = re.compile("[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
"""Halves of surrogate pairs, which no encoding writes, and code points that XML excludes."""
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&#$!])")
"""Characters that start something in Markdown, HTML in it, or a formula."""
_START = re.compile(r"^(\d*)([-+=.)])(?=[\s=-]|$)")
"""What would begin a list or underline a heading."""


def shown(text: object) -> str:
    """``text`` without control characters and secrets, writable in UTF-8 and XML."""
    return _UNWRITABLE.sub("\ufffd", redact(plain(str(text))))


def html(text: object) -> str:
    """``text`` for the content of an element of HTML or SVG, or for a quoted attribute."""
    return escape(shown(text))


def markdown(text: object) -> str:
    """``text`` on a line of Markdown, or in a cell of a table."""
    line = " ".join(shown(text).split())
    return _START.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\1", line))


def fenced(text: object) -> str:
    """``text`` as a code block of Markdown, whatever is in it."""
    code = shown(text).strip("\n")
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
    return f"{fence}\n{code}\n{fence}"
