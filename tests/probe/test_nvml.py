"""The gateway: whatever goes wrong with one answer makes that one unknown; only NVML as a whole ends the GPU part."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pynvml
import pytest

from tests.probe.fake_driver import CRASH, HANG, FakeDriver, error, readings
from wizard.kernel.errors import HostError
from wizard.probe import gpus, nvml
from wizard.probe.host import Gpu
from wizard.probe.nvml import Device, Nvml, Unknown

FATAL = [(pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "TW-P02"), (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "TW-P03")]
HOST_MEMORY = (128 << 30, 100 << 30)


@pytest.fixture
def session(driver: FakeDriver) -> Iterator[Nvml]:
    driver.says(readings("nvml-h200-x1"))
    with contextlib.closing(Nvml()) as opened:
        yield opened


@pytest.mark.parametrize(("code", "expected"), [*FATAL, (pynvml.NVML_ERROR_UNKNOWN, "TW-P04")])
def test_nvml_that_does_not_start_says_why(driver: FakeDriver, session: Nvml, code: int, expected: str) -> None:
    driver.says({"init": error(code)})
    with pytest.raises(HostError) as caught:
        session.query("nvmlSystemGetDriverVersion")
    assert caught.value.code == expected
    assert caught.value.todo


@pytest.mark.parametrize(("code", "expected"), FATAL)
def test_nvml_that_becomes_unusable_is_started_again(
    driver: FakeDriver, session: Nvml, code: int, expected: str
) -> None:
    driver.says(readings("nvml-h200-x1") | {"driver": error(code)})
    with pytest.raises(HostError) as caught:
        session.query("nvmlSystemGetDriverVersion")
    assert caught.value.code == expected
    driver.says(readings("nvml-h200-x1"))
    assert session.query("nvmlSystemGetDriverVersion") == "580.159.04"
    assert len(set(driver.starts)) == (2 if expected == "TW-P03" else 1)


def test_any_other_error_is_an_unknown_answer(driver: FakeDriver, session: Nvml) -> None:
    for code in {*pynvml.NVMLError._errcode_to_string, 4711} - dict(FATAL).keys():
        driver.data["driver"] = error(code)
        driver.changed()
        answer = session.query("nvmlSystemGetDriverVersion")
        assert isinstance(answer, Unknown)
        assert answer.code == code
        assert "nvmlSystemGetDriverVersion" in answer.because
        assert answer.not_supported == (code == pynvml.NVML_ERROR_NOT_SUPPORTED)


def test_a_function_that_the_binding_lacks_is_an_unknown_answer(session: Nvml) -> None:
    answer = session.query("nvmlSystemGetSomethingOfTheFuture")
    assert isinstance(answer, Unknown)
    assert "nvidia-ml-py" in answer.because


def test_a_function_that_the_library_lacks_is_an_unknown_answer(driver: FakeDriver, session: Nvml) -> None:
    driver.says(readings("nvml-h200-x1"), without=("nvmlDeviceGetName", "nvmlDeviceGetMemoryInfo"))
    device = Device(0)
    answer = session.query("nvmlDeviceGetName", device)
    assert isinstance(answer, Unknown)
    assert answer.code == pynvml.NVML_ERROR_FUNCTION_NOT_FOUND
    unversioned = session.query("nvmlDeviceGetMemoryInfo", device)
    assert isinstance(unversioned, Unknown)
    assert "nvmlDeviceGetMemoryInfo" in unversioned.because


@pytest.mark.parametrize(
    ("reading", "reason"),
    [("\udcff\udcfe", "returned invalid text"), ("", "invalid response"), (CRASH, "crashed (SIGABRT)")],
)
def test_no_answer_can_end_more_than_itself(driver: FakeDriver, session: Nvml, reading: Any, reason: str) -> None:
    driver.says(readings("nvml-h200-x1") | {"driver": reading})
    answer = session.query("nvmlSystemGetDriverVersion")
    assert isinstance(answer, Unknown)
    assert reason in answer.because
    assert session.query("nvmlDeviceGetCount") == 1


def test_an_exception_that_nobody_foresaw_is_the_reason(session: Nvml) -> None:
    def read(answer: Any) -> Any:
        raise RecursionError("who would have thought")

    answer = session.query("nvmlDeviceGetCount", read=read)
    assert isinstance(answer, Unknown)
    assert "who would have thought" in answer.because
    assert isinstance(session.query("nvmlDeviceGetCount", "an argument too many"), Unknown)


def described(driver: FakeDriver, reading: str, value: Any, *, of: int = 1) -> tuple[Gpu, ...]:
    data = readings(f"nvml-h200-x{of}")
    data["gpus"][0][reading] = value
    driver.says(data)
    part = gpus.find(HOST_MEMORY)
    assert part.problem is None
    return part.gpus


LIES = [
    ("Name", "x" * 5000, None, ""),
    ("ComputeRunningProcesses", "4294967295", "processes", "IndexError"),
    ("ComputeRunningProcesses", "1000000000", "processes", "MemoryError"),
    ("ComputeRunningProcesses", "5000", "processes", "invalid response: 5000"),
    ("MemoryInfo_v2", {"total": 1 << 63, "free": 1 << 63}, None, ""),
    ("CudaComputeCapability", [4294967295, 7], "compute_capability", "invalid response"),
    ("PowerManagementLimit", CRASH, "power_limit_watts", "SIGABRT"),
]


@pytest.mark.parametrize(("reading", "lie", "field", "reason"), LIES)
def test_a_lie_makes_one_thing_unknown(
    driver: FakeDriver, reading: str, lie: Any, field: str | None, reason: str
) -> None:
    (gpu,) = described(driver, reading, lie)
    assert gpu.memory_total_bytes == 150754820096
    assert gpu.cuda_cores == 16896
    assert set(gpu.unknown) == {"uuid", *([field] if field else [])}
    assert reason in gpu.unknown.get(field or "", "")


def test_more_mig_slots_than_there_can_be(driver: FakeDriver) -> None:
    data = readings("nvml-h200-x1")
    data["gpus"][0] |= {"MigMode": [1, 1], "MaxMigDeviceCount": 4294967295}
    driver.says(data)
    (gpu,) = gpus.find(HOST_MEMORY).gpus
    assert gpu.mig_slices == ()
    assert "4294967295" in gpu.unknown["mig_slices"]


@pytest.mark.parametrize("count", [65, 100000, 4294967295])
def test_more_gpus_than_there_can_be(driver: FakeDriver, count: int) -> None:
    driver.says(readings("nvml-h200-x1") | {"count": count})
    problem = gpus.find(HOST_MEMORY).problem
    assert problem is not None
    assert problem.code == "TW-P04"
    assert str(count) in problem.what


def test_a_call_that_hangs_makes_one_thing_unknown(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "ANSWERS_S", 1.0)
    recorded = described(driver, "NumGpuCores", HANG, of=8)
    assert recorded[0].cuda_cores is None
    assert recorded[0].unknown["cuda_cores"] == "no response within 1 s (nvmlDeviceGetNumGpuCores)"
    assert recorded[0].pcie_width == 16
    assert [gpu.cuda_cores for gpu in recorded[1:]] == [16896] * 7


def test_a_gpu_that_hangs_twice_is_not_asked_again_and_the_others_are(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml, "ANSWERS_S", 1.0)
    data = readings("nvml-h200-x8")
    data["gpus"][3] = dict.fromkeys(data["gpus"][3], HANG)
    del data["gpus"][3]["NvLink"]
    driver.says(data)
    part = gpus.find(HOST_MEMORY)
    assert "failed earlier" in part.gpus[3].unknown["power_limit_watts"]
    assert [gpu.power_limit_watts for gpu in part.gpus] == [*[700.0] * 3, None, *[700.0] * 4]
    assert [link.kind for link in part.links if 3 not in (link.a, link.b)] == ["NV18"] * 21
    assert len(driver.starts) == 3


def test_a_library_in_which_everything_hangs_is_left_alone(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "ANSWERS_S", 0.3)
    data = readings("nvml-h200-x8")
    data["gpus"] = [dict.fromkeys(gpu, HANG) for gpu in data["gpus"]]
    driver.says(data)
    part = gpus.find(HOST_MEMORY)
    assert [gpu.name for gpu in part.gpus] == ["unknown GPU"] * 8
    assert all(gpu.memory_total_bytes is None for gpu in part.gpus)
    assert len(driver.starts) <= 4


def test_constants_are_those_of_the_binding() -> None:
    assert nvml.CLOCK_SM == pynvml.NVML_CLOCK_SM
    assert nvml.CLOCK_MEMORY == pynvml.NVML_CLOCK_MEM
    assert pynvml.nvmlMemory_v2 == nvml.MEMORY_V2
    assert nvml.NVLINK_MAX_LINKS >= pynvml.NVML_NVLINK_MAX_LINKS
    assert nvml.NVLINK_TO_SWITCH == pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH
    assert nvml.NVLINK_TO_NPU == pynvml.NVML_NVLINK_DEVICE_TYPE_IBMNPU
    assert nvml.P2P_NVLINK == pynvml.NVML_P2P_CAPS_INDEX_NVLINK
    assert nvml.P2P_OK == pynvml.NVML_P2P_STATUS_OK


def test_what_is_printed_while_its_python_starts_is_no_answer(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sitecustomize, or a .pth file of some package, may print anything."""
    (tmp_path / "sitecustomize.py").write_text("print('hello')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    driver.says(readings("nvml-h200-x1"))
    with contextlib.closing(Nvml()) as session:
        assert len(session.devices()) == 1


def test_the_process_of_the_library_gets_no_secret(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    driver.says(readings("nvml-h200-x1"))
    with contextlib.closing(Nvml()) as session:
        session.devices()
        (process,) = driver.starts
        assert b"hf_secret" not in Path(f"/proc/{process}/environ").read_bytes()
