"""The file that keeps what was measured: it is only appended to, and damage costs only the damaged lines."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.values import plan_of
from wizard.advise.calibration import NOTHING, Measured, Measurement, summary
from wizard.advise.reasons import Note
from wizard.kernel import proctable
from wizard.kernel.paths import Workspace
from wizard.plan.ports import Ports
from wizard.probe.cpu_rates import CpuRates
from wizard.serve import find
from wizard.serve.calibration import keep, keep_rates, kept, measurement
from wizard.serve.endpoint import Endpoint
from wizard.serve.status import statuses

MEASURED = Measured(3_500_000, 4096, 8_388_608, 2_000_000, None, 90_000_000, ("KV buffer size = 8.00 MiB",))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def line(workspace: Workspace, name: str = "demo") -> Measurement:
    plan = plan_of(workspace.root, name=name)
    noted = replace(plan.choice, reasons=(Note("a", {"b": 1}),))
    return measurement(replace(plan, machine="Some CPU", choice=noted), MEASURED)


def test_what_is_kept_is_read_back_oldest_first(workspace: Workspace) -> None:
    lines = [line(workspace, name) for name in ("one", "two", "one")]
    for text in lines:
        keep(workspace, text)
    calibration = kept(workspace)
    assert calibration.measurements == tuple(lines)
    assert calibration.damage is None
    assert calibration.latest_of("one") is calibration.measurements[2]
    assert calibration.latest_of("three") is None
    silent = replace(lines[1], measured=Measured())
    assert replace(calibration, measurements=(*lines, silent)).latest_of("two") is None, "the last engine said nothing"


def test_a_line_says_when_where_and_with_what(workspace: Workspace) -> None:
    measurement = line(workspace)
    assert (measurement.server, measurement.machine, measurement.model) == ("demo", "Some CPU", "demo")
    assert measurement.engine.startswith("triton 2.51.0, llama.cpp")
    assert measurement.at.endswith("+00:00")
    assert measurement.choice.reasons == ()
    assert measurement.measured == MEASURED


def test_before_the_first_start_nothing_is_known(workspace: Workspace) -> None:
    assert kept(workspace) == NOTHING


def test_a_measurement_makes_the_workspace_that_is_not_there_yet(tmp_path: Path) -> None:
    fresh, rates = Workspace(tmp_path / "a" / "b"), CpuRates("a processor", 1, 1e9, "2026-11-23")
    keep_rates(fresh, rates)
    keep_rates(fresh, replace(rates, bandwidth=2e9))
    keep(fresh, line(fresh))
    assert kept(fresh).cpu == replace(rates, bandwidth=2e9)


def test_damage_costs_only_the_damaged_lines_and_is_reported(workspace: Workspace) -> None:
    keep(workspace, line(workspace))
    with workspace.calibration.open("ab") as file:
        file.write(b'{"at": "2026-11-2\n\xff\xfe\n[]\n{"at": 1}\n{"at": "half of a li')
    keep(workspace, line(workspace, "after"))
    calibration = kept(workspace)
    assert [sample.server for sample in calibration.measurements] == ["demo", "after"]
    assert calibration.damage is not None
    assert "5 of the 7 lines" in calibration.damage
    assert str(workspace.calibration) in calibration.damage
    assert len(workspace.calibration.read_bytes().splitlines()) == 7  # nothing was removed


@pytest.mark.parametrize(
    ("changes", "usable"),
    [({}, True), ({"cores": 0}, False), ({"bandwidth": 0.0}, False), ({"bandwidth": -1e9}, False)],
)
def test_rates_of_no_processor_count_as_none(
    workspace: Workspace, changes: dict[str, int | float], usable: bool
) -> None:
    rates = replace(CpuRates("a processor", 1, 0.5, "2026-11-23"), **changes)  # type: ignore[arg-type]
    keep_rates(workspace, rates)
    assert kept(workspace).cpu == (rates if usable else None)


def test_a_folder_in_its_place_is_reported_and_not_an_error(workspace: Workspace) -> None:
    workspace.calibration.mkdir()
    calibration = kept(workspace)
    assert calibration.measurements == ()
    assert calibration.damage is not None
    assert calibration.damage.startswith(f"Cannot read {workspace.calibration}")
    with pytest.raises(OSError, match="directory"):
        keep(workspace, line(workspace))


def test_a_ready_server_shows_what_it_took(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process stands for the server, and its answer to "are you ready?" for Triton's."""
    measurement = line(workspace)
    keep(workspace, measurement)
    workspace.server("demo").root.mkdir(parents=True)
    workspace.server("other").root.mkdir()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        row = proctable.read(process.pid)
        assert row is not None
        endpoint = Endpoint("demo", "demo", "127.0.0.1", Ports(9, 9, 9), process.pid, row.started, "")
        find.write(workspace.server("demo"), endpoint)
        monkeypatch.setattr("wizard.serve.health.is_ready", lambda _: True)
        monkeypatch.setattr("wizard.serve.find.model_process", lambda _: row)
        demo, other = statuses(workspace)
        process.communicate(b"\n")
    assert demo.detail.endswith(summary(measurement))
    assert demo.predicted == measurement.choice.memory
    assert demo.actual is not None
    assert demo.actual.activation_bytes == 2_000_000
    assert (other.state, other.predicted, other.actual) == ("stopped", None, None)
