"""Samples beside a run: the server's metrics, the load generator's processor time, and a GPU's other processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.probe.fake_driver import FakeDriver, error, readings
from wizard.bench import sampling
from wizard.bench.run import Sample
from wizard.bench.sampling import Watched
from wizard.kernel.units import GIB
from wizard.probe.host import GpuProcess
from wizard.probe.live import GpuReading, Monitor, Reading
from wizard.probe.load import CpuReading

TRITON = """# HELP nv_inference_request_failure Number of failed inference requests
nv_inference_request_failure{model="demo",reason="OTHER",version="1"} 1
nv_inference_request_failure{model="demo",reason="BACKEND",version="1"} 2
nv_inference_pending_request_count{model="demo",version="1"} 3
nv_inference_pending_request_count{model="other",version="1"} 9
nv_cpu_utilization 1
triton_wizard_gateway_num_requests_running{model_name="demo"} 4
triton_wizard_gateway_time_to_first_token_seconds_bucket{model_name="demo",le="0.001"} 0
vllm:num_requests_waiting{engine="0"} 2.5e1
"""
"""As Triton 2.51.0 and the gateway print them, shortened; the last line as in vLLM's documentation."""


def test_metrics_of_the_model_are_kept_and_instances_added() -> None:
    assert sampling.parsed(TRITON, "demo") == {
        "nv_inference_request_failure": 3.0,
        "nv_inference_pending_request_count": 3.0,
        "triton_wizard_gateway_num_requests_running": 4.0,
        "vllm:num_requests_waiting": 25.0,
    }


@given(st.text(max_size=200))
def test_any_text_has_metrics_or_none(text: str) -> None:
    assert isinstance(sampling.parsed(text, "demo"), dict)


def test_processor_time_of_a_group_is_counted() -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout
        process.stdout.readline()
        assert sampling.cpu_seconds(process.pid) >= 0.25
        process.communicate(b"\n")
    assert sampling.cpu_seconds(process.pid) == 0


async def test_samples_have_the_machine_and_count_others_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "EVERY_S", 0.01)
    processes = (GpuProcess(os.getpid(), "ours", 1), GpuProcess(1, "init", 1))
    gpu = GpuReading(
        0, "a GPU", power_watts=300.0, memory_used_bytes=5, processes=processes, clocks_reduced=("HwSlowdown",)
    )
    reading = Reading(CpuReading(0.5, memory_available_bytes=7), (gpu,))
    samples: list[Sample] = []
    enough = asyncio.Event()

    def add(sample: Sample) -> None:
        samples.append(sample)
        if (
            sample.generator_cores is not None
        ):  # None when a process of the group, which other tests share, has just ended
            enough.set()

    watched = Watched(lambda: reading, ("http://127.0.0.1:9/metrics",), "demo", os.getpgrp())
    task = asyncio.ensure_future(sampling.watch(watched, os.getpgrp(), add))
    await enough.wait()
    task.cancel()
    first = samples[-1]
    assert (first.cpu, first.memory_available_bytes, first.server) == (0.5, 7, {})
    assert (first.gpus[0].power_watts, first.gpus[0].others) == (300.0, 1)
    assert first.gpus[0].throttled == ("HwSlowdown",)
    assert first.generator_cores is not None


def holding(pid: int, amount: int | None) -> dict[str, int | None]:
    return {"pid": pid, "usedGpuMemory": amount}


@pytest.mark.parametrize(
    ("holders", "amount"),
    [
        ([holding(os.getpid(), 3 * GIB), holding(1, 5 * GIB)], 3 * GIB),
        ([holding(os.getpid(), None), holding(1, 5 * GIB)], None),  # NVML_VALUE_NOT_AVAILABLE
        ([holding(1, 5 * GIB)], None),  # in a container, process IDs may be the host's
        ([], None),
        (error(3), None),  # NVML_ERROR_NOT_SUPPORTED
    ],
)
async def test_a_gpu_s_memory_is_told_apart_where_nvml_does(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, holders: Any, amount: int | None
) -> None:
    monkeypatch.setattr(sampling, "EVERY_S", 0.01)
    data = readings("nvml-h200-x1")
    data["gpus"][0] |= {"ComputeRunningProcesses": holders, "GraphicsRunningProcesses": []}
    driver.says(data)
    sampled: asyncio.Future[Sample] = asyncio.get_running_loop().create_future()

    def add(sample: Sample) -> None:
        if not sampled.done():
            sampled.set_result(sample)

    with closing(Monitor()) as monitor:
        task = asyncio.ensure_future(sampling.watch(Watched(monitor.read, server=os.getpgrp()), os.getpgrp(), add))
        (gpu,) = (await sampled).gpus
        task.cancel()
    assert gpu.server_memory_bytes == amount
    assert gpu.memory_used_bytes is not None
