"""A finding, and the server that it applies to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from wizard.kernel.language import mark

Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem.

    Attributes:
        code: Stable name of the kind of mistake; docs/repositories.md lists them.
        severity: ``error``: the server refuses the model, or every request to it. ``warning``: it loads, but something
            is probably unintended.
        model: The model's folder; empty for the repository as a whole.
        file: Relative to the repository.
        what: The problem.
        fix: The remedy.
        line: From 1; None if it applies to the whole file.
        column: From 1.
    """

    code: str
    severity: Severity
    model: str
    file: str
    what: str
    fix: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """The known properties of the server that will load the repository.

    Attributes:
        backends: Names of its backends; None if unknown.
        engines: Family of images (`wizard.catalog.releases.families`) → version of the engine in that image; empty if
            unknown.
        gpus: Number of visible GPUs; None if unknown.
        mounts: Folders of this machine → their paths in the server, as in ``docker run -v``.
        name: Its name in findings.
        capabilities: Compute capabilities of its GPUs, such as ``8.9``; None if unknown.
    """

    backends: frozenset[str] | None = None
    engines: Mapping[str, str] = field(default_factory=dict)
    gpus: int | None = None
    mounts: tuple[tuple[str, str], ...] = ()
    name: str = mark("the server")
    capabilities: frozenset[str] | None = None
