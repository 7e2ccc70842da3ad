"""Readings of what goes on, from recorded devices with made-up activity, one fault at a time."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pynvml
import pytest

from tests.probe.fake_driver import HANG, FakeDriver, error, readings
from tests.probe.test_processor import tree, v2
from wizard.probe import nvml
from wizard.probe.gpus import find
from wizard.probe.host import GpuProcess
from wizard.probe.live import GpuReading, MigReading, Monitor, Traffic, refreshed
from wizard.probe.shorthand import host

GIB = 1024**3
Read = Callable[[dict[str, Any]], GpuReading]
NOT_SUPPORTED = error(pynvml.NVML_ERROR_NOT_SUPPORTED)
LOST = error(pynvml.NVML_ERROR_GPU_IS_LOST)


def active(**changes: Any) -> dict[str, Any]:
    """The recorded H200, at work."""
    data = readings("nvml-h200-x1")
    data["gpus"][0] |= {
        "MemoryInfo_v2": {"total": 140 * GIB, "reserved": GIB, "free": 100 * GIB, "used": 39 * GIB},
        "UtilizationRates": {"gpu": 87, "memory": 40},
        "Temperature": 61,
        "PowerUsage": 412_500,
        "ClockInfo": 1980,
        "Fields": {"138": 0, "139": 0, "197": 0, "198": 0},
        "ComputeRunningProcesses": [{"pid": 4711, "usedGpuMemory": 38 * GIB}],
        **changes,
    }
    data["process_names"] = {"4711": "/usr/bin/python3"}
    return data


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def monitor(tmp_path: Path, clock: Clock) -> Iterator[Monitor]:
    """Of a machine whose ``/proc`` and ``/sys`` a test makes in ``tmp_path``."""
    with contextlib.closing(Monitor(tmp_path, clock)) as made:
        yield made


@pytest.fixture
def read(driver: FakeDriver, monitor: Monitor) -> Read:
    """The reading of a GPU whose NVML answers like this."""

    def reading_of(data: dict[str, Any]) -> GpuReading:
        driver.says(data)
        (gpu,) = monitor.read().gpus
        return gpu

    return reading_of


def test_a_gpu_at_work(read: Read) -> None:
    gpu = read(active())
    assert gpu == GpuReading(
        index=0,
        name="NVIDIA H200",
        memory_total_bytes=140 * GIB,
        memory_used_bytes=39 * GIB,
        memory_free_bytes=100 * GIB,
        utilisation=0.87,
        temperature_c=61,
        power_watts=412.5,
        power_limit_watts=700.0,
        sm_clock_mhz=1980,
        processes=(GpuProcess(4711, "/usr/bin/python3", 38 * GIB),),
        unknown={"nvlink": "a second reading is needed", "pcie": "a second reading is needed"},
    )


def test_lower_clocks_have_their_reasons_but_idleness_and_settings_are_none(read: Read) -> None:
    reasons = pynvml.nvmlClocksThrottleReasonSwPowerCap | pynvml.nvmlClocksThrottleReasonHwThermalSlowdown
    chosen = pynvml.nvmlClocksThrottleReasonGpuIdle | pynvml.nvmlClocksThrottleReasonApplicationsClocksSetting
    gpu = read(active(CurrentClocksThrottleReasons=reasons | chosen))
    assert gpu.clocks_reduced == ("SwPowerCap", "HwThermalSlowdown")
    assert read(active(CurrentClocksThrottleReasons=chosen)).clocks_reduced == ()
    assert read(active(CurrentClocksThrottleReasons=NOT_SUPPORTED)).clocks_reduced == ()


def test_traffic_is_what_the_counters_grew_by(driver: FakeDriver, monitor: Monitor, clock: Clock) -> None:
    driver.says(active())
    monitor.read()
    clock.now += 2
    driver.data["gpus"][0]["Fields"] = {"138": 4096, "139": 2048, "197": 600, "198": 200}
    driver.changed()
    (gpu,) = monitor.read().gpus
    assert gpu.nvlink == Traffic(2 * 1024**2, 1024**2)
    assert gpu.pcie == Traffic(300.0, 100.0)
    clock.now += 2
    driver.data["gpus"][0]["Fields"]["197"] = 5  # it restarted
    driver.changed()
    (gpu,) = monitor.read().gpus
    assert gpu.pcie is None
    assert "second reading" in gpu.unknown["pcie"]
    assert gpu.nvlink == Traffic(0.0, 0.0)


@pytest.mark.parametrize(
    ("reading", "field", "name"),
    [
        ("UtilizationRates", "utilisation", "utilisation"),
        ("Temperature", "temperature_c", "temperature_c"),
        ("PowerUsage", "power_watts", "power_watts"),
        ("PowerManagementLimit", "power_limit_watts", "power_limit_watts"),
        ("ClockInfo", "sm_clock_mhz", "sm_clock_mhz"),
        ("Fields", "nvlink", "nvlink"),
        ("Fields", "pcie", "pcie"),
    ],
)
def test_what_nvml_does_not_say_is_none_with_the_reason(reading: str, field: str, name: str, read: Read) -> None:
    gpu = read(active(**{reading: NOT_SUPPORTED}))
    assert getattr(gpu, field) is None
    assert "Not Supported" in gpu.unknown[name]


def test_a_counter_that_this_gpu_has_not_leaves_the_other(driver: FakeDriver, monitor: Monitor, clock: Clock) -> None:
    driver.says(active(Fields={"197": 0, "198": 0}))
    monitor.read()
    clock.now += 1
    (gpu,) = monitor.read().gpus
    assert gpu.nvlink is None
    assert "Not Supported" in gpu.unknown["nvlink"]
    assert gpu.pcie == Traffic(0.0, 0.0)


def test_a_counter_that_cannot_be_leaves_the_other(read: Read) -> None:
    gpu = read(active(Fields={"138": 1 << 63, "139": 0, "197": 0, "198": 0}))
    assert "invalid number" in gpu.unknown["nvlink"]
    assert gpu.unknown["pcie"] == "a second reading is needed"


def test_processes_whose_memory_and_name_are_hidden(read: Read) -> None:
    data = active(ComputeRunningProcesses=[{"pid": 7, "usedGpuMemory": None}])
    assert read(data).processes == (GpuProcess(7, None, None),)


def test_the_slices_of_a_gpu(read: Read) -> None:
    part = {"Name": "NVIDIA H200 MIG 1g.18gb", "MemoryInfo_v2": {"total": 18 * GIB, "free": GIB, "used": 17 * GIB}}
    slots = [part, {"ok": error(pynvml.NVML_ERROR_NOT_FOUND)}]
    gpu = read(active(MigMode=[1, 1], MaxMigDeviceCount=2, Slots=slots, UtilizationRates=NOT_SUPPORTED))
    assert gpu.mig_slices == (MigReading("1g.18gb", 18 * GIB, 17 * GIB),)
    assert gpu.utilisation is None


def test_a_gpu_without_memory_of_its_own_shares_the_hosts(tmp_path: Path, read: Read) -> None:
    tree(tmp_path, {"proc/meminfo": "MemTotal: 1048576 kB\nMemAvailable: 262144 kB\n"})
    gpu = read(active(MemoryInfo=NOT_SUPPORTED, MemoryInfo_v2=NOT_SUPPORTED))
    assert gpu.memory_is_shared_with_host
    assert (gpu.memory_total_bytes, gpu.memory_used_bytes) == (GIB, 3 * GIB // 4)


def test_a_gpu_that_falls_off_the_bus_says_so_and_the_others_go_on(driver: FakeDriver, monitor: Monitor) -> None:
    driver.says(readings("nvml-h200-x8"))
    assert all(each.memory_used_bytes is not None for each in monitor.read().gpus)
    driver.data["gpus"][3] = dict.fromkeys((*driver.data["gpus"][3], "UtilizationRates"), LOST)
    driver.changed()
    gpus = monitor.read().gpus
    assert gpus[3].memory_total_bytes is None
    assert "GPU is lost" in gpus[3].unknown["memory"]
    assert "GPU is lost" in gpus[3].unknown["utilisation"]
    assert gpus[4].memory_used_bytes is not None


def test_a_gpu_that_may_not_be_touched(read: Read) -> None:
    gpu = read(active(Handle=error(pynvml.NVML_ERROR_NO_PERMISSION)))
    assert "Insufficient Permissions" in gpu.unknown["memory"]


def test_nvml_is_opened_once_and_closed_with_its_process(driver: FakeDriver, monitor: Monitor) -> None:
    driver.says(active())
    monitor.read()
    monitor.read()
    (process,) = driver.starts
    monitor.close()
    monitor.close()
    assert not alive(process)


def alive(process: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


def test_closing_does_not_wait_for_a_reading_that_hangs_but_ends_it(driver: FakeDriver, monitor: Monitor) -> None:
    driver.says(active())
    monitor.read()
    driver.data["gpus"][0]["PowerUsage"] = {"code": f"hang {driver.library.parent / 'asked'}"}
    driver.changed()
    os.mkfifo(driver.library.parent / "asked")
    thread = threading.Thread(target=monitor.read)
    thread.start()
    assert (driver.library.parent / "asked").read_text() == "hanging"
    monitor.close()
    thread.join(60)
    assert not thread.is_alive()
    assert not any(map(alive, driver.starts))


def test_a_library_that_hangs_repeatedly_is_a_problem_and_asked_again_the_next_time(
    driver: FakeDriver, monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml, "ANSWERS_S", 0.3)
    hanging = dict.fromkeys(("MemoryInfo_v2", "PowerUsage", "Temperature"), HANG)
    driver.says(readings("nvml-h200-x8"))
    for gpu in driver.data["gpus"]:
        gpu.update(hanging)
    driver.changed()
    monitor.read()
    assert len(driver.starts) <= 4
    driver.says(active())
    assert monitor.read().gpus[0].power_watts == 412.5


@pytest.mark.parametrize(
    ("code", "expected"),
    [(pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "TW-P03"), (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "TW-P02")],
)
def test_without_nvml_the_processor_is_read_all_the_same(
    code: int, expected: str, tmp_path: Path, driver: FakeDriver, monitor: Monitor
) -> None:
    tree(tmp_path, {"proc/meminfo": "MemTotal: 1048576 kB\nMemAvailable: 262144 kB\n"})
    driver.says({"init": error(code)})
    reading = monitor.read()
    assert reading.problem is not None
    assert reading.problem.code == expected
    assert reading.cpu.memory_available_bytes == GIB // 4


def test_a_driver_that_goes_and_comes_back(driver: FakeDriver, monitor: Monitor) -> None:
    driver.says(active())
    monitor.read()
    driver.data["gpus"][0]["Name"] = error(pynvml.NVML_ERROR_DRIVER_NOT_LOADED)
    driver.changed()
    problem = monitor.read().problem
    assert problem is not None
    assert problem.code == "TW-P02"
    driver.data["gpus"][0]["Name"] = "NVIDIA H200"
    driver.changed()
    assert monitor.read().gpus[0].name == "NVIDIA H200"


def test_a_count_that_cannot_be_had_is_a_problem(driver: FakeDriver, monitor: Monitor) -> None:
    driver.says(active() | {"count": LOST})
    problem = monitor.read().problem
    assert problem is not None
    assert problem.code == "TW-P04"


def stat(busy: int, idle: int) -> str:
    mine = min(os.sched_getaffinity(0))
    return f"cpu 1 1 1 1 1 1 1 1\ncpu{mine} {busy} 0 0 {idle} 0 0 0 0 9 9\ncpu9999 7 7 7 7 7 7 7 7\n"


def test_the_processor_is_as_busy_as_the_kernel_counted_between_two_readings(tmp_path: Path, monitor: Monitor) -> None:
    tree(tmp_path, {"proc/stat": stat(100, 100), "proc/loadavg": "1.50 1.00 0.50 2/100 4711\n"})
    first = monitor.read().cpu
    assert first.utilisation is None
    assert "second reading" in first.unknown["utilisation"]
    assert first.load == 1.5
    assert "no processor sensor" in first.unknown["temperature_c"]
    tree(tmp_path, {"proc/stat": stat(130, 170)})
    second = monitor.read().cpu
    assert second.utilisation == 0.3
    assert "utilisation" not in second.unknown


def test_with_a_quota_all_of_it_is_one_hundred_percent(tmp_path: Path, monitor: Monitor, clock: Clock) -> None:
    group = "sys/fs/cgroup/"
    v2(tmp_path, "/", {f"{group}cpu.max": "50000 100000\n", f"{group}cpu.stat": "usage_usec 1000000\n"})
    monitor.read()
    clock.now += 2
    tree(tmp_path, {f"{group}cpu.stat": "usage_usec 1500000\n"})
    assert monitor.read().cpu.utilisation == 0.5  # half a second of the one that half a processor gives in two


def test_nothing_that_can_be_read_is_none_with_reasons(monitor: Monitor) -> None:
    cpu = monitor.read().cpu
    assert (cpu.utilisation, cpu.load, cpu.memory_total_bytes, cpu.temperature_c) == (None, None, None, None)
    assert set(cpu.unknown) == {"memory", "utilisation", "temperature_c"}


@pytest.mark.parametrize(
    "files",
    [
        {"hwmon/hwmon1/name": "coretemp\n", "hwmon/hwmon1/temp1_input": "61000", "hwmon/hwmon1/temp2_input": "59000"},
        {"thermal/thermal_zone0/type": "x86_pkg_temp\n", "thermal/thermal_zone0/temp": "61000\n"},
    ],
)
def test_the_temperature_where_the_kernel_shows_it(files: dict[str, str], tmp_path: Path, monitor: Monitor) -> None:
    other = {"hwmon/hwmon0/name": "nvme", "hwmon/hwmon0/temp1_input": "90000"}
    tree(tmp_path, {f"sys/class/{name}": text for name, text in {**other, **files}.items()})
    assert monitor.read().cpu.temperature_c == 61


def test_a_host_is_brought_up_to_date_where_the_reading_knows_better(
    tmp_path: Path, driver: FakeDriver, monitor: Monitor
) -> None:
    tree(tmp_path, {"proc/meminfo": "MemTotal: 1048576 kB\nMemAvailable: 262144 kB\n"})
    driver.says(readings("nvml-h200-x1"))
    was = replace(host("cpu"), gpus=find((None, None)).gpus)
    driver.says(active())
    now = refreshed(was, monitor.read())
    assert now.memory_available_bytes == GIB // 4
    assert now.gpus[0].memory_free_bytes == 100 * GIB
    assert [each.pid for each in now.gpus[0].processes] == [4711]
    assert replace(now.gpus[0], memory_free_bytes=None, processes=()) == replace(was.gpus[0], memory_free_bytes=None)
    driver.says(active(MemoryInfo=LOST, MemoryInfo_v2=LOST))
    (tmp_path / "proc/meminfo").unlink()
    assert refreshed(was, monitor.read()) == was
