"""Why a file is not readable, in the current language: parsers report it in English, and for programmers."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from wizard.kernel.language import join, mark, tr

_PLACE = re.compile(r"(?P<what>.*?) ?\(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)", re.DOTALL)
"""The end of `tomllib`'s error messages (Lib/tomllib/_parser.py of Python 3.11 to 3.14, and tomli 2)."""
_TOML = (
    (r"Cannot |Duplicate |behind this key", mark("this key or table is already defined")),
    (r"Unterminated|Unclosed|Expected '\]+' at the end", mark("unclosed quotation mark or bracket")),
    (r"Expected newline", mark("expected the end of the line")),
    (r"Expected '='|Invalid statement|initial character", mark("expected: name = value, or [table]")),
    (r"[Cc]haracter|Unescaped|hex value", mark("invalid character")),
    (r"Invalid|Expected", mark("invalid value; strings need quotation marks")),
)
"""Pattern of such a message → the same for users."""
_KINDS = {
    "string": mark("a string"),
    "int": mark("an integer"),
    "float": mark("a number"),
    "bool": mark("true or false"),
    "list": mark("a list"),
    "tuple": mark("a list"),
    "dict": mark("a table"),
    "mapping": mark("a table"),
    "dataclass": mark("a table"),
}
"""First part of a pydantic error's type → what was expected."""
_MAX_LENGTH = 60
"""Maximum number of characters of a value to quote."""


def unreadable(error: Exception) -> str:
    """Why bytes are not valid TOML or JSON, or could not be read at all."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, UnicodeDecodeError):
        return tr("byte {number} is not UTF-8", number=error.start + 1)
    if isinstance(error, RecursionError):
        return tr("it is nested too deeply")
    if (line := getattr(error, "lineno", None)) is not None:  # JSON's errors; TOML's from Python 3.14 on
        place = {"line": line, "column": getattr(error, "colno", 1)}
        return _at(place, _in_words(getattr(error, "msg", "")))
    match = _PLACE.fullmatch(str(error))
    if match is None:
        return str(error)
    return _at(match.groupdict(), _in_words(match["what"]))


def unwritten(error: OSError, path: Path) -> str:
    """Why ``path`` cannot be written. The system's "no space left" may also mean that no more files fit (df(1), -i)."""
    folder = next((each for each in (path, *path.parents) if each.exists()), Path("/"))
    if error.errno == errno.ENOSPC:
        with suppress(OSError):
            disk = os.statvfs(folder)
            if disk.f_files and not disk.f_favail:
                return tr("the disk has no inodes left, so it takes no more files (`df -i`)")
    return error.strerror or str(error)


def misfit(problem: Mapping[str, Any]) -> str:
    """What is wrong with a value, from a single error of a pydantic `ValidationError`."""
    kind, value = str(problem["type"]), problem.get("input")
    expected = _KINDS.get(kind.partition("_")[0])
    if kind == "missing" or (expected and value is None):
        return tr("missing")
    if kind == "unexpected_keyword_argument":
        return tr("unknown field")
    if kind == "literal_error":
        known = str(problem["ctx"]["expected"]).replace(" or ", ", ")
        return tr("must be one of {known}, not {value}", known=known, value=_quoted(value))
    if expected is not None:
        return tr("must be {kind}, not {value}", kind=tr(expected), value=_quoted(value))
    return str(problem["msg"])


def _in_words(error: str) -> str:
    return next((tr(words) for pattern, words in _TOML if re.search(pattern, error)), "")


def _at(place: Mapping[str, Any], problem: str) -> str:
    where = tr("line {line}, column {column}", **place) if place["line"] else tr("end of file")
    return join(": ", where, problem)


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_LENGTH else text[:_MAX_LENGTH] + " …"
