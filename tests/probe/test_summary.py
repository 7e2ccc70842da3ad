from __future__ import annotations

import pytest

from wizard.probe import summary
from wizard.probe.live import GpuReading


@pytest.mark.parametrize(
    ("watts", "limit", "sentence"), [(412.4, 700.0, "412 of 700 W"), (412.4, None, "412 W"), (None, 700.0, "")]
)
def test_power_is_shown_as_far_as_it_is_known(watts: float | None, limit: float | None, sentence: str) -> None:
    assert summary.power(GpuReading(0, "NVIDIA H200", power_watts=watts, power_limit_watts=limit)) == sentence


@pytest.mark.parametrize(
    ("unknown", "why"),
    [
        ({"memory": "it fell off the bus", "utilisation": "no"}, "it fell off the bus"),
        ({"memory_total_bytes": "not permitted"}, "not permitted"),
        ({}, "no reason given"),
    ],
)
def test_a_gpu_that_does_not_respond_says_why(unknown: dict[str, str], why: str) -> None:
    assert summary.silence(GpuReading(1, "NVIDIA L4", unknown=unknown)) == f"No readings: {why}"
