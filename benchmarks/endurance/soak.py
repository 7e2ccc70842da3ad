"""A server in use for a long time: memory and open files of wizard, address and server while they chat and restart.

    python benchmarks/endurance/soak.py [--minutes 30] [--every 10] [--restarts 5] [--folder DIR]

The demo is served as `triton-wizard up demo` does. Until the time is over, every ``--every`` seconds a question goes to
the OpenAI-compatible address and another over gRPC, and `status` and `logs` read the server. It is restarted every
``--restarts`` minutes. Besides, a wizard runs a step again and again that writes the output of `tests/run/noise.py`.
Printed are resident memory and open files of this wizard, of the address and of the server with its children, and at
the end how much they grew per minute since the last start, by least squares after the first third. A restart that
fails, or an answer without text, ends the script with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from wizard.kernel import proctable  # noqa: E402

WIZARD = (sys.executable, "-m", "wizard")
LOGGER = """
import asyncio, sys, time
from pathlib import Path
sys.path.insert(0, {here!r})
from log_capture import Command, Done, Estimate, Step, events, noise, plan_of
step = Step("noise", "Noise", "", (Command((sys.executable, noise.__file__, "20")),), Done(), Estimate(1))
while True:
    asyncio.run(events(plan_of(Path({folder!r}), step)))
    time.sleep({pause})
"""
WARM_UP = 1 / 3
LEAST = 10
"""Readings for a slope."""


def used(pids: list[int]) -> tuple[float, int]:
    """Resident MiB and open files of processes, as far as they live."""
    memory, files = 0.0, 0
    for pid in pids:
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
            files += len([*Path(f"/proc/{pid}/fd").iterdir()])
        except OSError:
            continue
        memory += pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    return memory, files


def slope(points: list[tuple[float, float]]) -> float:
    """By least squares, of (x, y)."""
    mean_x, mean_y = (sum(point[at] for point in points) / len(points) for at in (0, 1))
    below = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / below if below else 0.0


def wizard(workspace: Path, *words: str) -> str:
    """Run a command of the wizard; its standard output."""
    done = subprocess.run(
        [*WIZARD, *words, "--workspace", str(workspace)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: status {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout


def ask(url: str) -> None:
    """A question over the OpenAI-compatible address."""
    body = json.dumps({"model": "demo", "max_tokens": 32, "messages": [{"role": "user", "content": "What is Triton?"}]})
    request = urllib.request.Request(f"{url}/chat/completions", body.encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        if not json.load(reply)["choices"][0]["message"]["content"]:
            raise SystemExit("an answer without text")


def main() -> int:
    """Serve, use, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two rounds of questions (10)")
    parser.add_argument("--restarts", type=float, default=5.0, help="minutes between two restarts (5)")
    parser.add_argument("--folder", type=Path, help="keep the workspace there (a temporary folder)")
    given = parser.parse_args()
    folder = (given.folder or Path(tempfile.mkdtemp(prefix="soak-"))).resolve()
    workspace, own = folder / "w", folder / "logs"
    code = LOGGER.format(here=str(Path(__file__).parent), folder=str(own), pause=given.every / 2)
    points: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    asked = restarts = 0
    wizard(workspace, "up", "demo", "--yes")
    logger = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.DEVNULL)
    began = started = time.monotonic()
    try:
        while (now := time.monotonic()) - began < given.minutes * 60:
            if now - started > given.restarts * 60:
                wizard(workspace, "down", "demo")
                wizard(workspace, "up", "demo", "--yes")
                started, restarts = time.monotonic(), restarts + 1
                points.clear()
            status = json.loads(wizard(workspace, "status", "--json"))[0]
            ask(status["endpoint"]["openai"])
            wizard(workspace, "chat", "demo", "-m", "What is a model repository?")
            wizard(workspace, "logs", "demo", "-n", "1000")
            asked += 2
            pids = {
                "wizard": [logger.pid],
                "address": [row.pid for row in proctable.marked(proctable.GATEWAY_MARK, str(workspace))],
                "server": [
                    row.pid
                    for row in proctable.processes()
                    if proctable.environment(row.pid).get(proctable.SERVER_MARK, "").startswith(str(workspace))
                ],
            }
            minutes = (time.monotonic() - began) / 60
            for name, group in pids.items():
                points[name].append((minutes, *used(group)))
            shown = "  ".join(f"{name} {points[name][-1][1]:7.1f} MiB {points[name][-1][2]:4d} files" for name in pids)
            print(f"{minutes:6.1f} min  {shown}", flush=True)
            time.sleep(max(0.0, given.every - (time.monotonic() - now)))
    finally:
        logger.terminate()
        logger.wait()
        wizard(workspace, "down", "--all")
    log = (own / "servers" / "test" / "logs" / "noise.log").stat().st_size
    print(f"{asked} answers, {restarts} restarts; the log of the last step of the wizard has {log:,} bytes")
    for name, each in points.items():
        late = each[int(len(each) * WARM_UP) :]
        if len(late) < LEAST:
            print(f"{name}: too few readings since the last start")
            continue
        memory, files = (slope([(point[0], point[at]) for point in late]) for at in (1, 2))
        print(f"{name}: {memory * 1024:+,.0f} KiB and {files:+.2f} files per minute since the last start")
    return 0


if __name__ == "__main__":
    sys.exit(main())
