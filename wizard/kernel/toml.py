"""TOML 1.0: the standard library's parser under a single name, and a writer for scalars."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from wizard.kernel import bounded
from wizard.kernel.language import tr

if sys.version_info >= (3, 11):
    from tomllib import loads
else:  # the same parser under its older name
    from tomli import loads

LARGEST = 1 << 20
"""Bytes of a file; the parser reads a megabyte per second."""
_MOST_DOTS = 200
"""In a line: the parser's time grows with the square of the parts of a key."""

__all__ = ["loads", "read", "scalar"]


def read(path: Path) -> dict[str, Any]:
    """The contents of a file.

    Raises:
        OSError: It is not readable.
        ValueError: It is not TOML in UTF-8, or too large.
        RecursionError: It is nested too deeply.
    """
    text = bounded.read(path, LARGEST).decode("utf-8")
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        raise bounded.TooLargeError(tr("a line has more than {count} dots", count=_MOST_DOTS))
    return loads(text)


def scalar(value: object) -> str:
    """A string, number or Boolean as TOML; basic strings use JSON's escapes, and DEL must be escaped too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
