"""An engine's memory according to its log: KV-cache tokens, memory, CUDA graphs. Text in, a value out; never an error.

The messages were seen in logs of llama.cpp (2024 to 2026), vLLM 0.5 to 0.27 and TensorRT-LLM 0.8 to 1.1; figures in
unknown messages of other versions stay unknown. Several ranks log the same; the fullest GPU's figure counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from wizard.advise.advice import Choice
from wizard.advise.calibration import Measured
from wizard.catalog import plugins
from wizard.kernel.errors import ServerError
from wizard.kernel.language import tr
from wizard.kernel.secrets import redact
from wizard.kernel.text import plain
from wizard.kernel.units import GIB, MIB
from wizard.serve.endpoint import Endpoint

KEPT_CHARACTERS = 300
"""Maximum number of characters of a line that is kept as evidence."""
UNITS = {"B": 1, "bytes": 1, "KB": 1024, "KiB": 1024, "MB": MIB, "MiB": MIB, "GB": GIB, "GiB": GIB}
"""All three engines divide by powers of 1024, even if they print ``GB``."""
NUMBER = r"(?P<number>\d[\d,]{0,14}(?:\.\d{1,6})?)"
BYTES = r"(?P<number>-?\d{1,12}(?:\.\d{1,6})?) ?(?P<unit>bytes|[KMG]i?B)"


class Log:
    """Extracts figures from the lines of a log; remembers which lines had one."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = [plain(line) for line in lines]
        self._used: set[int] = set()

    def all(self, *patterns: str) -> list[float]:
        """Every figure of the first matching pattern in ``patterns``: bytes, or a count if it has no unit."""
        for pattern in patterns:
            hits = [(n, hit) for n, line in enumerate(self._lines) if (hit := re.search(pattern, line))]
            if hits:
                self._used.update(n for n, _ in hits)
                return [_figure(hit) for _, hit in hits]
        return []

    def used(self) -> tuple[str, ...]:
        """The lines that had a figure."""
        return tuple(redact(self._lines[n].strip())[:KEPT_CHARACTERS] for n in sorted(self._used))


def _figure(hit: re.Match[str]) -> float:
    groups = hit.groupdict()
    return float(groups["number"].replace(",", "")) * UNITS[groups.get("unit", "B")]


def single(figures: Sequence[float], which: Callable[[Sequence[float]], float] = max) -> int | None:
    """One of ``figures`` (by default the largest; ``which`` selects another); None if there are none."""
    return round(which(figures)) if figures else None


def last(figures: Sequence[float]) -> float:
    """The last logged figure."""
    return figures[-1]


@dataclass(frozen=True, slots=True)
class StackLog:
    """A serving stack's port for this stage: the value ``PORT`` of its module ``serve`` (`wizard.catalog.plugins`).

    Attributes:
        read: Returns the log's figures; unknown ones are None.
        add: Adds figures that only the running server reports, just after it became ready.
        differs: Returns what the log says differs from the choice, as a sentence; None if nothing does.
    """

    read: Callable[[Log], Measured]
    add: Callable[[Measured, Log, Endpoint], Measured] | None = None
    differs: Callable[[Log, Choice], str | None] | None = None


def read(stack: str, lines: Iterable[str]) -> Measured:
    """The figures in the log of ``stack``; all None for a stack that logs no memory.

    Raises:
        UsageError: TW-D30 if the stack's code cannot be loaded.
    """
    port, log = plugins.port(stack, "serve", StackLog), Log(lines)
    return replace(port.read(log), lines=log.used()) if port else Measured()


def check(choice: Choice, lines: Iterable[str]) -> None:
    """Check that the engine loaded the model as ``choice`` says.

    Raises:
        ServerError: TW-S11 if its log says that it did not.
        UsageError: TW-D30 if the stack's code cannot be loaded.
    """
    port = plugins.port(choice.stack, "serve", StackLog)
    if port and port.differs and (difference := port.differs(Log(lines), choice)):
        raise ServerError("TW-S11", difference, tr("See the server's log, or choose a setup without a GPU."))


def measure(endpoint: Endpoint, stack: str, lines: Iterable[str]) -> Measured:
    """The memory of the server of ``endpoint``, just after it became ready: the figures of `read`, and those that its
    stack adds.

    Raises:
        UsageError: TW-D30 if the stack's code cannot be loaded.
    """
    port, kept = plugins.port(stack, "serve", StackLog), list(lines)
    measured = read(stack, kept)
    return port.add(measured, Log(kept), endpoint) if port and port.add else measured
