"""GPUs and links from recorded readings, changed one fault at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pynvml
import pytest

from tests.probe.fake_driver import FakeDriver, error, readings
from wizard.probe.gpus import GpuPart, find
from wizard.probe.host import Gpu, GpuProcess, MigSlice

HOST_MEMORY = (128 << 30, 100 << 30)
Probe = Callable[..., GpuPart]
NOT_SUPPORTED = error(pynvml.NVML_ERROR_NOT_SUPPORTED)


@pytest.fixture
def probe(driver: FakeDriver) -> Probe:
    """What the wizard says of a machine whose NVML answers like this."""

    def described(data: dict[str, Any], host_memory: tuple[int | None, int | None] = HOST_MEMORY) -> GpuPart:
        driver.says(data)
        return find(host_memory)

    return described


def test_one_h200(probe: Probe) -> None:
    part = probe(readings("nvml-h200-x1"))
    assert part.problem is None
    assert (part.driver_version, part.cuda_driver_version) == ("580.159.04", "13.0")
    assert part.links == ()
    assert part.unknown == {}
    assert part.gpus == (
        Gpu(
            index=0,
            name="NVIDIA H200",
            memory_total_bytes=150754820096,
            memory_free_bytes=150109880320,
            compute_capability=(9, 0),
            memory_bus_bits=6016,
            memory_clock_mhz=3201,
            sm_clock_mhz=1980,
            cuda_cores=16896,
            power_limit_watts=700.0,
            pcie_generation=5,
            pcie_width=16,
            mig_enabled=False,
            unknown={"uuid": "Function Not Found (nvmlDeviceGetUUID)"},  # not in the recording
        ),
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "TW-P02"),
        (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "TW-P03"),
        (pynvml.NVML_ERROR_UNKNOWN, "TW-P04"),
    ],
)
def test_without_nvml_the_problem_is_a_value(code: int, expected: str, probe: Probe) -> None:
    part = probe({"init": error(code)})
    assert part.gpus == ()
    assert part.problem is not None
    assert part.problem.code == expected
    assert part.problem.what
    assert part.problem.todo


def test_one_lost_gpu_does_not_hide_the_others(probe: Probe) -> None:
    data = readings("nvml-h200-x8")
    data["gpus"][3]["Handle"] = error(pynvml.NVML_ERROR_GPU_IS_LOST)
    part = probe(data)
    assert [gpu.name for gpu in part.gpus].count("NVIDIA H200") == 7
    assert part.gpus[3].memory_total_bytes is None
    assert "lost" in part.gpus[3].unknown["memory_total_bytes"]
    assert len(part.links) == 21
    assert not any(3 in (link.a, link.b) for link in part.links)


def test_a_gpu_that_is_lost_while_it_is_asked_keeps_what_is_known(probe: Probe) -> None:
    data = readings("nvml-h200-x1")
    for name in ("MemoryInfo", "MemoryInfo_v2", "PowerManagementLimit"):
        data["gpus"][0][name] = error(pynvml.NVML_ERROR_GPU_IS_LOST)
    (gpu,) = probe(data).gpus
    assert gpu.name == "NVIDIA H200"
    assert gpu.memory_total_bytes is None
    assert not gpu.memory_is_shared_with_host
    assert set(gpu.unknown) == {"memory_total_bytes", "memory_free_bytes", "power_limit_watts", "uuid"}


@pytest.mark.parametrize("reading", [NOT_SUPPORTED, {"total": 0, "free": 0, "used": 0, "reserved": 0}])
def test_unified_memory_is_the_hosts(reading: dict[str, int], probe: Probe) -> None:
    data = readings("nvml-h200-x1")
    data["gpus"][0] |= {"MemoryInfo": reading, "MemoryInfo_v2": reading}
    (gpu,) = probe(data).gpus
    assert gpu.memory_is_shared_with_host
    assert (gpu.memory_total_bytes, gpu.memory_free_bytes) == HOST_MEMORY


@pytest.mark.parametrize("reading", [NOT_SUPPORTED, {"total": 0, "free": 0, "used": 0}])
def test_unified_memory_may_be_reported_by_the_second_version_alone(probe: Probe, reading: dict[str, int]) -> None:
    data = readings("nvml-h200-x1")
    del data["gpus"][0]["MemoryInfo"]
    data["gpus"][0]["MemoryInfo_v2"] = reading
    (gpu,) = probe(data).gpus
    assert gpu.memory_is_shared_with_host


def test_unified_memory_of_an_unknown_host_is_unknown(probe: Probe) -> None:
    data = readings("nvml-h200-x1")
    data["gpus"][0] |= {"MemoryInfo": NOT_SUPPORTED, "MemoryInfo_v2": NOT_SUPPORTED}
    (gpu,) = probe(data, (None, None)).gpus
    assert gpu.memory_total_bytes is None
    assert "host" in gpu.unknown["memory_total_bytes"]


def test_an_old_driver_answers_the_first_version_of_memory(probe: Probe) -> None:
    data = readings("nvml-h200-x1")
    del data["gpus"][0]["MemoryInfo_v2"]
    (gpu,) = probe(data).gpus
    assert gpu.memory_total_bytes == 150754820096
    assert "memory_total_bytes" not in gpu.unknown


def test_mig_slices_are_listed_and_empty_slots_left_out(probe: Probe) -> None:
    data = readings("nvml-h200-x1")
    no_permission = error(pynvml.NVML_ERROR_NO_PERMISSION)
    data["gpus"][0] |= {
        "MigMode": [1, 1],
        "MaxMigDeviceCount": 3,
        "MemoryInfo": no_permission,  # of the parent, in a container
        "MemoryInfo_v2": no_permission,
        "Slots": [
            {
                "UUID": "MIG-1",
                "Name": "NVIDIA H200 MIG 1g.18gb",
                "MemoryInfo_v2": {"total": 17 << 30, "free": 17 << 30},
            },
            {"ok": error(pynvml.NVML_ERROR_NOT_FOUND)},
            {"UUID": "MIG-2", "Name": "NVIDIA H200 MIG 3g.71gb"},
        ],
    }
    (gpu,) = probe(data).gpus
    assert gpu.mig_enabled is True
    assert gpu.mig_slices == (MigSlice("MIG-1", "1g.18gb", 17 << 30, 0), MigSlice("MIG-2", "3g.71gb", None, 2))
    assert gpu.memory_total_bytes is None
    assert "Insufficient Permissions" in gpu.unknown["memory_total_bytes"]
    assert not gpu.memory_is_shared_with_host


def test_a_gpu_that_has_no_mig_has_it_off(probe: Probe) -> None:
    data = readings("nvml-h200-x1")
    data["gpus"][0]["MigMode"] = NOT_SUPPORTED
    (gpu,) = probe(data).gpus
    assert gpu.mig_enabled is False
    assert "mig_enabled" not in gpu.unknown


def test_processes_that_hold_memory(probe: Probe) -> None:
    data = readings("nvml-h200-x1") | {"process_names": {"42": "/usr/bin/tritonserver"}}
    data["gpus"][0] |= {
        "ComputeRunningProcesses": [{"pid": 42, "usedGpuMemory": 1 << 30}, {"pid": 7, "usedGpuMemory": None}],
        "GraphicsRunningProcesses": [{"pid": 42, "usedGpuMemory": 1 << 30}],
    }
    (gpu,) = probe(data).gpus
    assert gpu.processes == (GpuProcess(7, None, None), GpuProcess(42, "/usr/bin/tritonserver", 1 << 30))


def test_every_single_reading_may_be_missing(probe: Probe) -> None:
    """Whatever NVML refuses, the rest is still described."""
    names = [name for name in readings("nvml-h200-x1")["gpus"][0] if name not in ("NvLink", "MaxClockInfo")]
    for name in names:
        data = readings("nvml-h200-x1")
        data["gpus"][0][name] = error(pynvml.NVML_ERROR_UNKNOWN)
        part = probe(data)
        assert part.problem is None
        assert len(part.gpus) == 1


def test_a_driver_that_hides_versions_and_devices(probe: Probe) -> None:
    refused = error(pynvml.NVML_ERROR_NO_PERMISSION)
    data = readings("nvml-h200-x1") | {"driver": refused, "cuda_driver": refused, "count": refused}
    part = probe(data)
    assert (part.gpus, part.driver_version, part.cuda_driver_version) == ((), None, None)
    assert set(part.unknown) == {"driver_version", "cuda_driver_version"}
    assert part.problem is not None
    assert part.problem.code == "TW-P04"
    assert "Insufficient Permissions" in part.problem.what
