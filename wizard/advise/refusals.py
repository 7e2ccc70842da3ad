"""Groups of setups that do not work here, and the options that the nearest remedy changes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wizard.advise.advice import Rejection
from wizard.advise.reasons import Param, Reason, Remedy, Setting


@dataclass(frozen=True, slots=True)
class Refusal:
    """Setups that fail for the same reason and have the same remedy.

    Attributes:
        rejections: One per setup; the group has the reason of the first.
    """

    rejections: tuple[Rejection, ...]

    @property
    def reason(self) -> Reason:
        """Why they fail."""
        return self.rejections[0].reason

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """What would help."""
        return self.rejections[0].remedies


def grouped(rejections: Iterable[Rejection]) -> tuple[Refusal, ...]:
    """Group rejections by kind, remedy, and the engine that the reason names."""
    groups: dict[tuple[str, tuple[Remedy, ...], Param], list[Rejection]] = {}
    for rejection in rejections:
        engine = rejection.reason.params.get("engine")
        key = (rejection.code, rejection.remedies, engine if isinstance(engine, Reason) else None)
        groups.setdefault(key, []).append(rejection)
    return tuple(Refusal(tuple(group)) for group in groups.values())


def changes(remedies: Sequence[Remedy]) -> Mapping[str, Setting]:
    """The options that the first remedy changes; empty if it changes none."""
    return remedies[0].changes if remedies else {}
