"""How far off the estimated speed of data-parallel ranks is for vLLM's servers in the public silicon sample.

    python benchmarks/advice/data_parallel.py AICONFIGURATOR_CORE

The argument is the folder ``aiconfigurator_core`` of the wheel 0.12.0 (see ``silicon.py``). No coefficient was fitted
to these rows. They state the GPUs of a server as ``tp_size`` and as ``attention_dp_size``: InferenceX's scripts start
vLLM with ``--tensor-parallel-size=1 --data-parallel-size=$TP --enable-expert-parallel``. TensorRT-LLM's rows state
products of sizes that no server has, or are taken to have speculative decoding, so they are left out.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

import silicon

from wizard.advise.devices import devices
from wizard.advise.speed import Load, estimate
from wizard.probe.shorthand import host

GPUS = {name: devices(host(f"8x{short}"))[0] for name, short in silicon.GPUS.items() if short != "GB200"}
UNLIMITED = 10**9
"""Tokens of the KV cache: all users ran."""


def main(package: Path) -> None:
    """Print a row for each model and GPU, and one for all."""
    errors: dict[str, list[tuple[float, float, bool]]] = defaultdict(list)
    with (package / "systems" / "silicon_sample.csv").open() as file:
        for line in csv.DictReader(file):
            ranks = int(float(line["attention_dp_size"] or 1))
            if line["mode"] != "agg" or ranks == 1 or line["backend"] != "vllm":
                continue
            facts = silicon._facts(package, line["model_path"])
            assert facts is not None
            row = silicon._row({**line, "tp_size": "1"}, facts, GPUS[line["system"]])
            setup = replace(row.setup, dp=ranks, expert_parallel=True)
            load = Load(-(-row.load.users // ranks), row.load.isl, row.load.osl)  # of a rank
            speed = estimate(row.facts, row.device, setup, load, UNLIMITED, line["backend_version"])
            if speed is None or not (speed.tpot_ms and speed.ttft_ms and speed.low and speed.high):
                raise SystemExit(f"no estimate for {line['id']}")
            within = speed.low <= row.tpot_ms <= speed.high
            figures = (speed.tpot_ms / row.tpot_ms - 1, speed.ttft_ms / row.ttft_ms - 1, within)
            for name in (f"{row.model}, {row.gpu}, dp {ranks}", "all"):
                errors[name].append(figures)
    print("| servers | rows | TPOT mean / median | bias | within the range | TTFT median | bias |")
    print("|---|---|---|---|---|---|---|")
    for name, rows in errors.items():
        tpot, ttft = [each[0] for each in rows], [each[1] for each in rows]
        cells = (
            f"{mean(map(abs, tpot)):.1%} / {median(map(abs, tpot)):.1%} | {median(tpot):+.1%}",
            f"{sum(each[2] for each in rows)} | {median(map(abs, ttft)):.0%} | {median(ttft):+.0%}",
        )
        print(f"| {name} | {len(rows)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
