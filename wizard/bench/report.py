"""The report of a benchmark: ``report.json`` in a folder, beside the files of its runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from wizard.advise.advice import Speed
from wizard.advise.reasons import Note
from wizard.bench.dataset import Dataset
from wizard.bench.load import Load, ServiceLevel
from wizard.bench.measured import Measured
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.values import from_json

FORMAT = 1
"""Version of the report's format; a reader rejects others."""
Api: TypeAlias = Literal["openai", "generate_stream"]
"""How requests are sent: to the OpenAI-compatible address, or to Triton's own streaming endpoint."""


@dataclass(frozen=True, slots=True)
class Target:
    """What was measured.

    Attributes:
        name: The server in the workspace, or its URL.
        model: The model's name there.
        url: Where requests were sent.
        api: How they were sent.
        ref: The model's ID on the Hub, or its display name; empty if unknown.
        stack: The serving stack; empty for a server that the wizard did not start, and so are the next ones.
        setup: The chosen options as on the command line: ``tp`` → ``2``.
        slots: Requests that the server runs at once; None if unknown.
        plan: Fingerprint of the plan that it was started from.
    """

    name: str
    model: str
    url: str
    api: Api = "openai"
    ref: str = ""
    stack: str = ""
    setup: dict[str, str] = field(default_factory=dict)
    slots: int | None = None
    plan: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the load generator ran; for a server of the wizard, the server too.

    Attributes:
        cpu: Name of the processor.
        cores: Cores that may be used.
        memory_bytes: Main memory.
        gpus: Names of the GPUs.
        driver: Version of NVIDIA's driver; empty without one.
        os: Name of the operating system.
    """

    cpu: str
    cores: int
    memory_bytes: int | None = None
    gpus: tuple[str, ...] = ()
    driver: str = ""
    os: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A benchmark: what ran, on what, how, and what it found.

    Attributes:
        format: Version of this format, `FORMAT`.
        made: When it began, in ISO 8601 with the zone.
        command: The command that measures the same again.
        target: What was measured.
        machine: Where.
        versions: Name of a program → its version: ``triton-wizard``, ``aiperf``, ``python``, ``engine``, ``triton``.
        load: The levels of load.
        dataset: The prompts.
        level: The service level.
        points: What was found at each level, in the order of ``load``; levels that were not reached are missing.
        partial: Why it is incomplete: ``stopped``, or an error's code; empty if it is complete.
        warnings: What makes the figures doubtful, besides the points' own.
        predicted: ID of a level → the wizard's own estimate for it, made before it was measured; levels without one are
            missing.
    """

    format: int
    made: str
    command: str
    target: Target
    machine: Machine
    versions: dict[str, str]
    load: Load
    dataset: Dataset
    level: ServiceLevel
    points: tuple[Measured, ...] = ()
    partial: str = ""
    warnings: tuple[Note, ...] = ()
    predicted: dict[str, Speed] = field(default_factory=dict)


def read(text: str | bytes, *, where: str) -> Report:
    """The report in the text of a ``report.json``.

    Raises:
        UsageError: TW-K01 or TW-K02 if it is not one, TW-C60 if it was written in another format.
    """
    report = from_json(Report, text, where=where)
    check_format(report.format, FORMAT, where=where)
    return report


def check_format(format: int, known: int, *, where: str) -> None:
    """Reject a report in another format than the ``known`` one.

    Raises:
        UsageError: TW-C60.
    """
    if format != known:
        message = tr("{where} has format {format}, not {known}", where=where, format=format, known=known)
        raise UsageError("TW-C60", message, tr("Use the version of the wizard that wrote it, or measure again."))
