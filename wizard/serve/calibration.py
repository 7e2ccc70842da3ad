"""Store measurements in the workspace: ``calibration.jsonl``, one line per start, and ``speeds.jsonl``, one per level
of a benchmark, both append-only; and ``cpu.json``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

from wizard.advise.benchmarked import Benchmarked
from wizard.advise.calibration import FORMULAS, Calibration, Measured, Measurement, engine
from wizard.kernel.errors import UsageError
from wizard.kernel.files import private_folder, write_whole
from wizard.kernel.language import tr
from wizard.kernel.lines import append
from wizard.kernel.paths import Workspace
from wizard.kernel.values import from_json, to_json
from wizard.plan.plan import Plan
from wizard.probe.cpu_rates import CpuRates

T = TypeVar("T")


def measurement(plan: Plan, measured: Measured) -> Measurement:
    """The measurement of a start of ``plan`` just now."""
    choice = replace(plan.choice, speed=None, reasons=(), warnings=())
    return Measurement(
        at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        server=plan.name,
        machine=plan.machine,
        engine=engine(choice.stack, choice.release),
        formulas=FORMULAS,
        model=plan.facts.ref,
        choice=choice,
        measured=measured,
    )


def keep(workspace: Workspace, measurement: Measurement) -> None:
    """Append ``measurement``.

    Raises:
        OSError: The file is not writable.
    """
    append(workspace.calibration, to_json(measurement))


def keep_rates(workspace: Workspace, rates: CpuRates) -> None:
    """Store the processor's ``rates`` in place of earlier ones.

    Raises:
        OSError: The file is not writable.
    """
    private_folder(workspace.root)
    write_whole(workspace.cpu_rates, to_json(rates) + "\n")


def keep_speed(workspace: Workspace, measured: Benchmarked) -> None:
    """Append a level of a benchmark.

    Raises:
        OSError: The file is not writable.
    """
    append(workspace.speeds, to_json(measured))


def kept(workspace: Workspace) -> Calibration:
    """All measurements of this machine; a file of rates that is not readable counts as none."""
    starts, bad_starts = _lines(workspace.calibration, Measurement)
    speeds, bad_speeds = _lines(workspace.speeds, Benchmarked)
    damage = " ".join(filter(None, (bad_starts, bad_speeds))) or None
    return Calibration(starts, damage, _rates(workspace), speeds)


def _rates(workspace: Workspace) -> CpuRates | None:
    try:
        rates = from_json(CpuRates, workspace.cpu_rates.read_bytes(), where=str(workspace.cpu_rates))
    except (OSError, UsageError):
        return None
    return rates if rates.bandwidth > 0 and rates.cores > 0 else None


def _lines(path: Path, kind: type[T]) -> tuple[tuple[T, ...], str]:
    """All readable lines of a file, and what is wrong with the others. Nothing is ever removed from the file."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return (), ""
    except OSError as error:
        why = tr(
            "Cannot read {path} ({strerror}): measurements from this machine are not used.",
            path=path,
            strerror=error.strerror,
        )
        return (), why
    values: list[T] = []
    for line in lines:
        with suppress(UsageError):
            values.append(from_json(kind, line, where=str(path)))
    bad = len(lines) - len(values)
    skipped = tr("Skipped {bad} of the {count} lines of {path}: unreadable.", bad=bad, count=len(lines), path=path)
    return tuple(values), skipped if bad else ""
