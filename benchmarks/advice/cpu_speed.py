"""How far off the speed on the CPU is: predicted against measured, each shape left out of the fit in turn.

``python benchmarks/advice/cpu_speed.py [FILE]`` prints the fit of all rows, and a table. FILE has the lines of
``measure_llamacpp.py``; the first one has the memory bandwidth.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from measure_llamacpp import ANSWER, BLOCK, PROMPT, SHAPES  # noqa: E402

from wizard.advise.cpu_speed import Work, prompt_seconds, token_seconds  # noqa: E402
from wizard.catalog.cpu_facts import CpuSpeed  # noqa: E402
from wizard.catalog.stacks import facts  # noqa: E402
from wizard.probe.cpu_rates import CpuRates  # noqa: E402

Row = dict[str, Any]


def work(row: Row) -> Work:
    """The work of a row's shape; its matrices are stored in Q8_0 if their columns do not fill a block."""
    layers, hidden, heads, kv, head, wide, vocabulary, experts, active = SHAPES[row["shape"]]

    def stored(rows: int, columns: int) -> float:
        size, width = BLOCK[row["type"] if columns % BLOCK[row["type"]][0] == 0 else "Q8_0"]
        return rows * columns / size * width

    attention = stored(2 * kv * head + heads * head, hidden) + stored(hidden, heads * head)
    block = 2 * stored(wide, hidden) + stored(hidden, wide)
    weights = layers * (hidden * head * 2 * (heads + kv) + 3 * hidden * wide * max(1, active))
    return Work(
        dense_bytes=stored(vocabulary, hidden) + layers * (attention + (0 if experts else block)),
        expert_bytes=layers * experts * block,
        share=active / experts if experts else 0.0,
        weights=weights + vocabulary * hidden,
        prompt_weights=weights,
        cache_bytes=2 * layers * kv * head * 2,
        layers=layers,
    )


def predicted(row: Row, engine: CpuSpeed, rates: CpuRates) -> tuple[float, float]:
    """Tokens per second of prompt and answer."""
    todo = work(row)
    token = token_seconds(todo, engine, rates, users=1, context=PROMPT + ANSWER / 2)
    return PROMPT / prompt_seconds(todo, engine, rates, PROMPT), 1 / token


def fitted(rows: list[Row], rates: CpuRates) -> CpuSpeed:
    """The constants with the least mean error of decoding, and the median of the cores' rate with prompts."""
    prefill = statistics.median(row["prefill"] * work(row).prompt_weights / rates.cores for row in rows)
    best, least = CpuSpeed(1, prefill, 0, 0, ""), math.inf
    for giga in (6 * 1.06**step for step in range(60)):
        for layer_us in range(0, 260, 10):
            engine = CpuSpeed(giga * 1e9, prefill, layer_us, 0, "")
            error = statistics.mean(abs(math.log(predicted(row, engine, rates)[1] / row["decode"])) for row in rows)
            if error < least:
                best, least = engine, error
    return best


def main(path: Path) -> None:
    """Print the fit and the table."""
    first, *rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rates = CpuRates(first["cpu"], first["threads"], first["bandwidth"], first["date"])
    whole = fitted(rows, rates)
    print(f"bandwidth {rates.bandwidth / 1e9:.1f} GB/s, {rates.cores} cores of {rates.processor}")
    print(f"decode_weights {whole.decode_weights:.3g}, prefill_weights {whole.prefill_weights:.3g}, "
          f"layer_us {whole.layer_us:g}")  # fmt: skip
    known = facts("llamacpp").cpu
    spread = known.speed.spread if known and known.speed else 0.0
    print("| shape | type | decode: measured | predicted | error | prefill: measured | predicted | error |")
    print("|---|---|---|---|---|---|---|---|")
    decode, prefill = [], []
    for row in rows:
        engine = fitted([other for other in rows if other["shape"] != row["shape"]], rates)
        pre, dec = predicted(row, engine, rates)
        decode.append(dec / row["decode"])
        prefill.append(pre / row["prefill"])
        print(f"| {row['shape']} | {row['type']} | {row['decode']:.1f} | {dec:.1f} | {decode[-1] - 1:+.0%} "
              f"| {row['prefill']:.0f} | {pre:.0f} | {prefill[-1] - 1:+.0%} |")  # fmt: skip
    for name, ratios in (("decode", decode), ("prefill", prefill)):
        inside = sum(1 / (1 + spread) <= ratio <= 1 + spread for ratio in ratios)
        errors = [abs(ratio - 1) for ratio in ratios]
        print(f"{name}: mean {statistics.mean(errors):.1%}, median {statistics.median(errors):.1%}, "
              f"largest {max(errors):.0%}; {inside} of {len(ratios)} within a factor of {1 + spread:g}")  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "llamacpp_cpu.jsonl")
