"""Rows of small tables, read by hand: importing pydantic would delay the first question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


def row(kind: type[T], given: Mapping[str, Any]) -> T:
    """A row of a table as a value of the dataclass ``kind``; TypeError if it does not fit, without a reason for users:
    `wizard.catalog.profiles.load` reports that.
    """
    made = kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})
    for each in fields(made):  # type: ignore[arg-type]  # a dataclass
        if isinstance(getattr(made, each.name), tuple) != str(each.type).startswith("tuple"):
            raise TypeError(each.name)
    return made
