"""What is wrong with an answer of the right kind, in words; an empty text if nothing is."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.kernel.paths import server_name


def between(low: float, high: float) -> Callable[[Any], str]:
    """A number from ``low`` to ``high``."""

    def problem(value: float) -> str:
        return "" if low <= value <= high else tr("it must be from {low:,} to {high:,}", low=low, high=high)

    return problem


def known_format(value: str) -> str:
    """Formats of GGUF files are many and named by the files."""
    from wizard.advise.formats import FORMATS

    if value in FORMATS or value.startswith("gguf_"):
        return ""
    near = difflib.get_close_matches(value, FORMATS, 2, 0.4)
    return tr("unknown format; did you mean {near}?", near=", ".join(near)) if near else tr("unknown format")


def known_release(value: str) -> str:
    """A release of Triton's images."""
    from wizard.catalog.releases import unknown

    return unknown(value)


def python_path(value: str) -> str:
    """A path whose folder can be on ``PATH``."""
    return reference(value) or (tr("a path with a colon cannot be on PATH") if ":" in value else "")


def share(value: float) -> str:
    """A share of a whole."""
    return "" if 0 < value <= 1 else tr("it must be above 0 and at most 1")


def reference(value: str) -> str:
    """A text in one line."""
    if not value.strip():
        return tr("it is empty")
    return "" if value.isprintable() else tr("it contains a line break or a control character")


def server(value: str) -> str:
    """The name of a server."""
    try:
        server_name(value)
    except WizardError as error:
        return error.todo.rstrip(".").lower()
    return ""


def samples(known: Mapping[str, object]) -> bool:
    """Whether chance has any part in the answers; with temperature 0 it has not."""
    return known.get("temperature") != 0
