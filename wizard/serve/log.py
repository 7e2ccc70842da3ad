"""Triton's own log: which lines are noise without a GPU, and which line has the cause of a failure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from datetime import datetime
from math import inf
from pathlib import Path

from wizard.kernel.errors import UsageError
from wizard.kernel.language import join, tr
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

HOPELESS = re.compile(r"error while loading shared libraries: .+|^bash: line \d+: .+", re.MULTILINE)
"""The stub could not start; the server does not notice and waits forever."""

_CAUSES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        HOPELESS.pattern,
        r"failed to load '[^'\n]+' version \d+: (?P<cause>.+)",
        r"failed to start .+ service: .+",
        r"Socket '[^'\n]+' already in use",
        r"Poll failed for model directory '[^'\n]+': .+",
        r"error: (?P<cause>.+)",
        # messages of docker and podman when they start no container
        r"^docker: (?:Error response from daemon: )?(?P<cause>.+)",
        r"^Error: (?P<cause>.+)",
        r"^\w+(?:Error|Exception): .+",  # the last line of a traceback: ranks are started by Python
        r"^terminate called after .+",  # C++'s message about an uncaught exception
        r"^Signal \(\d+\) received",  # Triton's message about a fatal signal; a crash's trace comes after it
    )
)


_ENDS = re.compile(rb"(?<=\n)|(?<=\r)(?!\n)")
END_BYTES = 1 << 22
"""Bytes of `ends`: what an engine logs before it is ready, many times over."""


def tail(path: Path, lines: int) -> list[str]:
    """The last ``lines`` lines of a log that may be large; empty if there is no log."""
    return [line for _, line in _tail(path, lines)]


def _tail(path: Path, lines: int) -> list[tuple[int, str]]:
    """The last lines, each after the byte where it begins."""
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, 2) - 400 * lines)
            file.seek(start)
            pieces = _ENDS.split(file.read())
    except FileNotFoundError:
        return []
    rows: list[tuple[int, str]] = []
    for piece in pieces:
        if piece:
            rows.append((start, piece.rstrip(b"\r\n").decode("utf-8", "replace")))
        start += len(piece)
    return rows[-lines:]


def times_of(log: Path) -> Path:
    """The file with the times of ``log``: lines of a byte's offset and the Unix time when it and what follows came.

    Steps' logs have one. The log itself is what the program wrote.
    """
    return log.with_name(log.name + ".times")


def _times(path: Path) -> list[tuple[int, float]]:
    """Offset and time, in order; empty if there are none. The last line may be half written."""
    try:
        rows = [line.split() for line in times_of(path).read_text(encoding="ascii").splitlines()]
    except FileNotFoundError:
        return []
    return [(int(row[0]), float(row[1])) for row in rows if len(row) == 2]


def ends(path: Path) -> list[str]:
    """The lines of a log; of one that is larger than twice `END_BYTES`, the first and the last.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        start = file.read(END_BYTES)
        file.seek(max(len(start), file.seek(0, 2) - END_BYTES))
        return (start + file.read()).decode("utf-8", "replace").splitlines()


def first_causes(text: str) -> dict[int, str]:
    """Number of each pattern of `cause` that matches → the first line that it matches."""
    return {number: _line(text, match) for number, pattern in enumerate(_CAUSES) if (match := pattern.search(text))}


def _line(text: str, match: re.Match[str]) -> str:
    return text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]


def cause(lines: Iterable[str]) -> str | None:
    """The sentence with the first cause of a failed start, or None; later lines are consequences."""
    matches = first_causes("\n".join(lines))
    if not matches:
        return None
    match = _CAUSES[min(matches)].search(matches[min(matches)])
    message = (match.groupdict().get("cause") or match.group()) if match else ""
    return message.partition(r"\n\nAt:\n")[0].strip()  # the location in Python, which Triton writes on the same line


def view(
    workspace: Workspace, name: str | None, *, lines: int, step: str | None, raw: bool, times: bool = False
) -> list[str]:
    """The last ``lines`` lines of a log, which is kept after the server stops.

    With ``times``, each line of a step's log begins with the local time when it came; Triton's own have theirs.

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
    shown = _tail(path, lines)
    when = _times(path) if times else []
    return [
        join(" ", _at(when, offset), redact(plain(line))) for offset, line in shown if raw or not NOISE.search(line)
    ]


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


def _at(times: list[tuple[int, float]], offset: int) -> str:
    """The time of the byte ``offset``; empty if it is not known."""
    index = bisect_right(times, (offset, inf)) - 1
    if index < 0:
        return ""
    return datetime.fromtimestamp(times[index][1]).astimezone().isoformat(timespec="milliseconds")
