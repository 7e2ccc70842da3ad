"""What a serving stack may ask of a runtime. A stack never knows which one it is on beyond the paths it is given.

Every path is the same on both sides: a container sees the workspace where this machine has it, so that the commands
which are shown, the files that are written and the messages that an engine prints name the same things.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from wizard.kernel.paths import ServerFolder, Workspace
from wizard.plan.plan import Command, Start, Step
from wizard.plan.ports import Ports

EXIT_TIMEOUT_S = 5
"""Seconds that Triton waits for running requests when it is told to stop."""
WITHOUT_GPUS = (("CUDA_VISIBLE_DEVICES", ""),)
"""Of a server in front of an engine process: it computes nothing, but would hold a CUDA context on each GPU it sees."""


class Runtime(Protocol):
    """Carries out a stack's commands and its server."""

    @property
    def workspace(self) -> Workspace:
        """Where everything is made."""
        ...

    @property
    def server(self) -> ServerFolder:
        """The server's folder."""
        ...

    @property
    def python(self) -> str:
        """The interpreter that has the engine's packages, as an argv's first word."""
        ...

    @property
    def checked(self) -> Path:
        """Folder for notes on what was checked of the engine's packages; it goes away with them."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Artefacts that a command reads: of what `prepare` makes, that which has the engine's packages."""
        ...

    @property
    def server_needs(self) -> tuple[str, ...]:
        """Artefacts that the server reads: all that `prepare` makes."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know before accepting the plan."""
        ...

    def prepare(self) -> tuple[Step, ...]:
        """The steps that make or fetch what runs the commands: an environment, an image."""
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
            step: The step's id.
            argv: Program and arguments, as the serving image has them.
            env: Variables.
            reads: Folders or files outside the workspace's models that it reads.
            writes: Folders that it writes; they exist.
            gpus: GPUs that it uses; 0: none.
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
            model: Whose readiness counts.
            ports: Ports that are free now.
            made: Changes when anything that the server is made from changes.
            argv: Instead of ``tritonserver`` with the repository: what starts it under MPI.
            env: Variables of the server.
            reads: Folders outside the workspace that it reads.
            auto_complete: Let backends fill in their configuration (vLLM's and the LLM API's need it).
        """
        ...
