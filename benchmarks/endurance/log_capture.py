"""A step that writes its log as fast as it can: lines per second, memory, and whether all of it is on the disk.

    python benchmarks/endurance/log_capture.py [--gigabytes 1] [--folder DIR]

The wizard's own engine runs a step whose program writes the worst output of `tests/run/noise.py`: progress bars,
colors, lines of 1 MiB, bytes that are no UTF-8, NULs. The log is compared with what was written, byte by byte. Memory
is the peak of this process above what it had before the step. For comparison the same program writes through cat(1)
into the same file system. Bars: 200,000 lines/s, 64 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.run import noise  # noqa: E402
from tests.values import plan_of  # noqa: E402
from wizard.kernel.errors import ServerError, UsageError  # noqa: E402
from wizard.kernel.paths import Workspace  # noqa: E402
from wizard.plan.plan import Command, Done, Estimate, Plan, Step  # noqa: E402
from wizard.run.engine import run  # noqa: E402
from wizard.run.events import Output  # noqa: E402
from wizard.serve.log import times_of  # noqa: E402

WANTED, BAR_BYTES = 200_000, 64e6
BLOCK_LINES = noise.BLOCK.count(b"\n") + noise.BLOCK.replace(b"\r\n", b"").count(b"\r")
"""Lines and updates of progress bars."""


def memory(field: str) -> int:
    """A figure of this process in bytes: ``VmRSS`` now, ``VmHWM`` at most so far."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{field}:")[2].split()[0]) * 1024


async def events(plan: Plan) -> int:
    """Run the plan, which starts no server; returns how many lines an interface would have got."""
    shown = 0
    try:
        async for event in run(plan):
            shown += len(event.lines) if isinstance(event, Output) else 0
    except (UsageError, ServerError) as error:
        if error.code != "TW-S02":
            raise
    return shown


def is_complete(log: Path, blocks: int) -> bool:
    """Whether the log is its first line and so many blocks, and nothing else."""
    with log.open("rb") as file:
        file.readline()
        return all(file.read(len(noise.BLOCK)) == noise.BLOCK for _ in range(blocks)) and not file.read(1)


def main() -> int:
    """Run, compare, print; the exit status says whether the bars are kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, help="where the log is written (a temporary folder)")
    given = parser.parse_args()
    blocks = max(1, round(given.gigabytes * 1e9 / len(noise.BLOCK)))
    lines, size = blocks * BLOCK_LINES, blocks * len(noise.BLOCK)
    argv = (sys.executable, str(ROOT / "tests" / "run" / "noise.py"), str(blocks))
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        began = time.monotonic()
        with Path(folder, "alone").open("wb") as file, subprocess.Popen(argv, stdout=subprocess.PIPE) as program:
            subprocess.run(["cat"], stdin=program.stdout, stdout=file, check=True)
        alone = time.monotonic() - began
        Path(folder, "alone").unlink()
        workspace = Workspace(Path(folder, "w"))
        step = Step("noise", "Noise", "", (Command(argv),), Done(), Estimate(1))
        asyncio.run(events(plan_of(workspace.root, Step("none", "None", "", (), Done(), Estimate(1)))))  # all imported
        base, cpu, began = memory("VmRSS"), time.process_time(), time.monotonic()
        shown = asyncio.run(events(plan_of(workspace.root, step)))
        wall, cpu = time.monotonic() - began, time.process_time() - cpu
        above = memory("VmHWM") - base
        log = workspace.server("test").logs / "noise.log"
        complete, times = is_complete(log, blocks), times_of(log).read_bytes().count(b"\n")
    print(f"written: {size:,} bytes, {lines:,} lines; in the log: {'all of them' if complete else 'NOT THE SAME'}")
    print(f"{lines / wall:,.0f} lines/s ({lines / wall / WANTED:.1f} × {WANTED:,}), {size / wall / 1e6:,.0f} MB/s")
    print(f"{lines / cpu:,.0f} lines per second of the wizard's processor time, {cpu / wall:.0%} of one processor")
    print(f"{wall / alone:.1f} × the time that cat takes for it")
    print(
        f"peak memory above the base of {base / 1e6:,.0f} MB: {above / 1e6:,.1f} MB ({above / BAR_BYTES:.2f} × 64 MB)"
    )
    print(f"times: {times:,} entries, one per {wall / max(1, times) * 1000:.0f} ms; lines for interfaces: {shown:,}")
    return 0 if complete and lines / wall >= WANTED and above <= BAR_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
