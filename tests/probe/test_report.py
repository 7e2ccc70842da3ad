"""The description for a terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pynvml
from hypothesis import given

from tests.probe.fake_driver import FakeDriver, error, readings
from tests.probe.test_hardware import h200s, hosts
from tests.values import CPU_HOST
from wizard.kernel.text import plain, width
from wizard.probe import gpus
from wizard.probe.hardware import find
from wizard.probe.host import ContainerEngine, Gpu, GpuProcess, Host, Interpreter, MigSlice
from wizard.probe.report import fold, text


@given(hosts)
def test_any_host_fits_eighty_columns_and_moves_no_cursor(host: Host) -> None:
    report = text(host)
    assert max(map(width, report.split("\n"))) <= 80
    assert plain(report) == report
    assert "\t" not in report


def test_eight_gpus(driver: FakeDriver) -> None:
    report = text(h200s(driver, 8))
    assert "0: NVIDIA H200, 140 GiB, 140 GiB free, compute capability 9.0" in report
    assert "links NV18: all pairs" in report
    assert "NVIDIA driver 580.159.04, supports CUDA up to 13.0" in report


def test_mixed_links_are_listed_by_kind() -> None:
    report = text(find("5xl4", Path("/")))
    assert "links NODE: 0-1 0-2 0-3 1-2 1-3 2-3" in report
    assert "links SYS: 0-4 1-4 2-4 3-4" in report


def test_why_there_is_no_gpu(driver: FakeDriver) -> None:
    driver.says({"init": error(pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH)})
    part = gpus.find((None, None))
    report = text(replace(CPU_HOST, gpu_problem=part.problem))
    assert "(TW-P03)" in report
    assert "→ Reboot" in report


def test_what_is_unknown_is_reported_with_its_reason(driver: FakeDriver) -> None:
    data = readings("nvml-h200-x1")
    for name in ("MemoryInfo", "MemoryInfo_v2"):
        data["gpus"][0][name] = error(pynvml.NVML_ERROR_GPU_IS_LOST)
    driver.says(data)
    part = gpus.find((None, None))
    report = text(replace(CPU_HOST, gpus=part.gpus, unknown={"cpu.model": "not named"}))
    assert "0: NVIDIA H200, unknown, unknown free" in report
    assert "   unknown memory_total_bytes, memory_free_bytes: GPU is lost" in report
    assert "unknown     cpu.model: not named" in report


def test_slices_processes_and_shared_memory() -> None:
    gpu = Gpu(
        0,
        "GPU",
        memory_total_bytes=1 << 30,
        memory_free_bytes=1 << 29,
        memory_is_shared_with_host=True,
        mig_enabled=True,
        mig_slices=(MigSlice("MIG-1", "1g.5gb", 5 << 30),),
        processes=(GpuProcess(42, "tritonserver", 1 << 30), GpuProcess(7, None, None)),
    )
    report = text(replace(CPU_HOST, gpus=(gpu, replace(gpu, index=1, mig_slices=()))))
    assert "1.0 GiB, 512 MiB free (shared with the host)" in report
    assert "MIG 1g.5gb: 5.0 GiB" in report
    assert "used by process 42 (tritonserver): 1.0 GiB" in report
    assert "used by process 7 (name hidden): unknown" in report
    assert "MIG is on, but no slices exist" in report


def test_engines_interpreters_and_ports() -> None:
    host = replace(
        CPU_HOST,
        engines=(
            ContainerEngine("docker", "28.2.2", None, None, "permission denied"),
            ContainerEngine("docker", "28.2.2", "24.0.5", nvidia_runtime=True),
            ContainerEngine("podman", "4.3.1", "4.3.1", nvidia_runtime=False),
        ),
        interpreters=(Interpreter("/opt/python3", (3, 13, 0), None, has_venv=False, usable=False, why_not="too new"),),
        busy_ports=(8000,),
    )
    report = text(host)
    assert "docker 28.2.2: permission denied" in report
    assert "docker 28.2.2: responds (server 24.0.5), can use NVIDIA GPUs" in report
    assert "podman 4.3.1: responds, has no NVIDIA runtime" in report
    assert "3.13.0 /opt/python3: too new (cannot create virtual" in report
    assert "8001, 8002 free; 8000 in use" in report


def test_folding() -> None:
    assert fold("one two three", 9) == ["one two", "  three"]
    assert fold("   one two", 8) == ["   one", "     two"]
    assert fold("abcdefghij", 6) == ["abcdef", "  ghij"]
    assert fold("漢字漢字", 5) == ["漢字", "  漢", "  字"]
    assert fold("", 5) == [""]
    assert fold("a" * 100_000, 80) == ["a" * 80, *["  " + "a" * 78] * 1281, "  aa"]
