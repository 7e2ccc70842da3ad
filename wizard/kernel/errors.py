"""The hierarchy of all errors that a user can see.

An error has three parts: what happened, what to do about it, and a searchable code. The class decides
the exit status; the code's letter names the stage (P probe, M model, A advise, L plan, R run, S serve, C chat,
G gateway, B workshop, D data in profiles, K kernel, N notebook, U usage). A test checks that every code in the package
is exercised by a test.
"""

from __future__ import annotations

import signal

from wizard.kernel.language import localized, mark


class WizardError(Exception):
    """Base of all errors that a user can see.

    Args:
        code: Stable identifier such as ``TW-M01``.
        message: What happened, one sentence, with the value that caused it.
        todo: What the user can do next, one or two sentences.
    """

    exit_code = 1
    known = ""
    """ID of the failure in ``profiles/failures`` that explains it; empty if there is none."""

    def __init__(self, code: str, message: str, todo: str) -> None:
        super().__init__(message)
        self.code = code
        self._message = message
        self._todo = todo

    @property
    def what(self) -> str:
        """What happened, in the current language."""
        return localized(self._message)

    @property
    def todo(self) -> str:
        """What the user can do next, in the current language."""
        return localized(self._todo)

    def __str__(self) -> str:
        return f"{self.code}: {self.what}\n  → {self.todo}"

    def as_json(self) -> dict[str, str]:
        """The error as every ``--json`` command prints it under ``error``; `to_json` writes it in English."""
        return {"code": self.code, "what": self._message, "todo": self._todo}


class UsageError(WizardError):
    """A flag, an answer or a file that the user gave cannot be used."""

    exit_code = 2


class HostError(WizardError):
    """This machine lacks something that the chosen setup needs."""

    exit_code = 3


class InfeasibleError(WizardError):
    """No supported configuration can serve this model on this machine with these constraints."""

    exit_code = HostError.exit_code


class ModelError(WizardError):
    """The model is missing, damaged, or not what it claims to be."""

    exit_code = 4


class NetworkError(WizardError):
    """A download or a request over the network failed."""

    exit_code = 5


class WorkspaceError(WizardError):
    """The workspace is not writable, is full, or is locked by another wizard."""

    exit_code = 6


class StepError(WizardError):
    """A step of the plan failed; the log shows why."""

    exit_code = 7


class ServerError(WizardError):
    """Triton did not start, exited, or returned an error."""

    exit_code = 8


class CancelledError(WizardError):
    """The user cancelled the run (exit status 128 + SIGINT, as in shells)."""

    exit_code = 130


EXIT_CODES: dict[int, str] = {
    0: mark("success"),
    1: mark("`doctor` found a problem, or a bug in the wizard"),
    UsageError.exit_code: mark("invalid flag, answer or input file"),
    HostError.exit_code: mark("this machine cannot serve the model as requested, or a requirement is missing"),
    ModelError.exit_code: mark("the model is missing, damaged, or not accessible"),
    NetworkError.exit_code: mark("the Hugging Face Hub did not respond or returned an error"),
    WorkspaceError.exit_code: mark("the workspace is not writable or is in use by another wizard"),
    StepError.exit_code: mark("a step failed"),
    ServerError.exit_code: mark("Triton did not start, crashed, or returned an error"),
    CancelledError.exit_code: mark("stopped by the user"),
    128 + signal.SIGPIPE: mark("broken pipe (the program that read the output has exited)"),
}
"""Every exit status of the command line and what it means (printed by ``triton-wizard --help``)."""
