"""What goes wrong between a bare machine and a chat: how a log shows it, why it happens, and what fixes it.

The files in ``profiles/failures`` have a table per failure, by the stage where it happens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from wizard.catalog import profiles
from wizard.kernel.values import STRICT

Kind = Literal["root", "symptom"]
Where = Literal["machine", "native", "step", "elsewhere"]
"""Where a command helps; what starts with one of `wizard.cli.prerequisites.BY_HAND`, or needs that after it, helps only
``elsewhere``.
"""


@dataclass(frozen=True, slots=True)
class Failure:
    """A cause of failure, or a symptom of several causes.

    Attributes:
        title: What happened, in a few words.
        lines: Texts of log lines, any of which shows it: ``*`` is any text, ``#`` an unsigned number, and a text
            between ``^`` and ``$`` is a whole line. Case does not matter. Each text is what the program always prints,
            without names and figures of a single case.
        cause: Why it happens.
        fix: What to do.
        source: Where the lines and the fix are from.
        kind: ``symptom``: the log's earlier lines show the cause.
        unless: Texts of lines that mean something else.
        after: IDs of failures that cause this one if the log shows them earlier.
        ordinary: Whether successful runs log this too; it counts only if nothing else explains the failure.
        command: A shell command that fixes it; empty if there is none.
        where: Where it helps: on this ``machine``; the same if the step is ``native``, which means in no container;
            only in the environment of the ``step``, its container or virtual environment; or ``elsewhere``, such as in
            another folder or session, or with something to do after it. In the first two the wizard can run it.
        changes: Options of the plan that avoid it → their new values; false removes one.
    """

    __pydantic_config__: ClassVar = STRICT
    title: str
    lines: tuple[str, ...]
    cause: str
    fix: str
    source: str
    kind: Kind = "root"
    unless: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    ordinary: bool = False
    command: str = ""
    where: Where = "elsewhere"
    changes: dict[str, int | str | bool] = field(default_factory=dict)


def by_stage() -> dict[str, dict[str, Failure]]:
    """Stage (the file's name) → ID → failure.

    Raises:
        UsageError: TW-D02 or TW-K01 if a file is damaged.
    """
    return {stage: profiles.load(dict[str, Failure], path) for stage, path in profiles.files("failures").items()}


def failures() -> dict[str, Failure]:
    """ID → failure, of all stages.

    Raises:
        UsageError: As `by_stage`.
    """
    return {name: failure for stage in by_stage().values() for name, failure in stage.items()}
