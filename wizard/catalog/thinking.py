"""How models mark their thoughts, and how chat templates switch thinking: ``profiles/thinking.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from wizard.catalog.profiles import find, load, load_toml
from wizard.catalog.rows import row


@dataclass(frozen=True, slots=True)
class Format:
    """The markers around a thought, which comes before the answer.

    Attributes:
        marks: Texts that a chat template of this format contains.
        opens: Markers that begin a thought.
        closes: Markers that end it.
        answers: Markers that may begin the answer.
        ends: Markers that end an answer which began with one of them.
        special: Whether the markers are special tokens: no text that the model writes contains them, and engines leave
            them out unless asked not to.
        words: Whether the markers are plain words, which only count if the model's template has the mark.
        source: Where this is stated.
    """

    name: str
    marks: tuple[str, ...]
    opens: tuple[str, ...]
    closes: tuple[str, ...]
    source: str
    answers: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    special: bool = False
    words: bool = False


@dataclass(frozen=True, slots=True)
class Switch:
    """A variable of chat templates that controls thinking.

    Attributes:
        variable: Its name.
        off: Its value for no thinking; None if there is none.
        on: Its value for thinking; None if there is none.
        levels: Values that set how much the model thinks, from the least on.
        budget: Whether it takes a number of tokens.
        source: Where this is stated.
    """

    variable: str
    source: str
    off: bool | int | str | None = None
    on: bool | str | None = None
    levels: tuple[str, ...] = ()
    budget: bool = False


@dataclass(frozen=True, slots=True)
class Thinking:
    """``profiles/thinking.toml``."""

    formats: tuple[Format, ...]
    switches: tuple[Switch, ...]


def thinking() -> Thinking:
    """The table.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the file is missing or damaged.
    """
    return _read(find("thinking.toml"))


@cache
def _read(path: Path) -> Thinking:
    data = load_toml(path)
    try:
        formats = tuple(row(Format, each) for each in data["formats"])
        return Thinking(formats, tuple(row(Switch, each) for each in data["switches"]))
    except (TypeError, KeyError):
        return load(Thinking, path)
