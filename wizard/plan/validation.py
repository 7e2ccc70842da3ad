"""Errors in an answer of the right type, as text; empty if it is valid."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.kernel.paths import server_name


def between(low: float, high: float) -> Callable[[Any], str]:
    """A number between ``low`` and ``high``."""

    def problem(value: float) -> str:
        return "" if low <= value <= high else tr("it must be from {low:,} to {high:,}", low=low, high=high)

    return problem


def known_format(value: str) -> str:
    """Formats of GGUF files are many, and named by the files."""
    from wizard.model.formats import FORMATS, meanings

    meant = meanings(value)
    if meant == (value,):
        return ""
    if meant:
        return tr("it can be {choices}", choices=", ".join(meant))
    near = difflib.get_close_matches(value, FORMATS, 2, 0.4)
    return tr("unknown format; did you mean {near}?", near=", ".join(near)) if near else tr("unknown format")


def full_format(value: str) -> str:
    """The format that ``value`` is short for, if it is one only."""
    from wizard.model.formats import meanings

    return meant[0] if len(meant := meanings(value)) == 1 else value


def known_release(value: str) -> str:
    """A release of Triton's images."""
    from wizard.catalog.releases import unknown

    return unknown(value)


def python_path(value: str) -> str:
    """A path whose folder can be on ``PATH``."""
    return reference(value) or (tr("a path with a colon cannot be on PATH") if ":" in value else "")


def share(value: float) -> str:
    """A fraction between 0 and 1."""
    return "" if 0 < value <= 1 else tr("it must be above 0 and at most 1")


def reference(value: str) -> str:
    """A text on a single line."""
    if not value.strip():
        return tr("it must not be empty")
    return "" if value.isprintable() else tr("it contains a line break or a control character")


def server(value: str) -> str:
    """The name of a server."""
    try:
        server_name(value)
    except WizardError as error:
        return error.todo.rstrip(".").lower()
    return ""


def samples(known: Mapping[str, object]) -> bool:
    """Whether answers are random; with temperature 0 they are not."""
    return known.get("temperature") != 0
