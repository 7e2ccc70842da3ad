"""Why a command failed, from its output: the line with the cause, and the remedy.

Known causes are in ``profiles/failures``. For another one, the last line that begins as tools' errors do is shown.
"""

from __future__ import annotations

from dataclasses import dataclass

from wizard.catalog.failures import failures
from wizard.kernel.errors import StepError
from wizard.kernel.language import join, mark, tr
from wizard.kernel.text import plain
from wizard.serve.causes import Finding

FIX_THE_CAUSE = mark("Fix the cause.")
"""The remedy for an unknown cause."""
_OUT_OF_MEMORY = "process-killed-by-oom"
"""Why the system kills a process, in most cases."""
_SIGKILL = (-9, 137)
"""The system's message; and the status from a shell or a container's client: 128 plus the signal's number."""
_ERRORS = ("error", "fatal", "tw-", "docker: ", "cannot connect")
"""Prefixes of lines in which tools report the cause (docker and hf print a hint about their help after it)."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a command failed.

    Attributes:
        how: Its exit status, or the signal that killed it.
        line: The line of its output with the cause.
        todo: The cause in general and the remedy, in sentences.
        known: Its name in ``profiles/failures``; empty if it is not known.
    """

    how: str
    line: str
    todo: str
    known: str = ""

    @property
    def why(self) -> str:
        """Exit status and cause."""
        return join(": ", self.how, self.line)


@dataclass(frozen=True, slots=True)
class Failure:
    """The details of a failed command, without secrets.

    Attributes:
        how: As in `Cause`.
        line: As in `Cause`.
        todo: As in `Cause`.
        log: The file with its complete output.
        command: As a shell line.
    """

    how: str
    line: str
    todo: str
    log: str
    command: str


class CommandError(StepError):
    """A command of a step failed (TW-R03)."""

    def __init__(self, message: str, todo: str, failure: Failure, known: str = "") -> None:
        super().__init__("TW-R03", message, todo)
        self.failure = failure
        self.known = known


def diagnose(status: int, lines: list[str], known: Finding | None) -> Cause:
    """The cause of a failure.

    Args:
        status: The exit status; negative: the signal that killed the command.
        lines: The last lines of its output.
        known: The known cause in its output.
    """
    how = ending(status)
    if known is not None:
        return Cause(how, known.line, join(" ", known.cause, known.fix), known.id)
    output = [line for text in lines if (line := plain(text).strip())]
    errors = [line for line in output if line.lower().startswith(_ERRORS)]
    line = (errors or output or [tr("no output")])[-1]
    if own := _own(line, output):
        return Cause(how, line, own)
    if status not in _SIGKILL:
        return Cause(how, line, tr(FIX_THE_CAUSE))
    killed = failures()[_OUT_OF_MEMORY]
    return Cause(how, line, join(" ", tr(killed.cause), tr(killed.fix)), _OUT_OF_MEMORY)


def ending(status: int) -> str:
    """How a command ended: its exit status or, if it is negative, the signal that killed it."""
    if status < 0:
        return tr("killed by signal {number}", number=-status)
    return tr("exit status {status}", status=status)


def _own(line: str, output: list[str]) -> str | None:
    """The remedy after ``line`` if that is an error of one of the wizard's own programs (`WizardError`)."""
    following = output[output.index(line) + 1 :] if line in output else []
    own = line.startswith("TW-") and following and following[0].startswith("→ ")
    return following[0].removeprefix("→ ") if own else None
