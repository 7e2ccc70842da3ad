"""How models write the functions that they call: ``profiles/tool_calls.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wizard.catalog.profiles import find, load

OWN = "engine"
"""The engine reads the calls of every model, by its chat template."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way of writing calls.

    Attributes:
        template: Texts that a chat template for it has.
        begins: Texts with which calls begin in an answer.
        parsers: Engine → its parser.
    """

    template: tuple[str, ...]
    begins: tuple[str, ...]
    parsers: dict[str, str]
    source: str


@dataclass(frozen=True, slots=True)
class Ways:
    """``profiles/tool_calls.toml``; the first way whose texts a template has is the model's."""

    about: str
    source: str
    ways: tuple[Way, ...]


def parser(template: str, engine: str) -> dict[str, Any] | None:
    """What reads the calls of a model with this chat template: ``parser`` and ``begins``, or nothing if the engine
    itself knows; None if the model is not asked for calls, or ``engine`` cannot read them.

    Args:
        template: The model's chat template.
        engine: `OWN`, a column of the file, or empty for an engine that reads none.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the file is missing or damaged.
    """
    if engine == OWN:
        return {}
    ways = load(Ways, find("tool_calls.toml")).ways
    way = next((way for way in ways if all(text in template for text in ("tools", *way.template))), None)
    if way is None or engine not in way.parsers:
        return None
    return {"parser": way.parsers[engine], "begins": list(way.begins)}
