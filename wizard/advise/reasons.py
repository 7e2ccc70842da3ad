"""Reasons, and the changes that would resolve them, as values; `wizard.texts.advise` turns them into sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Union  # annotations are evaluated at run time, where "|" does not accept a quoted name

from wizard.kernel.errors import WizardError

Param = Union[str, int, float, bool, None, "Reason", tuple[Union[str, int, "Reason"], ...]]
"""A value in a sentence: a name, a number (bytes, tokens), a version or capability in numbers, or another reason."""
Setting = str | int | float | bool | None
"""The value of an option; None (or False) removes it."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is so: a stable code and its parameters."""

    code: str
    params: Mapping[str, Param] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Note:
    """A reason for a choice, or a warning.

    Attributes:
        code: Stable identifier.
        params: Parameters of the code.
        source: Source of the fact, if it differs among notes with this code.
    """

    code: str
    params: Mapping[str, Param] = field(default_factory=dict, hash=False)
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that would help.

    Attributes:
        code: `OPTIONS` if ``changes`` says it all.
        changes: Field of the options → its new value, for `dataclasses.replace`; empty if options do not help.
        params: Parameters of the code.
    """

    code: str
    changes: Mapping[str, Setting] = field(default_factory=dict, hash=False)
    params: Mapping[str, Param] = field(default_factory=dict, hash=False)


OPTIONS = "options"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why something cannot run here, and what would let it.

    Attributes:
        code: The kind of obstacle; many reasons share a kind.
        reason: The exact reason.
        remedies: Alternatives, the smallest change first.
    """

    code: str
    reason: Reason
    remedies: tuple[Remedy, ...]


class Refused(Exception):  # noqa: N818 - it becomes one of the errors
    """Something is not possible because of an obstacle; `wizard.texts.errors.user_errors` renders it for the user.

    Args:
        code: Of the error (``TW-…``).
        kind: Its class.
        why: The obstacle.
    """

    def __init__(self, code: str, kind: type[WizardError], why: Obstacle) -> None:
        super().__init__(code, why)
        self.code = code
        self.kind = kind
        self.why = why


def because(code: str, /, **params: Param) -> Reason:
    """The reason ``code`` with its parameters."""
    return Reason(code, params)


def load(users: int | None, isl: int | None, osl: int | None) -> Reason | None:
    """The load that a speed is for, as a parameter of a sentence; None if it is unknown."""
    return because("load", users=users, isl=isl, osl=osl) if users and isl and osl else None


def change(**changes: Setting) -> Remedy:
    """A remedy that sets options."""
    return Remedy(OPTIONS, changes)


def without(*options: str) -> Remedy:
    """A remedy that removes options."""
    return Remedy(OPTIONS, dict.fromkeys(options))


def do(code: str, /, **params: Param) -> Remedy:
    """The remedy ``code``, which does not change options."""
    return Remedy(code, {}, params)
