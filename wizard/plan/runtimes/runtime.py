"""The interface between serving stacks and runtimes. A stack knows nothing about its runtime except paths.

Every path is the same on both sides: a container has the workspace under its path on this machine, so that displayed
commands, written files and the engine's messages use the same paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from wizard.kernel.paths import ServerFolder, Workspace
from wizard.plan.plan import Command, Start, Step
from wizard.plan.ports import Ports

EXIT_TIMEOUT_S = 5
"""Seconds that Triton waits for running requests when it is stopped."""
WITHOUT_GPUS = (("CUDA_VISIBLE_DEVICES", ""),)
"""Environment of a server in front of an engine process: it computes nothing, but would have a CUDA context on each
visible GPU.
"""


class Runtime(Protocol):
    """Runs a stack's commands and its server."""

    @property
    def workspace(self) -> Workspace:
        """The workspace for all files."""
        ...

    @property
    def server(self) -> ServerFolder:
        """The server's folder."""
        ...

    @property
    def python(self) -> str:
        """The interpreter with the engine's packages, as the first word of an argv."""
        ...

    @property
    def checked(self) -> Path:
        """Folder for records of checks of the engine's packages; it is removed with them."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Artifacts that a command reads: the one from `prepare` with the engine's packages."""
        ...

    @property
    def server_needs(self) -> tuple[str, ...]:
        """Artifacts that the server reads: all from `prepare`."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the user before accepting the plan."""
        ...

    def prepare(self) -> tuple[Step, ...]:
        """The steps that create or download what runs the commands: an environment, an image."""
        ...

    def command(
        self,
        step: str,
        argv: Sequence[str],
        *,
        env: Sequence[tuple[str, str]] = (),
        reads: Sequence[Path] = (),
        writes: Sequence[Path] = (),
        gpus: int = 0,
    ) -> Command:
        """``argv`` as a command of the step ``step``.

        Args:
            step: The step's ID.
            argv: Program and arguments, as in the serving image.
            env: Environment variables.
            reads: Paths outside the workspace's models that it reads.
            writes: Folders that it writes; they exist.
            gpus: Number of GPUs that it uses.
        """
        ...

    def start(
        self,
        model: str,
        ports: Ports,
        made: str,
        *,
        argv: Sequence[str] | None = None,
        env: Sequence[tuple[str, str]] = (),
        reads: Sequence[Path] = (),
        auto_complete: bool = False,
    ) -> Start:
        """The action that starts Triton.

        Args:
            model: The model whose readiness counts.
            ports: Ports that are free now.
            made: Fingerprint of everything that the server depends on.
            argv: Replaces ``tritonserver`` with the repository: the command that starts it under MPI.
            env: Environment variables of the server.
            reads: Folders outside the workspace that it reads.
            auto_complete: Whether backends complete their configuration (vLLM's and the LLM API's need it).
        """
        ...
