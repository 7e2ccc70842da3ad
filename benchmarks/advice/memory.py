"""Predicted against measured: weights, peak activation, CUDA graphs and KV-cache tokens of vLLM, shape by shape.

    python benchmarks/advice/memory.py [MEASURED.json …]

The files are what ``measure_vllm.py`` wrote; without one, the figures that were measured on H200s are used.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from wizard.advise import memory, speculation
from wizard.advise.setup import Setup
from wizard.kernel.units import GIB, MIB
from wizard.model.config import describe
from wizard.model.facts import ModelFacts

HERE = Path(__file__).parent
RESERVED = 615 * MIB
"""What the driver keeps of an H200 (NVML v2)."""


def asked(record: dict[str, Any]) -> tuple[ModelFacts, Setup]:
    """The model and the configuration of a measured shape."""
    options = record["options"]
    facts = describe(
        ModelFacts(record["shape"], "folder", record["shape"], record["shape"], None, None), record["config"]
    )
    stored = facts.quantization.format if facts.quantization else None
    setup = Setup(
        "vllm",
        facts.dtype or "bfloat16",
        options.get("quantization") or stored or "none",
        options.get("kv_cache_dtype", "auto"),
        options.get("tensor_parallel_size", 1),
        speculative=options.get("speculative_config", {}).get("method", ""),
    )
    return facts, speculation.prepared(facts, setup)


def predicted(record: dict[str, Any]) -> dict[str, float]:
    """What the wizard says of one measured shape, in the units of the measurement."""
    options = record["options"]
    facts, setup = asked(record)
    total = record["nvml_total_mib"] * MIB - RESERVED
    if facts.anatomy is None:
        raise SystemExit(f"{record['shape']}: {facts.unknown}")
    users, step = options["max_num_seqs"], options["max_num_batched_tokens"]
    inside = memory.overhead(facts.anatomy, setup, users) - memory.outside(facts.anatomy, setup, users)
    loaded, peak = memory.weights(facts, facts.anatomy, setup), memory.activations(facts.anatomy, setup, users, step)
    room = int(record["utilization"] * total) - loaded - peak - inside
    token = memory.sequence_bytes(facts.anatomy, setup, options["max_model_len"], step) / options["max_model_len"]
    return {
        "weights_gib": loaded / GIB,
        "activation_gib": peak / GIB,
        "graphs_gib": memory.graphs(facts.anatomy, users) / GIB,
        "kv_tokens": room / token,
    }


def main() -> int:
    """Print the table."""
    paths = [Path(name) for name in sys.argv[1:]] or [HERE / "measured_h200.json"]
    shapes = [load for path in paths for load in json.loads(path.read_text(encoding="utf-8")) if "blocks" in load]
    print("| shape | weights GiB | peak activation GiB | CUDA graphs GiB | KV-cache tokens |")
    print("|---|---|---|---|---|")
    for shape in shapes:
        ours = predicted(shape)
        cells = []
        for key in ("weights_gib", "activation_gib", "graphs_gib", "kv_tokens"):
            actual = shape.get(key)
            if actual is None:  # nothing was captured
                cells.append("none")
                continue
            digits = 0 if key == "kv_tokens" else 2
            cells.append(f"{ours[key]:,.{digits}f} / {actual:,.{digits}f} ({ours[key] / actual - 1:+.1%})")
        print(f"| {shape['shape']} | {' | '.join(cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
