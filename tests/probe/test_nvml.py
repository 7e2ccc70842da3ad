"""The gateway: three errors end the GPU part, all others are an answer that is not known."""

from __future__ import annotations

from pathlib import Path

import pynvml
import pytest

from tests.probe.fake_nvml import FakeNvml, error, readings
from wizard.kernel.errors import HostError
from wizard.probe import nvml
from wizard.probe.nvml import Unknown, nvidia_on_pci, opened

FATAL = [
    (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, "TW-P01" if nvidia_on_pci() else "TW-P14"),
    (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "TW-P02"),
    (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "TW-P03"),
]


@pytest.mark.parametrize(("code", "expected"), [*FATAL, (pynvml.NVML_ERROR_UNKNOWN, "TW-P04")])
def test_nvml_that_does_not_start_says_why(code: int, expected: str) -> None:
    library = FakeNvml(readings("nvml-h200-x1"), init=code)
    with pytest.raises(HostError) as caught, opened(library):
        pass
    assert caught.value.code == expected
    assert caught.value.todo
    assert library.open == 0


@pytest.mark.parametrize(("code", "expected"), FATAL)
def test_nvml_that_becomes_unusable_ends_the_session(code: int, expected: str) -> None:
    data = readings("nvml-h200-x1") | {"driver": error(code)}
    library = FakeNvml(data)
    with pytest.raises(HostError) as caught, opened(library) as session:
        session.query("nvmlSystemGetDriverVersion")
    assert caught.value.code == expected
    assert library.open == 0  # closed all the same


@pytest.mark.parametrize(
    "code",
    [each for each in pynvml.NVMLError._errcode_to_string if each not in dict(FATAL)],
)
def test_any_other_error_is_an_unknown_answer(code: int) -> None:
    with opened(FakeNvml(readings("nvml-h200-x1") | {"driver": error(code)})) as session:
        answer = session.query("nvmlSystemGetDriverVersion")
    assert isinstance(answer, Unknown)
    assert answer.code == code
    assert "nvmlSystemGetDriverVersion" in answer.because
    assert answer.not_supported == (code == pynvml.NVML_ERROR_NOT_SUPPORTED)


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (pynvml.NVMLLibraryMismatchError("unversioned"), "too old"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "not readable"),
    ],
)
def test_what_the_binding_raises_itself_is_an_unknown_answer(raised: Exception, said: str) -> None:
    with opened(FakeNvml(readings("nvml-h200-x1") | {"driver": raised})) as session:
        answer = session.query("nvmlSystemGetDriverVersion")
    assert isinstance(answer, Unknown)
    assert said in answer.because


def test_a_function_that_the_binding_lacks_is_an_unknown_answer() -> None:
    with opened(FakeNvml(readings("nvml-h200-x1"))) as session:
        answer = session.query("nvmlSystemGetSomethingOfTheFuture")
    assert isinstance(answer, Unknown)
    assert "nvidia-ml-py" in answer.because


def test_constants_are_those_of_the_binding() -> None:
    assert nvml.CLOCK_SM == pynvml.NVML_CLOCK_SM
    assert nvml.CLOCK_MEMORY == pynvml.NVML_CLOCK_MEM
    assert pynvml.nvmlMemory_v2 == nvml.MEMORY_V2
    assert nvml.NVLINK_MAX_LINKS >= pynvml.NVML_NVLINK_MAX_LINKS
    assert nvml.NVLINK_TO_SWITCH == pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH


@pytest.mark.parametrize(
    ("vendor", "device_class", "seen"),
    [("0x10de", "0x030200", True), ("0x10de", "0x040300", False), ("0x8086", "0x030000", False)],
)
def test_a_gpu_without_its_driver_shows_on_the_pci_bus(
    tmp_path: Path, vendor: str, device_class: str, seen: bool
) -> None:
    device = tmp_path / "sys/bus/pci/devices/0000:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text(vendor + "\n")
    (device / "class").write_text(device_class + "\n")
    assert nvidia_on_pci(tmp_path) is seen


@pytest.mark.parametrize(
    ("on_bus", "code", "word"),
    [(True, "TW-P01", "install NVIDIA's driver"), (False, "TW-P14", "served on the CPU")],
)
def test_a_missing_library_is_told_by_whether_there_is_a_gpu(
    monkeypatch: pytest.MonkeyPatch, on_bus: bool, code: str, word: str
) -> None:
    monkeypatch.setattr(nvml, "nvidia_on_pci", lambda: on_bus)
    library = FakeNvml({}, init=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
    with pytest.raises(HostError) as caught, opened(library):
        pass
    assert caught.value.code == code
    assert word.lower() in caught.value.todo.lower()
