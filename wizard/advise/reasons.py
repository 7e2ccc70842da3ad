"""Why something is as it is, and what would change it, as values; `wizard.texts.advise` makes sentences of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Union  # annotations are read at run time, where "|" takes no name in quotation marks

from wizard.kernel.errors import WizardError

Param = Union[str, int, float, bool, None, "Reason", tuple[Union[str, int, "Reason"], ...]]
"""A value in a sentence: a name, a number (bytes, tokens), a version or capability in numbers, or another reason."""
Setting = str | int | float | bool | None
"""What an option may be set to; None (or False) takes it back."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is so: a stable code and the values that belong to it."""

    code: str
    params: Mapping[str, Param] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Note:
    """A reason for a choice, or a warning.

    Attributes:
        code: Stable.
        params: The values that belong to it.
        source: Where the fact is from, if it is not the same for every note of this code.
    """

    code: str
    params: Mapping[str, Param] = field(default_factory=dict, hash=False)
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that would help.

    Attributes:
        code: `OPTIONS` if nothing but ``changes`` has to be said.
        changes: Field of the options → its new value, for `dataclasses.replace`; empty if it is no matter of options.
        params: The values that belong to the code.
    """

    code: str
    changes: Mapping[str, Setting] = field(default_factory=dict, hash=False)
    params: Mapping[str, Param] = field(default_factory=dict, hash=False)


OPTIONS = "options"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why something cannot run here, and what would let it.

    Attributes:
        code: What kind of obstacle it is; many reasons have one kind.
        reason: Why exactly.
        remedies: Alternatives, the smallest change first.
    """

    code: str
    reason: Reason
    remedies: tuple[Remedy, ...]


class Refused(Exception):  # noqa: N818 - it becomes one of the errors
    """Something that cannot be done because of an obstacle; `wizard.texts.errors.worded` makes the user's error of it.

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
    """The reason ``code`` with its values."""
    return Reason(code, params)


def change(**changes: Setting) -> Remedy:
    """The remedy that sets options."""
    return Remedy(OPTIONS, changes)


def without(option: str) -> Remedy:
    """The remedy that takes an option back."""
    return Remedy(OPTIONS, {option: None})


def do(code: str, /, **params: Param) -> Remedy:
    """The remedy ``code``, which is no matter of options."""
    return Remedy(code, {}, params)
