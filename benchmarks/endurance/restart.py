"""How long a kept server is away: from ``kill -9`` of its process to the next answer over HTTP.

    python benchmarks/endurance/restart.py [--times 3] [--folder DIR]

The demo is served as `triton-wizard up demo --keep` does, and killed ``--times`` times. Printed are the seconds of each
with the pause before it (`wizard.serve.keeper.PAUSES_S`). No answer within `LIMIT_S` ends the script with status 1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from soak import wizard  # noqa: E402

from wizard.kernel.paths import ServerFolder, Workspace  # noqa: E402
from wizard.serve import find  # noqa: E402

LIMIT_S = 60.0
POLL_S = 0.02


def away(server: ServerFolder) -> float:
    """Kill the server; seconds until the next one answers."""
    killed = find.note(server)
    if killed is None:
        raise SystemExit("the server has no endpoint")
    body = json.dumps({"text_input": "What is Triton?", "stream": False}).encode()
    os.kill(killed.pid, signal.SIGKILL)
    began = time.monotonic()
    while time.monotonic() < began + LIMIT_S:
        now = find.note(server)
        if now and now.pid != killed.pid:
            url = f"{now.http}/v2/models/{now.model}/generate"
            with contextlib.suppress(OSError), urllib.request.urlopen(url, data=body, timeout=LIMIT_S) as answer:
                answer.read()
                return time.monotonic() - began
        time.sleep(POLL_S)
    raise SystemExit(f"no answer within {LIMIT_S:.0f} s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="restart-") as folder:
        workspace = Workspace.at(arguments.folder or folder)
        wizard(workspace.root, "up", "demo", "--yes", "--keep")
        try:
            for number in range(arguments.times):
                print(f"restart {number + 1}: {away(workspace.server('demo')):.1f} s", flush=True)
        finally:
            wizard(workspace.root, "down", "demo")


if __name__ == "__main__":
    main()
