"""Models that overflow in float16: ``profiles/float16.toml``."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.catalog.profiles import find, load


@dataclass(frozen=True, slots=True)
class Overflow:
    """Architectures that overflow in float16, and where that is stated."""

    architectures: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Float16:
    """``profiles/float16.toml``."""

    about: str
    overflows: tuple[Overflow, ...]


def overflows(architecture: str | None) -> bool:
    """Whether models of ``architecture`` must not run in float16.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the file is missing or damaged.
    """
    rows = load(Float16, find("float16.toml")).overflows
    return any(architecture in row.architectures for row in rows)
