"""Triton's own log: which lines are noise without a GPU, and which line has the cause of a failure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.secrets import redact
from wizard.kernel.text import plain

NOISE = re.compile(
    "Unable to allocate pinned system memory|CudaDriverHelper has not been initialized|Failed to initialize NVML"
    "|DCGM unable to start|unable to create stream for ensemble|Error when calling cuInit|cudaErrorNoDevice"
)
"""Lines that Triton 2.51.0 always prints on a machine without an NVIDIA GPU; they are harmless there."""

STARTED = ("Started GRPCInferenceService", "Started HTTPService", "Started Metrics Service")
"""Lines that Triton 2.51.0 logs, in this order, when it listens on each of its ports."""

HOPELESS = re.compile(r"error while loading shared libraries: .+|^bash: line \d+: .+")
"""The stub could not start; the server does not notice and waits forever."""

_CAUSES = (
    HOPELESS,
    re.compile(r"failed to load '[^']+' version \d+: (?P<cause>.+)"),
    re.compile(r"failed to start .+ service: .+"),
    re.compile(r"Socket '[^']+' already in use"),
    re.compile(r"Poll failed for model directory '[^']+': .+"),
    re.compile(r"error: (?P<cause>.+)"),
    # messages of docker and podman when they start no container
    re.compile(r"^docker: (?:Error response from daemon: )?(?P<cause>.+)"),
    re.compile(r"^Error: (?P<cause>.+)"),
    re.compile(r"^\w+(?:Error|Exception): .+"),  # the last line of a traceback: ranks are started by Python
    re.compile(r"^terminate called after .+"),  # C++'s message about an uncaught exception
    re.compile(r"^Signal \(\d+\) received"),  # Triton's message about a fatal signal; a crash's trace comes after it
)


def tail(path: Path, lines: int) -> list[str]:
    """The last ``lines`` lines of a log that may be large; empty if there is no log."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, 2)
            file.seek(max(0, end - 400 * lines))
            return file.read().decode("utf-8", "replace").splitlines()[-lines:]
    except FileNotFoundError:
        return []


def cause(lines: Iterable[str]) -> str | None:
    """The sentence with the first cause of a failed start, or None; later lines are consequences."""
    text = list(lines)
    for pattern in _CAUSES:
        for line in text:
            if match := pattern.search(line):
                message = match.groupdict().get("cause") or match.group()
                return message.partition(r"\n\nAt:\n")[
                    0
                ].strip()  # the location in Python, which Triton writes on the same line
    return None


def view(workspace: Workspace, name: str | None, *, lines: int, step: str | None, raw: bool) -> list[str]:
    """The last ``lines`` lines of a log, which is kept after the server stops.

    Raises:
        UsageError: TW-S08 if the server or the step has no log, or no name is given and there are several servers.
    """
    server = only(workspace, name)
    folder = server.logs
    path = folder / f"{step or 'triton'}.log"
    if not path.is_file() or path.parent != folder:
        known = ", ".join(sorted(each.stem for each in folder.glob("*.log"))) or tr("none yet")
        raise UsageError(
            "TW-S08",
            tr("no log {stem!r} for {names}", names=server.name, stem=path.stem),
            tr("Logs of {names}: {known}.", names=server.name, known=known),
        )
    shown = tail(path, lines)
    return [redact(plain(line)) for line in shown if raw or not NOISE.search(line)]


def only(workspace: Workspace, name: str | None) -> ServerFolder:
    """The server ``name``, or the only one.

    Raises:
        UsageError: TW-S08 if no name is given and there are several servers, or none.
    """
    names = [name] if name else workspace.names()
    if len(names) != 1:
        message = (
            tr("several servers exist: {names}", names=", ".join(names))
            if names
            else tr("no server in {root}", root=workspace.root)
        )
        fix = (
            tr("Use a name that `triton-wizard status` lists.")
            if names
            else tr("Start one: `triton-wizard up {name}`.", name="demo")
        )
        raise UsageError("TW-S08", message, fix)
    return workspace.server(names[0])
