"""The GPUs' states from NVML: a recorded device with the answers of one setting or fault at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pynvml
import pytest

from tests.probe.fake_driver import HANG, FakeDriver, error, readings
from wizard.doctor.facts import GpuState
from wizard.doctor.readers.gpus import gpus
from wizard.probe import nvml

NOT_SUPPORTED = error(pynvml.NVML_ERROR_NOT_SUPPORTED)
HEALTHY = {
    "EccMode": [1, 1],
    "TotalEccErrors": 0,
    "RemappedRows": [0, 0, 0, 0],
    "MigMode": [0, 0],
    "PersistenceMode": 1,
    "CurrentClocksThrottleReasons": 0x1,
}
STATE = GpuState(0, (True, True), 0, (False, False), (False, False), persistence=True, reduced=())


def recorded(**changes: Any) -> dict[str, Any]:
    data = readings("nvml-h200-x1")
    data["gpus"][0] |= {**HEALTHY, **changes}
    return data


def test_a_healthy_gpu(driver: FakeDriver) -> None:
    driver.says(recorded())
    assert gpus() == (STATE,)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"EccMode": [0, 1]}, {"ecc": (False, True)}),
        ({"TotalEccErrors": 3}, {"uncorrected_errors": 3}),
        ({"RemappedRows": [0, 2, 1, 0]}, {"remapping": (True, False)}),
        ({"RemappedRows": [0, 2, 0, 1]}, {"remapping": (False, True)}),
        ({"MigMode": [0, 1]}, {"mig": (False, True)}),
        ({"PersistenceMode": 0}, {"persistence": False}),
        ({"CurrentClocksThrottleReasons": 0x48}, {"reduced": ("HwSlowdown", "HwThermalSlowdown")}),
        ({"EccMode": NOT_SUPPORTED}, {"ecc": None, "unsupported": ("ecc",)}),
    ],
)
def test_a_setting_or_a_fault(driver: FakeDriver, changes: dict[str, Any], expected: dict[str, Any]) -> None:
    driver.says(recorded(**changes))
    assert gpus() == (replace(STATE, **expected),)


def test_what_the_driver_does_not_answer_is_unknown_with_the_reason(driver: FakeDriver) -> None:
    driver.says(recorded(PersistenceMode=error(pynvml.NVML_ERROR_NO_PERMISSION)))
    (state,) = gpus()
    assert state.persistence is None
    assert "Permission" in state.unknown["persistence"]
    assert state.unsupported == ()


def test_a_query_that_hangs_is_unknown_and_the_others_are_answered(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvml, "ANSWERS_S", 0.5)
    driver.says(recorded(RemappedRows=HANG))
    (state,) = gpus()
    assert state.remapping is None
    assert "no response" in state.unknown["remapping"]
    assert state.persistence is True


def test_an_old_driver_without_the_functions(driver: FakeDriver) -> None:
    driver.says(recorded(), without=("nvmlDeviceGetRemappedRows",))
    (state,) = gpus()
    assert (state.remapping, state.ecc) == (None, (True, True))


def test_a_gpu_that_fell_off_the_bus_has_no_state_and_a_driver_that_does_not_start_no_gpus(driver: FakeDriver) -> None:
    driver.says(recorded(Handle=error(pynvml.NVML_ERROR_GPU_IS_LOST)))
    assert gpus() == ()
    driver.says({"init": error(pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH)})
    assert gpus() == ()
