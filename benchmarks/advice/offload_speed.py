"""How far off the speed with layers on a GPU is: fitted to public measurements, each source left out in turn.

``python benchmarks/advice/offload_speed.py`` prints the fit of all rows of ``llamacpp_gpu.json``, the errors on rows of
sources that the fit did not see, and the splits between GPU and CPU, which are not fitted.
"""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

from wizard.advise.offload_speed import gpu_seconds
from wizard.catalog.cpu_facts import OffloadSpeed
from wizard.catalog.stacks import facts
from wizard.kernel.units import GIB

Row = dict[str, Any]
DATA: dict[str, Any] = json.loads(Path(__file__).with_name("llamacpp_gpu.json").read_text(encoding="utf-8"))
ENGINE = facts("llamacpp").cpu
assert ENGINE
assert ENGINE.offload
assert ENGINE.offload.speed
KNOWN = ENGINE.offload.speed
"""The constants that the wizard uses."""
Q4_K = 144 / 256
"""Bytes per weight."""


def seconds(row: Row, engine: OffloadSpeed, share: float = 1.0) -> float:
    """Predicted seconds per token of the ``share`` of the layers that is on the GPU."""
    model = DATA["models"][row["model"]]
    rows, columns = model.get("embedding", (0, 0))
    read = model["size_gib"] * GIB - rows * columns * Q4_K
    part = engine.hbm_share if row.get("hbm") else engine.share
    return gpu_seconds(share * read, share * model["layers"], part * row["bandwidth"] * 1e9, engine)


def fitted(rows: list[Row]) -> OffloadSpeed:
    """The constants with the least mean relative error, each source counting the same."""
    sizes = Counter(row["source"] for row in rows)

    def cost(engine: OffloadSpeed, some: list[Row]) -> float:
        return sum(abs(error(row, engine)) / sizes[row["source"]] for row in some)

    kinds = [[row for row in rows if bool(row.get("hbm")) == hbm] for hbm in (False, True)]
    best: list[tuple[float, OffloadSpeed]] = []
    for us in range(0, 205, 5):
        made = [OffloadSpeed(share / 100, share / 100, float(us), 0, "") for share in range(30, 101)]
        few, hbm = (min(made, key=lambda engine, some=some: cost(engine, some)) for some in kinds)  # type: ignore[misc]
        engine = OffloadSpeed(few.share, hbm.hbm_share, float(us), 0, "")
        best.append((cost(engine, rows), engine))
    return min(best, key=lambda each: each[0])[1]


def error(row: Row, engine: OffloadSpeed) -> float:
    """Predicted tokens per second relative to the measured ones, minus 1."""
    return 1 / seconds(row, engine) / float(row["tokens_per_s"]) - 1


def main() -> None:
    """Print fit, errors and splits."""
    rows: list[Row] = DATA["rows"]
    engine = fitted(rows)
    print(f"share {engine.share:.2f}, of HBM {engine.hbm_share:.2f}, {engine.layer_us:.0f} us per layer")
    others = {source: fitted([row for row in rows if row["source"] != source]) for source in DATA["sources"]}
    unseen = {source: [error(row, k) for row in rows if row["source"] == source] for source, k in others.items()}
    for row in rows:
        print(
            f"{row['source']} {row.get('gpu', ''):15} {row['model']:14} {row['tokens_per_s']:6.1f} tokens/s, "
            f"error {error(row, engine):+.1%}, without its source {error(row, others[row['source']]):+.1%}"
        )
    sizes = sorted(math.expm1(abs(math.log1p(each))) for some in unseen.values() for each in some)
    inside = sum(each <= KNOWN.spread for each in sizes) / len(sizes)
    print(f"without its source: median {statistics.median(sizes):.1%}, in the range {inside:.0%}")
    split = DATA["split"]
    layers = DATA["models"][split["model"]]["layers"]
    for on_gpu, measured in split["rows"]:
        share = on_gpu / layers
        total = seconds(split, engine, share) + (1 - share) / split["cpu_tokens_per_s"]
        off = 1 / total / measured - 1
        print(f"{on_gpu} of {layers} layers: {measured:5.2f} tokens/s, predicted {1 / total:5.2f} ({off:+.1%})")


if __name__ == "__main__":
    main()
