"""A driver library that is missing, damaged, of another processor, or hangs at its start; the oldest binding."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.probe.fake_driver import HANG, FakeDriver, built, readings
from tests.probe.oldest_binding import FOLDER, oldest_binding
from tests.probe.test_links import IN_PAIRS, pairs_of_a6000
from wizard.kernel.values import to_data
from wizard.probe import gpus, nvml, nvml_library
from wizard.probe.host import Problem

MISSING = "libnvidia-ml.so.1: cannot open shared object file: No such file or directory"
AARCH64, X86_64 = 183, 62
"""ELF's e_machine (elf.h)."""


def problem() -> Problem:
    part = gpus.find((None, None))
    assert part.gpus == ()
    assert part.problem is not None
    return part.problem


def test_an_empty_file(driver: FakeDriver) -> None:
    """What a container has whose start lost the driver."""
    driver.library.touch()
    assert problem().code == "TW-P12"
    assert "file too short" in problem().what


def test_a_file_that_is_no_library(driver: FakeDriver) -> None:
    driver.library.write_text("version https://git-lfs.github.com/spec/v1\n" * 20)
    assert problem().code == "TW-P12"
    assert "invalid ELF header" in problem().what


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_library_cut_short(driver: FakeDriver, share: float) -> None:
    """The loader says so, or reads beyond the file's end and is killed."""
    whole = built().read_bytes()
    driver.says(readings("nvml-h200-x1"))
    driver.library.unlink()
    driver.library.write_bytes(whole[: int(len(whole) * share)])
    part = gpus.find((None, None))
    assert part.gpus or (part.problem and part.problem.code == "TW-P12")


def test_a_library_for_another_processor(driver: FakeDriver) -> None:
    data = bytearray(built().read_bytes())
    data[18] = AARCH64 if data[18] == X86_64 else X86_64
    driver.library.write_bytes(data)
    part = gpus.find((None, None))
    if part.problem and part.problem.code == "TW-P12":
        assert f"{driver.library} is built for another processor" in part.problem.what
    else:  # the loader passed over it and found this machine's own
        assert nvml_library.nvidia_on_pci()


def test_a_library_that_hangs_while_it_starts(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "STARTS_S", 0.5)
    driver.says({"init": HANG})
    began = time.monotonic()
    assert problem().code == "TW-P11"
    assert time.monotonic() - began < 30


def test_advice_for_a_machine_whose_library_is_damaged_names_the_error(driver: FakeDriver) -> None:
    driver.library.touch()
    command = [sys.executable, "-m", "wizard", "advise", "Qwen/Qwen2.5-32B-Instruct", "--offline"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "(TW-P12)" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("on_bus", "code", "word"),
    [(True, "TW-P01", "install NVIDIA's driver"), (False, "TW-P14", "models run on the CPU")],
)
def test_the_problem_of_a_missing_library_depends_on_whether_there_is_a_gpu(
    tmp_path: Path, on_bus: bool, code: str, word: str
) -> None:
    if on_bus:
        pci_device(tmp_path, "0x10de", "0x030200")
    missing = nvml_library.not_loaded(MISSING, tmp_path)
    assert missing.code == code
    assert word.lower() in missing.todo.lower()


def test_what_the_library_itself_needs_is_no_missing_library(tmp_path: Path) -> None:
    message = "libother.so.2: cannot open shared object file: No such file or directory"
    assert nvml_library.not_loaded(message, tmp_path).code == "TW-P12"


@pytest.mark.parametrize(
    ("vendor", "device_class", "seen"),
    [("0x10de", "0x030200", True), ("0x10de", "0x040300", False), ("0x8086", "0x030000", False)],
)
def test_a_gpu_without_its_driver_shows_on_the_pci_bus(
    tmp_path: Path, vendor: str, device_class: str, seen: bool
) -> None:
    pci_device(tmp_path, vendor, device_class)
    assert nvml_library.nvidia_on_pci(tmp_path) is seen


def pci_device(root: Path, vendor: str, device_class: str) -> None:
    device = root / "sys/bus/pci/devices/0000:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text(vendor + "\n")
    (device / "class").write_text(device_class + "\n")


@pytest.fixture(params=["newest", "oldest"])
def binding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The installed nvidia-ml-py, and the oldest that the wizard allows."""
    if request.param == "oldest":
        monkeypatch.setenv("PYTHONPATH", str(oldest_binding()))
    which = [sys.executable, "-c", "import pynvml; print(pynvml.__file__)"]
    file = subprocess.run(which, check=True, capture_output=True, text=True).stdout
    assert file.startswith(str(FOLDER)) == (request.param == "oldest")
    return str(request.param)


@pytest.mark.parametrize("version", ["550.54.15", "570.86.10", "580.159.04"])
def test_the_command_lists_gpus_and_links(driver: FakeDriver, binding: str, version: str, tmp_path: Path) -> None:
    driver.says(pairs_of_a6000() | {"driver": version})
    command = [sys.executable, "-m", "wizard", "probe", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    host: dict[str, Any] = json.loads(done.stdout)
    assert host["driver_version"] == version
    assert [gpu["name"] for gpu in host["gpus"]] == ["NVIDIA RTX A6000"] * 4
    assert host["gpu_links"] == to_data(IN_PAIRS)


def test_both_bindings_read_the_same(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.says(readings("nvml-h200-x8"))
    by_newest = gpus.find((None, None))
    monkeypatch.setenv("PYTHONPATH", str(oldest_binding()))
    assert gpus.find((None, None)) == by_newest


def test_the_oldest_binding_misreads_processes(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    data = readings("nvml-h200-x1")
    data["gpus"][0]["ComputeRunningProcesses"] = [{"pid": 42, "usedGpuMemory": 1}, {"pid": 43, "usedGpuMemory": 1}]
    driver.says(data)
    monkeypatch.setenv("PYTHONPATH", str(oldest_binding()))
    (gpu,) = gpus.find((None, None)).gpus
    assert gpu.processes == ()
    assert "nvidia-ml-py 12.535.77" in gpu.unknown["processes"]
