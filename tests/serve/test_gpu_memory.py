"""``down`` waits until the driver has freed what a server's processes held; NVML is the stub library."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Sequence

import pytest

from tests.probe.fake_driver import FakeDriver, readings
from wizard.kernel import proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.paths import Workspace
from wizard.probe.host import GpuProcess
from wizard.probe.live import GpuReading, Monitor, Reading
from wizard.probe.load import CpuReading
from wizard.serve import gpu_memory
from wizard.serve.stop import stop

GIB = 1 << 30


def holding(driver: FakeDriver, *pids: int) -> None:
    """One H200 on which these processes hold 2 GiB each."""
    if not driver.data:
        driver.says(readings("nvml-h200-x1"))
    running = [{"pid": pid, "usedGpuMemory": 2 * GIB} for pid in pids]
    driver.data["gpus"][0]["ComputeRunningProcesses"] = running
    driver.changed()


async def test_what_others_hold_is_not_waited_for(driver: FakeDriver) -> None:
    holding(driver, 4711, 4712)
    async with gpu_memory.held({4713}) as memory:
        assert memory.gpus == {}
        await gpu_memory.freed("demo", memory, 0.0)


async def test_it_is_waited_for_until_the_driver_has_freed_it(driver: FakeDriver) -> None:
    holding(driver, 4711, 4712)
    async with gpu_memory.held({4711}) as memory:
        waiting = asyncio.create_task(gpu_memory.freed("demo", memory, 60.0))
        done, _ = await asyncio.wait({waiting}, timeout=3 * gpu_memory.POLL_SECONDS)
        assert not done
        holding(driver, 4712)
        await waiting


async def test_what_is_never_freed_is_named(driver: FakeDriver) -> None:
    holding(driver, 4711)
    async with gpu_memory.held({4711}) as memory:
        with pytest.raises(ServerError) as caught:
            await gpu_memory.freed("demo", memory, 0.0)
    assert caught.value.code == "TW-S10"
    assert "process 4711: 2.0 GiB on GPU 0" in caught.value.what


async def test_without_a_driver_there_is_nothing_to_wait_for() -> None:
    async with gpu_memory.held({os.getpid()}) as memory:
        await gpu_memory.freed("demo", memory, 0.0)


def test_a_stopped_server_whose_memory_stays_is_reported(
    driver: FakeDriver, isolated: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Workspace.at(None).server("demo")
    server.root.mkdir(parents=True)
    env = {**os.environ, proctable.SERVER_MARK: str(server.root)}
    program = "import sys; print('begun', flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program], env=env, start_new_session=True, **pipes) as process:  # type: ignore[call-overload]
        process.stdout.readline()
        holding(driver, process.pid)
        monkeypatch.setattr(gpu_memory.freed, "__defaults__", (0.0,))
        with pytest.raises(ServerError, match=f"process {process.pid}: "):
            asyncio.run(stop(server))
        assert proctable.read(process.pid) is None


class FakeMonitor(Monitor):
    """Readings of one process's memory on GPU 3, one at each moment that it was given; it sets the clock."""

    def __init__(self, clock: list[float], moments: Sequence[tuple[float, int | None]]) -> None:
        super().__init__()
        self.clock, self.moments = clock, list(moments)

    def read(self) -> Reading:
        self.clock[0], used = self.moments.pop(0)
        processes = (GpuProcess(5, "stranger", GIB), *((GpuProcess(7, "tritonserver", used),) if used != 0 else ()))
        return Reading(CpuReading(), (GpuReading(3, "NVIDIA L4", processes=processes), GpuReading(4, "NVIDIA L4")))


@pytest.mark.parametrize(
    ("moments", "words"),
    [
        ([(0, 0)], None),
        ([(0, GIB), (5, GIB), (10, GIB), (20, 0)], None),  # what is free is free, however late
        ([(0, GIB), (9.5, GIB), (10.5, GIB)], "in use: process 7: 1.0 GiB on GPU 3"),
        ([(0, GIB), (11, None)], "in use: process 7: unknown on GPU 3"),
    ],
)
async def test_the_driver_is_given_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, pauses: list[float], moments: list[tuple[float, int | None]], words: str | None
) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monitor = FakeMonitor(clock, moments)
    held = gpu_memory.Held(monitor, frozenset({7}))
    held.look()
    if words:
        with pytest.raises(ServerError) as caught:
            await gpu_memory.freed("demo", held)
        assert caught.value.what.endswith(words)
    else:
        await gpu_memory.freed("demo", held)
    assert monitor.moments == []
    assert len(pauses) == len(moments) - (2 if words else 1)
