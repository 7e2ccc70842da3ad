"""How close `triton-wizard bench` comes to a server whose speed is known, and where the load generator is the limit.

    python benchmarks/bench/accuracy.py [--streams 1,16,64,128,256] [--seconds 15] [--workspace DIR]

Starts `stub.py` on a free port and measures it with the real AIPerf. Wanted on two cores: within 3% at 64 streams for
time to first token, time between tokens, and tokens per second.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

STUB = Path(__file__).with_name("stub.py")


def measured(url: str, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    words = ["bench", url, "--concurrency", given.streams, "--seconds", str(given.seconds), "--repeats", "1"]
    place = ["--workspace", given.workspace] if given.workspace else []
    argv = [sys.executable, "-m", "wizard", *words, "--out", str(folder), "--yes", "--json", *place]
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--streams", default="1,16,64,128,256")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--ttft", type=float, default=0.5)
    parser.add_argument("--tpot", type=float, default=0.05)
    parser.add_argument("--tokens", type=int, default=50)
    parser.add_argument("--workspace")
    given = parser.parse_args()
    options = [f"--{name}={getattr(given, name)}" for name in ("ttft", "tpot", "tokens")]
    stub = subprocess.Popen([sys.executable, str(STUB), "--port=0", *options], stdout=subprocess.PIPE, text=True)
    assert stub.stdout
    try:
        url = stub.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            report = measured(url, given, Path(folder) / "report")
    finally:
        stub.terminate()
        late = stub.stdout.read().strip()
    answer = given.ttft + (given.tokens - 1) * given.tpot
    print(f"load average {os.getloadavg()[0]:.1f}; {late}")
    print("streams  first token  per token  tokens/s  generator  warnings")
    for point in report["points"]:
        streams = point["point"]["concurrency"]
        ratios = (
            point["ttft_ms"]["p50"]["value"] / (1000 * given.ttft),
            point["tpot_ms"]["p50"]["value"] / (1000 * given.tpot),
            point["tokens_per_s"]["value"] * answer / (streams * given.tokens),
        )
        first, each, rate = (f"{100 * (ratio - 1):+.1f}%" for ratio in ratios)
        codes = " ".join(warning["code"] for warning in point["warnings"])
        print(f"{streams:7}  {first:>11}  {each:>9}  {rate:>8}  {point['generator_cores'] or 0:.2f} cores  {codes}")


if __name__ == "__main__":
    main()
