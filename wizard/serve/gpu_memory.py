"""Which GPUs a server's processes hold memory on, and waiting until they hold none: NVML's word, not the kernel's.

The driver frees a process's GPU memory while it takes the process down, which lasts longer than the process is shown.
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
"""The driver is given as long to free what a stopped process held."""
POLL_SECONDS = 0.05


@dataclass(slots=True)
class Held:
    """The processes of one server that held GPU memory when it was looked at, and the GPUs that they held it on."""

    monitor: Monitor
    pids: frozenset[int]
    gpus: dict[int, list[GpuProcess]] = field(default_factory=dict)

    def look(self) -> None:
        """Ask NVML which of the processes hold GPU memory now."""
        reading = self.monitor.read()
        mine = ((gpu.index, [process for process in gpu.processes if process.pid in self.pids]) for gpu in reading.gpus)
        self.gpus = {index: processes for index, processes in mine if processes}


@asynccontextmanager
async def held(pids: Collection[int]) -> AsyncIterator[Held]:
    """What the processes ``pids`` hold now.

    NVML numbers processes as the host does: in a container with numbers of its own none of them is found, and nothing
    is waited for.
    """
    with closing(Monitor()) as monitor:
        held = Held(monitor, frozenset(pids))
        await asyncio.to_thread(held.look)
        yield held


async def freed(server: str, held: Held, seconds: float = SECONDS) -> None:
    """Wait until the driver has freed what ``found`` held.

    Raises:
        ServerError: TW-S10 if it has not after ``seconds``.
    """
    until = time.monotonic() + seconds
    while held.gpus:
        await asyncio.to_thread(held.look)
        if held.gpus and time.monotonic() > until:
            parts = [
                tr(
                    "process {pid} {bytes} on GPU {index}",
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
