"""GPU memory of a server's processes, and waiting until it is freed, according to NVML, not the kernel.

The driver frees a process's GPU memory during its shutdown, which takes longer than the process is visible.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field

from wizard.kernel.errors import ServerError
from wizard.kernel.language import tr
from wizard.kernel.units import size
from wizard.probe.host import GpuProcess
from wizard.probe.live import Monitor

SECONDS = 10.0
"""Time limit for the driver to free a stopped process's memory."""
POLL_SECONDS = 0.05


@dataclass(slots=True)
class Held:
    """The processes of a server that used GPU memory when checked, and their GPUs."""

    monitor: Monitor
    pids: frozenset[int]
    gpus: dict[int, list[GpuProcess]] = field(default_factory=dict)

    def look(self) -> None:
        """Query NVML for the processes that use GPU memory now."""
        reading = self.monitor.read()
        mine = ((gpu.index, [process for process in gpu.processes if process.pid in self.pids]) for gpu in reading.gpus)
        self.gpus = {index: processes for index, processes in mine if processes}


@asynccontextmanager
async def held(pids: Collection[int]) -> AsyncIterator[Held]:
    """The GPU memory of the processes ``pids`` now.

    NVML uses the host's process IDs: in a container with a separate PID namespace none is found, and there is no wait.
    """
    with closing(Monitor()) as monitor:
        held = Held(monitor, frozenset(pids))
        await asyncio.to_thread(held.look)
        yield held


async def freed(server: str, held: Held, seconds: float = SECONDS) -> None:
    """Wait until the driver has freed the memory in ``held``.

    Raises:
        ServerError: TW-S10 if it has not after ``seconds``.
    """
    until = time.monotonic() + seconds
    while held.gpus:
        await asyncio.to_thread(held.look)
        if held.gpus and time.monotonic() > until:
            parts = [
                tr(
                    "process {pid}: {bytes} on GPU {index}",
                    pid=process.pid,
                    bytes=size(process.used_bytes),
                    index=index,
                )
                for index, processes in held.gpus.items()
                for process in processes
            ]
            raise ServerError(
                "TW-S10",
                tr(
                    "{server} stopped, but the driver still reports GPU memory in use: {parts}",
                    server=server,
                    parts=", ".join(parts),
                ),
                tr("Check `nvidia-smi` in a minute. If the memory is still in use, reset the GPU or reboot."),
            )
        await asyncio.sleep(POLL_SECONDS)
