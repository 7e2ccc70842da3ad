"""What a check returns; `wizard.texts.doctor` turns it into sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Param: TypeAlias = str | int | float | tuple[str | int, ...]
Status: TypeAlias = Literal["pass", "warn", "fail", "unknown", "not_applicable"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check.

    Attributes:
        code: The check and its result, such as ``disk.low``.
        status: ``unknown`` if the facts could not be read, which is never ``pass``; ``not_applicable`` if there is
            nothing to check.
        params: Parameters of the code.
        commands: Shell commands that fix it, in this order; empty if there are none.
        known: ID of the failure in ``profiles/failures`` whose fix it has; empty if there is none.
    """

    code: str
    status: Status
    params: Mapping[str, Param] = field(default_factory=dict, hash=False)
    commands: tuple[str, ...] = ()
    known: str = ""

    @property
    def check(self) -> str:
        """The check's name."""
        return self.code.partition(".")[0]


def passed(code: str, /, **params: Param) -> Finding:
    """All is well."""
    return Finding(code, "pass", params)


def warned(code: str, *commands: str, known: str = "", **params: Param) -> Finding:
    """It works, but slower, or not for everything."""
    return Finding(code, "warn", params, commands, known)


def failed(code: str, *commands: str, known: str = "", **params: Param) -> Finding:
    """Serving a model will fail, or something is broken."""
    return Finding(code, "fail", params, commands, known)


def unknown(code: str, /, **params: Param) -> Finding:
    """The facts could not be read."""
    return Finding(code, "unknown", params)


def inapplicable(code: str, /, **params: Param) -> Finding:
    """There is nothing to check on this machine."""
    return Finding(code, "not_applicable", params)
