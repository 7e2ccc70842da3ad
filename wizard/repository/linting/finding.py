"""One thing that is wrong, and the server that it is wrong for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from wizard.kernel.language import mark

Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        code: Stable name of the kind of mistake; docs/repositories.md lists them.
        severity: ``error``: the server refuses the model, or every request to it. ``warning``: it loads, but something
            is probably not meant so.
        model: The model's folder; empty for the repository as a whole.
        file: Relative to the repository.
        what: What is wrong.
        fix: What to do about it.
        line: From 1; None if it is of the file as a whole.
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
    """The server that is to load the repository, as far as it is known.

    Attributes:
        backends: Names of the backends that it has; None if that is unknown.
        engines: Family of images (`wizard.catalog.releases.families`) → version of the engine that such an image has;
            empty if that is unknown.
        gpus: How many GPUs it sees; None if that is unknown.
        mounts: Folders of this machine → where the server sees them, as in ``docker run -v``.
        name: How it is called in findings.
        capabilities: Compute capabilities of its GPUs, such as ``8.9``; None if they are unknown.
    """

    backends: frozenset[str] | None = None
    engines: Mapping[str, str] = field(default_factory=dict)
    gpus: int | None = None
    mounts: tuple[tuple[str, str], ...] = ()
    name: str = mark("the server")
    capabilities: frozenset[str] | None = None
