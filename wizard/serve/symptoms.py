"""What shows that a running server cannot answer any more, besides the end of its process.

One object looks at one start of a server, again and again.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from wizard.kernel.language import join, tr
from wizard.kernel.paths import ServerFolder
from wizard.kernel.units import duration
from wizard.probe.live import Reading
from wizard.serve import work
from wizard.serve.endpoint import Endpoint
from wizard.serve.kernel_log import KernelLog
from wizard.serve.status import status

SILENT_S = 60.0
"""Seconds without an answer to a question about its health after which a server counts as hanging; it needs
milliseconds.
"""
STALLED_S = 600.0
"""Seconds without a token, while a request runs, after which a server counts as hanging. A prompt that fills a long
context takes minutes on a slow machine.
"""
VMSTAT = Path("/proc/vmstat")


@dataclass(slots=True)
class Symptoms:
    """Of a server that was ready.

    Attributes:
        server: Its folder.
        endpoint: The start that is looked at.
        readings: The GPUs' readings; None if there are none.
        clock: Monotonic seconds.
    """

    server: ServerFolder
    endpoint: Endpoint
    readings: Callable[[], Reading] | None = None
    clock: Callable[[], float] = time.monotonic
    _answered: float = field(default=0.0, init=False)
    _progress: tuple[float, work.Work | None] = field(default=(0.0, None), init=False)
    _gpus: dict[int, int] = field(default_factory=dict, init=False)
    _kills: int = field(default=0, init=False)
    _kernel: KernelLog = field(init=False)

    def __post_init__(self) -> None:
        """Begin: everything is well now."""
        self._answered, self._kills = self.clock(), killed_for_memory()
        self._kernel = KernelLog(self.clock)

    def look(self) -> str:
        """Why the server must be restarted, in words; empty if it need not. Blocks for up to 4 s."""
        now = self.clock()
        self._kernel.read()
        seen = status(self.server)
        if seen.state == "dead":
            return join("; ", seen.why, self.memory())
        if seen.state == "ready" or seen.trouble:  # the engine proxy restarts engines itself
            self._answered = now
        if now - self._answered >= SILENT_S:
            return tr("it has not responded for {seconds}", seconds=duration(now - self._answered))
        return self._stalled(now)

    def xid(self) -> str:
        """What NVIDIA's driver reported of a GPU in the last minutes, in words. Blocks for up to 3 s."""
        return self._kernel.xid()

    def memory(self) -> str:
        """Whether memory ran out meanwhile, in words."""
        ran_out = killed_for_memory() > self._kills
        return tr("memory ran out, and the kernel killed a process of this machine") if ran_out else ""

    def _stalled(self, now: float) -> str:
        done = work.done(self.endpoint)
        since, before = self._progress
        if done is None or not done.running or done != before:
            self._progress = (now, done)
        elif now - since >= STALLED_S:
            return tr("no token for {seconds} while a request is running", seconds=duration(now - since))
        return ""

    def lost_gpu(self) -> str:
        """The GPU that fell off the bus, in words: its driver reported its memory before, and twice in a row not."""
        if self.readings is None:
            return ""
        for gpu in self.readings().gpus:
            if gpu.memory_total_bytes is not None:
                self._gpus[gpu.index] = 0
            elif gpu.index in self._gpus:
                self._gpus[gpu.index] += 1
                if self._gpus[gpu.index] > 1:
                    why = gpu.unknown.get("memory", "")
                    return tr("GPU {index} is lost: {why}", index=gpu.index, why=why)
        return ""


def killed_for_memory() -> int:
    """Processes that the kernel has killed since the machine started because memory ran out (proc_vmstat, 4.13)."""
    with contextlib.suppress(OSError):
        if match := re.search(r"^oom_kill (\d+)$", VMSTAT.read_text(encoding="ascii"), re.MULTILINE):
            return int(match[1])
    return 0
