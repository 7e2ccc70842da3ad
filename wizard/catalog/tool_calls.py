"""How models write function calls: ``profiles/tool_calls.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wizard.catalog.profiles import find, load

OWN = "engine"
"""The engine reads the calls of every model, by its chat template."""


@dataclass(frozen=True, slots=True)
class CallFormat:
    """A format of calls.

    Attributes:
        template: Texts that a chat template for it has.
        begins: Texts with which calls begin in an answer.
        parsers: Engine → its parser.
        arguments: The member with the arguments of a call, if every call is a JSON object with ``name`` and this; they
            can be passed on while the model writes them.
    """

    template: tuple[str, ...]
    begins: tuple[str, ...]
    parsers: dict[str, str]
    source: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class CallFormats:
    """``profiles/tool_calls.toml``; a model's is the first whose texts its template has."""

    about: str
    source: str
    formats: tuple[CallFormat, ...]


def parser(template: str, engine: str) -> dict[str, Any] | None:
    """What reads the calls of a model with this chat template: ``parser``, ``begins`` and, if there is one,
    ``arguments``, or nothing if the engine itself knows; None if the template has no functions, or ``engine`` cannot
    read the calls.

    Args:
        template: The model's chat template.
        engine: `OWN`, a column of the file, or empty for an engine that reads none.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the file is missing or damaged.
    """
    if engine == OWN:
        return {}
    formats = load(CallFormats, find("tool_calls.toml")).formats
    mine = next((each for each in formats if all(text in template for text in ("tools", *each.template))), None)
    if mine is None or engine not in mine.parsers:
        return None
    json_member = {"arguments": mine.arguments} if mine.arguments else {}
    return {"parser": mine.parsers[engine], "begins": list(mine.begins), **json_member}
