"""Store measurements in the workspace: ``calibration.jsonl``, one line per start, append-only, and ``cpu.json``."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

from wizard.advise.calibration import FORMULAS, Calibration, Measured, Measurement, engine
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.lines import append
from wizard.kernel.paths import Workspace
from wizard.kernel.values import from_json, to_json
from wizard.plan.plan import Plan
from wizard.probe.cpu_rates import CpuRates


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
    workspace.root.mkdir(parents=True, exist_ok=True)
    fresh = workspace.cpu_rates.with_suffix(".tmp")
    fresh.write_text(to_json(rates) + "\n", encoding="utf-8")
    fresh.replace(workspace.cpu_rates)


def kept(workspace: Workspace) -> Calibration:
    """All measurements of this machine; a file of rates that is not readable counts as none."""
    return replace(_starts(workspace), cpu=_rates(workspace))


def _rates(workspace: Workspace) -> CpuRates | None:
    try:
        rates = from_json(CpuRates, workspace.cpu_rates.read_bytes(), where=str(workspace.cpu_rates))
    except (OSError, UsageError):
        return None
    return rates if rates.bandwidth > 0 and rates.cores > 0 else None


def _starts(workspace: Workspace) -> Calibration:
    """All readable lines; ``damage`` is about the others. Nothing is ever removed from the file."""
    path = workspace.calibration
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return Calibration()
    except OSError as error:
        return Calibration(
            damage=tr(
                "Cannot read {path} ({strerror}): measurements from this machine are not used.",
                path=path,
                strerror=error.strerror,
            )
        )
    measurements: list[Measurement] = []
    for line in lines:
        try:
            measurements.append(from_json(Measurement, line, where=str(path)))
        except UsageError:
            continue
    bad = len(lines) - len(measurements)
    damage = (
        tr(
            "Skipped {bad} of the {count} lines of {path}: unreadable.",
            bad=bad,
            count=len(lines),
            path=path,
        )
        if bad
        else None
    )
    return Calibration(tuple(measurements), damage)
