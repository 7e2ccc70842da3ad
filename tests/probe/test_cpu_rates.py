"""`probe --measure`: the processor's rates, or why they cannot be measured."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from tests.values import CPU_HOST
from wizard import journey
from wizard.cli import main
from wizard.kernel.errors import HostError, WorkspaceError
from wizard.kernel.paths import Workspace
from wizard.probe import cpu_rates
from wizard.probe.cpu_rates import CpuRates
from wizard.serve.calibration import kept


def test_without_free_memory_it_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake_allocation(_: int) -> None:
        raise MemoryError

    monkeypatch.setattr(ctypes, "create_string_buffer", fake_allocation)
    with pytest.raises(HostError, match="not enough memory") as error:
        journey.measure_cpu(CPU_HOST, Workspace.at(tmp_path))
    assert error.value.code == "TW-P16"


def test_a_workspace_that_is_not_writable_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_rates, "read_bandwidth", lambda threads: 1e10)
    monkeypatch.setattr(cpu_rates, "effective_cores", lambda threads: 1.0)
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(WorkspaceError) as error:
        journey.measure_cpu(CPU_HOST, Workspace.at(tmp_path / "file"))
    assert error.value.code == "TW-K03"


def test_the_command_measures_this_machine_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cpu_rates.read_bandwidth, "__kwdefaults__", {"total_bytes": 1 << 20, "seconds": 0.0})
    monkeypatch.setattr(cpu_rates.effective_cores, "__kwdefaults__", {"seconds": 0.0})
    with pytest.raises(SystemExit) as done:
        main(["probe", "--measure", "--workspace", str(tmp_path)])
    assert done.value.code == 0
    shown = capsys.readouterr().err
    assert "Memory bandwidth of" in shown
    assert "times as much as one alone" in shown
    rates = kept(Workspace.at(tmp_path)).cpu
    assert isinstance(rates, CpuRates)
    assert rates.effective
    assert 1 <= rates.effective <= rates.cores


@pytest.mark.parametrize(("together", "cores"), [(25.0, 2.5), (90.0, 4.0), (7.0, 1.0)])
def test_cores_are_what_all_compute_beside_one_alone(
    together: float, cores: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu_rates, "_hashed", lambda threads, _: 10.0 if threads == 1 else together)
    assert cpu_rates.effective_cores(4) == cores


def test_hashing_is_really_done_by_all_threads() -> None:
    assert cpu_rates._hashed(2, 0.01) > 1e6


def test_rates_from_before_cores_were_measured_count_all() -> None:
    assert CpuRates("x", 8, 1e10, "2026-11-23").computing == 8
    assert CpuRates("x", 8, 1e10, "2026-11-23", 3.5).computing == 3.5


@pytest.mark.parametrize("others", [["--hardware", "1xL4"], ["--watch", "1"]])
def test_only_this_machine_can_be_measured(others: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["probe", "--measure", *others])
    assert done.value.code == 2
    assert "TW-U10" in capsys.readouterr().err
