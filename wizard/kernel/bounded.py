"""Read what strangers wrote within bounds, so that no file takes more than 300 MB or 10 s: its bytes, and JSON.

A parser needs much more memory than the text: a dict per two characters. So the values are counted before it starts.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from wizard.kernel.language import tr
from wizard.kernel.units import size

T = TypeVar("T")

MOST_VALUES = 600_000
"""Commas and opening brackets of a JSON text: at least as many as it has values. The largest real ones, indexes of
checkpoints, have 150,000.
"""


class TooLargeError(ValueError):
    """More than a reader of untrusted data accepts."""


def read(source: Path | BinaryIO, most: int) -> bytes:
    """The contents of a file or pipe, or of an open one.

    Raises:
        TooLargeError: It has more than ``most`` bytes.
        OSError: It is not readable.
    """
    with source.open("rb") if isinstance(source, Path) else nullcontext(source) as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise TooLargeError(tr("it is larger than {size}", size=size(most)))
    return raw


def loads(text: str | bytes, most: int = MOST_VALUES, **options: Any) -> Any:
    """`json.loads` for a text of at most ``most`` values; those can be written to any file or terminal.

    Raises:
        ValueError: It is not JSON, has too many values, or half a surrogate pair.
        RecursionError: It is nested too deeply.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text))
    if sum(map(text.count, ",[{")) > most:
        raise TooLargeError(tr("it has more than {count:,} values", count=most))
    value = json.loads(text, **options)
    plain = text.isascii() and "\\ud" not in text and "\\uD" not in text  # most are: a second pass costs as much again
    return value if plain else _well_formed(value)


def _well_formed(data: T) -> T:
    """JSON data without half a surrogate pair, which JSON can escape (``"\\ud800"``) and no file or terminal can hold.

    Raises:
        ValueError: A text of ``data`` has one.
    """
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(tr("it contains half a surrogate pair ({escaped})", escaped=_escaped(error))) from error
    return data


def _escaped(error: UnicodeEncodeError) -> str:
    return f"\\u{ord(error.object[error.start]):04x}"
