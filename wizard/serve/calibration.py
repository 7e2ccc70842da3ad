"""Store measurements: ``calibration.jsonl`` in the workspace, one line per start, append-only."""

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


def kept(workspace: Workspace) -> Calibration:
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
