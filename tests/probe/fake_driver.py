"""A machine's NVIDIA driver for a test: a stub ``libnvidia-ml.so.1`` (``fake_nvml.c``) and recorded readings for it.

The wizard finds it as it finds the real one, by the loader (LD_LIBRARY_PATH), and asks it with the real nvidia-ml-py.
"""

from __future__ import annotations

import copy
import functools
import importlib.metadata
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HOSTS = Path(__file__).parent.parent / "cases" / "hosts"
SOURCE = Path(__file__).with_name("fake_nvml.c")
LIBRARY = "libnvidia-ml.so.1"
HANG, CRASH = {"code": "hang"}, {"code": "crash"}


def error(code: int) -> dict[str, int]:
    """A reading that says: NVML answered with this error (nvml.h, nvmlReturn_t)."""
    return {"code": code}


def readings(name: str) -> dict[str, Any]:
    """Raw readings of a real machine, to be changed at will."""
    data: dict[str, Any] = json.loads((HOSTS / f"{name}.json").read_text(encoding="utf-8"))
    return data


class FakeDriver:
    """The driver of a test: `says` installs it and decides what it answers from then on.

    Args:
        folder: Where the library and its answers are put.
        monkeypatch: Sets the environment that the wizard is to find it in.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.library = folder / LIBRARY
        self.data: dict[str, Any] = {}
        self._answers = folder / "answers"
        monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))
        monkeypatch.setenv("FAKE_NVML", str(self._answers))

    def says(self, data: dict[str, Any], *, without: tuple[str, ...] = ()) -> FakeDriver:
        """Answer as NVML did where ``data`` was recorded; ``without`` names functions that the library lacks."""
        self.library.unlink(missing_ok=True)
        self.library.symlink_to(built(without))
        self.data = copy.deepcopy(data)
        self.changed()
        return self

    def changed(self) -> None:
        """Let the changes in ``data`` count."""
        unfinished = self._answers.with_suffix(".new")
        unfinished.write_bytes("\n".join((*answers(self.data), "")).encode("utf-8", "surrogateescape"))
        unfinished.replace(self._answers)

    @property
    def starts(self) -> list[int]:
        """The processes that started NVML."""
        noted = self._answers.with_name("answers.starts")
        return [int(line) for line in noted.read_text().split()] if noted.exists() else []


@functools.cache
def built(without: tuple[str, ...] = ()) -> Path:
    """The stub library, compiled once for each choice of missing functions."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler (cc, gcc) for the stand-in of NVIDIA's driver library")
    folder = Path(tempfile.mkdtemp(prefix="fake-nvml-"))
    import atexit

    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "exported").write_text(f"{{ local: {''.join(f'{name}; ' for name in ('none', *without))}}};\n")
    headers = [f for f in importlib.metadata.files("nvidia-nvml-dev") or () if f.name == "nvml.h"]
    subprocess.run(
        [
            *(compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-truncation"),
            *("-I", str(Path(str(headers[0].locate())).parent), f"-Wl,--version-script={folder / 'exported'}"),
            *("-o", str(folder / LIBRARY), str(SOURCE)),
        ],
        check=True,
    )
    return folder / LIBRARY


def answers(data: dict[str, Any]) -> Iterator[str]:
    """The lines for `fake_nvml.c`; what was not recorded has none."""
    yield line("nvmlInitWithFlags", data.get("init", ""))
    for name, functions in SYSTEM.items():
        for function in functions:
            if name in data:
                yield line(function, data[name])
    yield line("nvmlDeviceGetCount_v2", data.get("count", len(data.get("gpus", ()))))
    for pid, name in data.get("process_names", {}).items():
        yield line(f"nvmlSystemGetProcessName {pid}", name)
    for index, gpu in enumerate(data.get("gpus", ())):
        yield line(f"nvmlDeviceGetHandleByIndex_v2 {index}", gpu.get("Handle", ""))
        yield from of_device(str(index), gpu)
        for slot, part in enumerate(gpu.get("Slots", ())):
            yield line(f"nvmlDeviceGetMigDeviceHandleByIndex {index} {slot}", part.get("ok", ""))
            yield from of_device(f"{index}.{slot}", part)
    for pair in data.get("pairs", ()):
        if "topology" in pair:
            yield line(f"nvmlDeviceGetTopologyCommonAncestor {pair['a']} {pair['b']}", pair["topology"])
        if "p2p_nvlink" in pair:
            yield line(f"nvmlDeviceGetP2PStatus {pair['a']} {pair['b']} 2", pair["p2p_nvlink"])


def of_device(device: str, gpu: dict[str, Any]) -> Iterator[str]:
    for name, reading in gpu.items():
        call = f"nvmlDeviceGet{FUNCTIONS.get(name, name)} {device}"
        if name in NOT_CALLS:
            continue
        if name in MANY and "code" not in reading:
            yield from MANY[name](call, reading)
        else:
            yield line(call + ARGUMENTS.get(name, ""), reading)


def of_links(call: str, links: list[dict[str, Any]]) -> Iterator[str]:
    function, device = call.split()
    for link, readings in enumerate([*links, {"State": error(INVALID_ARGUMENT)}]):
        for reading, value in readings.items():
            yield line(f"{function}{FUNCTIONS.get(reading, reading)} {device} {link}", value)


def of_fields(call: str, fields: dict[str, int]) -> Iterator[str]:
    yield line(call, "")
    for field, counter in fields.items():
        yield line(f"{call} {field}", f"{UNSIGNED_LONG_LONG} {counter}")


def of_clocks(call: str, clocks: dict[str, int]) -> Iterator[str]:
    for kind, clock in clocks.items():
        yield line(f"{call} {kind}", clock)


def of_memory(call: str, memory: dict[str, int]) -> Iterator[str]:
    yield line(call, [memory.get(part, 0) for part in ("total", "reserved", "free", "used")])


MANY = {"NvLink": of_links, "Fields": of_fields, "MaxClockInfo": of_clocks, "MemoryInfo_v2": of_memory}
"""Readings of several calls, or of a structure whose order is not theirs."""


def line(call: str, reading: Any) -> str:
    if isinstance(reading, dict) and "code" in reading:
        return f"{call}={reading['code']}"
    return f"{call}=0 {value(reading)}"


def value(reading: Any) -> str:
    if isinstance(reading, dict):
        if "busId" in reading:
            return pci(reading)
        return " ".join(map(str, reading.values()))
    if isinstance(reading, list) and all(isinstance(each, dict) for each in reading):
        listed = (
            f"{each['pid']}:{NOT_AVAILABLE if each['usedGpuMemory'] is None else each['usedGpuMemory']}"
            for each in reading
        )
        return " ".join((str(len(reading)), *listed))
    return " ".join(map(str, reading)) if isinstance(reading, list) else str(reading)


def pci(reading: dict[str, str]) -> str:
    """nvmlPciInfo_t as NVML fills it (the legacy address has a domain of four digits), or ``only`` a part of it."""
    bus_id, only = reading["busId"], reading.get("only")
    domain, bus, device = ("0", "0", "0") if only == "text" else re.split("[:.]", bus_id)[:3]
    legacy = reading.get("busIdLegacy") or f"{int(domain, 16):04X}:{bus}:{device}.0"
    numbers = ("0", "0", "0") if only == "legacy" else (domain, bus, device)
    return " ".join(("-" if only in ("legacy", "numbers") else bus_id, "-" if only == "numbers" else legacy, *numbers))


INVALID_ARGUMENT = 2
"""NVML_ERROR_INVALID_ARGUMENT, of a link beyond the last."""
UNSIGNED_LONG_LONG = 3
"""nvmlValueType_t."""
NOT_AVAILABLE = (1 << 64) - 1
"""NVML_VALUE_NOT_AVAILABLE, as an unsigned long long."""
NOT_CALLS = ("Handle", "Slots", "ok")
SYSTEM = {
    "driver": ("nvmlSystemGetDriverVersion",),
    "cuda_driver": ("nvmlSystemGetCudaDriverVersion", "nvmlSystemGetCudaDriverVersion_v2"),
}
FUNCTIONS = {
    "ComputeRunningProcesses": "ComputeRunningProcesses_v3",
    "GraphicsRunningProcesses": "GraphicsRunningProcesses_v3",
    "Fields": "FieldValues",
    "PciInfo": "PciInfo_v3",
    "RemotePciInfo": "RemotePciInfo_v2",
}
"""Reading → the function that the binding calls for it, where that has another name."""
ARGUMENTS = {"Temperature": " 0", "ClockInfo": " 1", "TotalEccErrors": " 1 0"}
"""Reading → what the wizard asks it of: the GPU's own sensor, the clock of its multiprocessors,
uncorrected errors since the driver was loaded.
"""
