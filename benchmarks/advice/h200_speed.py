"""TPOT predicted against measured on the shapes that ``measure_vllm.py`` timed on an H200; none of them was fitted.

python benchmarks/advice/h200_speed.py
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from memory import asked

from wizard.advise.devices import devices
from wizard.advise.speed import Load, estimate
from wizard.probe.shorthand import host

MEASURED = Path(__file__).parent / "measured_h200.json"
TOKENS_IN, TOKENS_OUT = 100, 128


def main() -> int:
    """Print a line for every shape and number of requests, and the errors of all."""
    device = devices(host("1xH200"))[0]
    errors = []
    print("| shape | requests | measured ms/token | predicted | error |")
    print("|---|---|---|---|---|")
    for load in json.loads(MEASURED.read_text(encoding="utf-8")):
        options = load["options"]
        if options.get("enforce_eager") or "gptq" in load["shape"]:
            continue  # eager mode is no way to serve
        facts, setup = asked(load)
        if facts.anatomy and facts.anatomy.experts:
            continue  # routers with dummy weights send every token to the same experts
        for users, rate in load["tokens_per_s"].items():
            speed = estimate(facts, device, setup, Load(int(users), TOKENS_IN, TOKENS_OUT))
            if speed is None or speed.tpot_ms is None:
                raise SystemExit(f"{load['shape']}: no estimate")
            measured = int(users) / rate * 1e3
            errors.append(speed.tpot_ms / measured - 1)
            print(f"| {load['shape']} | {users} | {measured:.2f} | {speed.tpot_ms:.2f} | {errors[-1]:+.1%} |")
    absolute = [abs(error) for error in errors]
    print(f"\n{len(errors)} points: mean {statistics.mean(absolute):.1%}, median {statistics.median(absolute):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
