"""Workshops: a facilitator's decisions for everyone in the room: ``profiles/workshops``, or any file.

The valid answers of a pinned question are checked in `wizard.plan.workshop`, where the questions are.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from wizard.catalog import explanations, profiles
from wizard.kernel.errors import UsageError
from wizard.kernel.language import LANGUAGES, join, tr
from wizard.kernel.values import from_data

HIDEABLE = ("machine", "model", "advice", "review", "bench")
"""Stages that can be hidden: their question has a default answer, or a pinned one."""
PORTS = 3
"""TCP ports of a Triton server: HTTP, gRPC and metrics."""


@dataclass(frozen=True, slots=True)
class Say:
    """A facilitator's notes, shown with the step explanations."""

    stages: dict[str, str] = field(default_factory=dict)
    """Name of a stage → text."""
    steps: dict[str, str] = field(default_factory=dict)
    """Step ID → text."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """A workshop; without arguments an empty one: nothing is pinned, hidden or added."""

    title: str = ""
    text: str = ""
    """Welcome text, shown before the first stage."""
    pin: Mapping[str, object] = field(default_factory=dict)
    """Name of a question → the answer, which cannot be changed."""
    hide: tuple[str, ...] = ()
    """Stages of `HIDEABLE` that are not shown."""
    say: Say = field(default_factory=Say)
    ports_per_seat: int = 0
    """Offset between the first ports of consecutive seats; 0: all seats start at the same port."""
    shared_workspace: bool = False
    """Whether the seats share a user account, so that each needs a separate workspace."""
    explain: bool = True
    """Whether the step explanations are shown from the beginning."""
    language: str | None = None
    """Code of the language, if no ``--language`` is given."""


def workshop(name: str) -> Workshop:
    """The workshop in ``profiles/workshops/NAME.toml``, or in the file ``name``.

    Raises:
        UsageError: TW-D20 if it is not found, TW-D02 or TW-K01 if it is not a valid workshop file, TW-D21 for an
            unknown key, TW-D22 for a stage that cannot be hidden, TW-D23 for a note about an unknown stage or step,
            TW-D24 for ports that would overlap, TW-D25 for an unknown language.
    """
    known = profiles.files("workshops")
    path = known.get(name) or Path(name).expanduser()
    if not path.is_file():
        names = ", ".join(known) or tr("none")
        raise UsageError(
            "TW-D20",
            tr("unknown workshop: {name!r}", name=name[:200]),
            tr("Pass a file, or one of: {names}.", names=names),
        )
    data = profiles.load_toml(path)
    _known(str(path), "", data, [field.name for field in fields(Workshop)])
    if isinstance(say := data.get("say"), dict):
        _known(str(path), "say.", say, [field.name for field in fields(Say)])
    parsed = from_data(Workshop, {"title": None, **data}, where=str(path))  # a title is required
    _check(parsed, str(path))
    return parsed


def _known(where: str, before: str, names: Iterable[str], allowed: list[str]) -> None:
    for name in names:
        if name not in allowed:
            raise UsageError(
                "TW-D21",
                tr("{path}: unknown key {name!r}", path=where, name=before + name[:60]),
                _instead(name, allowed),
            )


def _check(workshop: Workshop, where: str) -> None:
    for name in workshop.hide:
        if name not in HIDEABLE:
            raise UsageError(
                "TW-D22",
                tr("{path}: the screen {name!r} cannot be hidden", path=where, name=name[:60]),
                _instead(name, HIDEABLE),
            )
    stages, steps = (explanations.START, *explanations.STAGES), sorted(set().union(*explanations.steps().values()))
    for name, allowed in (
        (n, a) for names, a in ((workshop.say.stages, stages), (workshop.say.steps, steps)) for n in names
    ):
        if name not in allowed:
            raise UsageError(
                "TW-D23",
                tr("{path}: unknown stage or step {name!r}", path=where, name=name[:60]),
                _instead(name, allowed),
            )
    if workshop.ports_per_seat and workshop.ports_per_seat < PORTS:
        raise UsageError(
            "TW-D24",
            tr(
                "{path}: ports_per_seat is {count}, but a server needs {ports}",
                path=where,
                count=workshop.ports_per_seat,
                ports=PORTS,
            ),
            tr("Use {ports} or more, or omit it if each seat has its own machine.", ports=PORTS),
        )
    if workshop.language is not None and workshop.language not in LANGUAGES:
        raise UsageError(
            "TW-D25",
            tr("{path}: unknown language {code!r}", path=where, code=workshop.language[:20]),
            _instead(workshop.language, list(LANGUAGES)),
        )


def _instead(name: str, allowed: Iterable[str]) -> str:
    """The suggestion for a typing error, and the allowed names."""
    allowed = list(allowed)
    near = difflib.get_close_matches(name, allowed, 1)
    known = tr("Valid: {known}.", known=", ".join(allowed))
    return join(" ", tr("Did you mean {near}?", near=near[0]), known) if near else known
