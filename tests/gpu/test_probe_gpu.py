"""On a real NVIDIA machine: our host says what ``nvidia-smi`` says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from wizard.catalog.gpus import match
from wizard.kernel.units import MIB
from wizard.probe.hardware import find, save
from wizard.probe.host import Gpu, Host

FIELDS = (
    *("index", "name", "uuid", "memory.total", "compute_cap", "power.limit", "driver_version"),
    *("pcie.link.gen.max", "pcie.link.width.max", "clocks.max.memory", "clocks.max.sm", "mig.mode.current"),
)


def smi(*arguments: str) -> str:
    done = subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        shutil.which("nvidia-smi") is None or not smi("-L"), reason="no NVIDIA GPU with its driver here"
    ),
]


@pytest.fixture(scope="module")
def host() -> Host:
    return find(None, Path("/"))


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    lines = smi(f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits").splitlines()
    return [dict(zip(FIELDS, map(str.strip, line.split(",")), strict=True)) for line in lines]


def test_there_are_gpus(host: Host) -> None:
    assert host.gpu_problem is None
    assert host.gpus
    assert host.unknown.keys() <= {"gpu_links", "interpreters", "cpu.model"}


def test_each_gpu_is_as_nvidia_smi_says(host: Host, rows: list[dict[str, str]]) -> None:
    assert len(rows) == len(host.gpus)
    for gpu, row in zip(host.gpus, rows, strict=True):
        for field, value in ours(gpu, host).items():
            if row[field] not in ("[N/A]", "[Not Supported]"):
                assert value == row[field], field


def ours(gpu: Gpu, host: Host) -> dict[str, str]:
    """Our values in nvidia-smi's words, without those that we do not know."""
    values = {
        "index": gpu.index,
        "name": gpu.name,
        "uuid": gpu.uuid,
        "memory.total": gpu.memory_total_bytes and gpu.memory_total_bytes // MIB,
        "compute_cap": gpu.compute_capability and "{}.{}".format(*gpu.compute_capability),
        "power.limit": gpu.power_limit_watts and f"{gpu.power_limit_watts:.2f}",
        "driver_version": host.driver_version,
        "pcie.link.gen.max": gpu.pcie_generation,
        "pcie.link.width.max": gpu.pcie_width,
        "clocks.max.memory": gpu.memory_clock_mhz,
        "clocks.max.sm": gpu.sm_clock_mhz,
        "mig.mode.current": {True: "Enabled", False: "Disabled"}.get(bool(gpu.mig_enabled)),
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def test_the_newest_cuda_is_as_nvidia_smi_says(host: Host) -> None:
    match = re.search(r"CUDA Version\s*:\s*([\d.]+)", smi("-q"))
    assert match is not None
    assert host.cuda_driver_version == match.group(1)


def test_links_are_as_nvidia_smi_says(host: Host) -> None:
    if len(host.gpus) < 2:
        pytest.skip("one GPU has no links")
    matrix = {line.split()[0]: line.split()[1:] for line in smi("topo", "-m").splitlines() if re.match(r"GPU\d", line)}
    assert len(host.gpu_links) == len(host.gpus) * (len(host.gpus) - 1) // 2
    for link in host.gpu_links:
        assert link.kind == matrix[f"GPU{link.a}"][link.b]


def test_a_profile_of_the_gpu_agrees_with_it(host: Host) -> None:
    for gpu in host.gpus:
        profile = match(gpu.name)
        if profile is None:
            pytest.skip(f"no profile of {gpu.name}")
        assert profile.compute_capability == gpu.compute_capability
        assert gpu.memory_total_bytes == pytest.approx(profile.memory.bytes, rel=0.01)


def test_a_recording_of_the_machine_reads_back(host: Host, tmp_path: Path) -> None:
    save(host, tmp_path / "host.json")
    assert find(str(tmp_path / "host.json"), tmp_path).gpus == host.gpus
