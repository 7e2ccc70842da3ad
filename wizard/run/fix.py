"""The command that fixes a known failure: where it helps, and running it.

Its text is always that of ``profiles/failures``: an error only names the failure. The wizard's own
commands get its path and the workspace.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from wizard.catalog.failures import Failure, failures
from wizard.kernel.errors import WizardError
from wizard.kernel.foreground import foreground
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.program import pasteable
from wizard.plan.plan import Plan
from wizard.run.diagnose import ending

Place: TypeAlias = Literal["here", "shell", "terminal", "step", "elsewhere"]
_EXPORT = re.compile(r"export (?P<name>[A-Za-z_]\w*)=(?P<value>[\w./:+-]*)", re.ASCII)
"""A variable that can be set without a shell."""


@dataclass(frozen=True, slots=True)
class Fix:
    """The command that fixes a failure.

    Attributes:
        title: The failure, in a few words.
        cause: Why it happens, in sentences; to be shown before the user agrees to the command.
        command: A shell line.
        place: Where it must run: ``here``, by `apply`; in the ``shell`` that started the wizard if that may not ask; in
            a ``terminal`` of this machine if the wizard has none; in the environment of the failed ``step``; or
            ``elsewhere``, as the failure's remedy says.
    """

    title: str
    cause: str
    command: str
    place: Place

    @property
    def by_hand(self) -> bool:
        """Whether only the user can run it."""
        return self.place != "here"

    @property
    def label(self) -> str:
        """What the command is for, in a line above it."""
        if self.place == "here":
            return tr("Known fix:")
        if self.place == "step":
            return tr("Run this in the failed step's container or virtual environment, then try again:")
        if self.place in ("shell", "terminal") and _EXPORT.fullmatch(self.command):
            return tr("Run this before you start the wizard, then try again:")
        if self.place == "shell":
            return tr("Run this, then try again:")
        if self.place == "terminal":
            return tr("Run this in a terminal of this machine, then try again:")
        return tr("Run this yourself, then try again:")

    def apply(self) -> int:
        """Run it in the foreground of the terminal; return its exit status, see `foreground`.

        A variable is set for everything that this process starts from then on.
        """
        if variable := _EXPORT.fullmatch(self.command):
            os.environ[variable["name"]] = variable["value"]
            return 0
        return foreground(self.command)

    def result(self, status: int) -> str:
        """What `apply` has done, in a sentence."""
        if _EXPORT.fullmatch(self.command):
            return tr("`{command}` applies to everything that this wizard starts, until it ends.", command=self.command)
        if status == 0:
            return tr("`{command}` succeeded.", command=self.command)
        return tr("`{command}` ended: {how}.", command=self.command, how=ending(status))


def fix_of(error: WizardError | None, plan: Plan | None, *, terminal: bool, asks: bool = True) -> Fix | None:
    """The command that fixes the known failure behind ``error``; None if there is none.

    Args:
        error: The error.
        plan: The plan that it ended.
        terminal: Whether the wizard has a terminal, in which the command can run.
        asks: Whether it may ask there.
    """
    failure = failures().get(error.known) if error is not None else None
    if failure is None or not failure.command or plan is None:
        return None
    place = _place(failure, native=plan.choice.runtime == "native")
    if place == "here" and not (terminal and asks):
        place = "shell" if terminal else "terminal"
    line = pasteable(f"`{failure.command}`", Workspace(Path(plan.workspace)))[1:-1]
    return Fix(tr(failure.title), tr(failure.cause), line, place)


def _place(failure: Failure, *, native: bool) -> Place:
    if failure.command.startswith("export ") and not _EXPORT.fullmatch(failure.command):
        return "step"  # only a shell can expand it
    if failure.where == "machine" or (failure.where == "native" and native):
        return "here"
    return "elsewhere" if failure.where == "elsewhere" else "step"
