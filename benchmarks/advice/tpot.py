"""How far off the speed estimates are, beside what others would have said of the same rows: a table for docs/advice.md.

``PYTHONPATH=. python benchmarks/advice/tpot.py PACKAGE [PEERS.json [SAMPLE.csv]]``: PACKAGE is the folder
``aiconfigurator_core`` of its wheel, PEERS.json what benchmarks/advice/peers.py wrote; SAMPLE.csv gets the held-out
rows, for the test.

The other two columns are rules that tools use: *peak* is a roofline with nothing lost (LLM-Viewer), *0.55* is bandwidth
/ bytes of weights x 0.55 for the tokens per second of one user, whatever the load (llmfit).
"""

from __future__ import annotations

import csv
import json
import math
import statistics
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from silicon import STACKS, Row, few_users, read

from wizard.advise.devices import devices
from wizard.advise.setup import Setup
from wizard.advise.speed import Load, decode, estimate, work
from wizard.catalog.speed import Coefficients
from wizard.probe.shorthand import host

UNITS = {"us": 0.0, "gb": math.inf}
PEAK = Coefficients(**{field.name: UNITS.get(field.name.rpartition("_")[2], 1.0) for field in fields(Coefficients)})
H200 = ((1, 202), (8, 1549), (32, 5342), (64, 9151), (256, 16905))
"""Requests at once and tokens/s of vLLM 0.26 with Llama-3.1-8B's shape in bfloat16 on one H200, 100 in and 128 out."""
COLUMNS = "id stack model gpu quantization kv_cache_dtype tp users isl osl ttft_ms tpot_ms aiconfigurator_tpot_ms"
"""Of SAMPLE.csv."""
EVERYBODY = 10**9
"""Tokens of KV cache: rows whose users did not fit are left out beforehand, and the others' all were served."""
Estimate = Callable[[Row], float | None]


def ours(row: Row) -> float | None:
    speed = estimate(row.facts, row.device, row.setup, row.load, EVERYBODY)
    return speed.tpot_ms if speed else None


def first(row: Row) -> float | None:
    speed = estimate(row.facts, row.device, row.setup, row.load, EVERYBODY)
    return speed.ttft_ms if speed else None


def peak(row: Row) -> float:
    assert row.facts.anatomy is not None
    assert row.device.rates is not None
    todo = work(row.facts, row.facts.anatomy, row.device.rates, row.setup)
    return decode(todo, PEAK, row.device, row.device.rates, row.setup, row.load)[0] * 1e3


def rule_of_thumb(row: Row) -> float:
    assert row.facts.anatomy is not None
    assert row.device.rates is not None
    todo = work(row.facts, row.facts.anatomy, row.device.rates, row.setup)
    return (todo.dense_bytes + todo.expert_bytes) / row.device.rates.bandwidth / 0.55 * 1e3


def aiconfigurator(peers: dict[str, Any], quantity: str) -> Estimate:
    """Its answer with the row's dtype of the KV cache, or with its own default where it has none for that."""

    def answer(row: Row) -> float | None:
        answers = peers.get(row.id, {})
        wanted = ("fp8", "auto", "16") if row.setup.kv_cache_dtype == "fp8" else ("auto", "16", "fp8")
        values = (answers.get(name, {}).get(quantity) for name in wanted)
        return next((float(value) for value in values if value is not None and math.isfinite(value)), None)

    return answer


def error(rows: Iterable[Row], say: Estimate, measured: Callable[[Row], float]) -> str:
    """Mean / median of the errors' sizes, in percent, and how many rows it is of."""
    errors = [abs(estimated / measured(row) - 1) * 100 for row in rows if (estimated := say(row)) is not None]
    return f"{statistics.mean(errors):.1f} / {statistics.median(errors):.1f} ({len(errors)})" if errors else "no answer"


def lines(rows: list[Row], peers: dict[str, Any]) -> Iterable[str]:
    """The table."""
    tpot, ttft = aiconfigurator(peers, "tpot"), aiconfigurator(peers, "ttft")
    yield "| held-out rows | this roofline | the same rows that AIConfigurator answers | AIConfigurator | peak | 0.55 |"
    yield "|---|---|---|---|---|---|"
    for stack in STACKS.values():
        for text, holds in (
            ("dense", lambda row: row.dense),
            ("dense, 16 bits", lambda row: row.dense and row.setup.quantization == "none"),
            ("dense, FP8", lambda row: row.dense and row.setup.quantization == "fp8"),
            ("dense, NVFP4", lambda row: row.dense and row.setup.quantization == "nvfp4"),
            ("experts", lambda row: not row.dense),
        ):
            mine = [row for row in rows if row.stack == stack and holds(row)]
            both = [row for row in mine if tpot(row) is not None]
            cells = [error(subset, say, _tpot) for subset, say in ((mine, ours), (both, ours), (both, tpot))]
            cells += [error(mine, say, _tpot) for say in (peak, rule_of_thumb)]
            yield f"| {stack}, {text} | {' | '.join(cells)} |"
        for model in sorted({row.model for row in rows if row.stack == stack and not row.dense}):
            mine = [row for row in rows if row.stack == stack and row.model == model]
            both = [row for row in mine if tpot(row) is not None]
            cells = [error(subset, say, _tpot) for subset, say in ((mine, ours), (both, ours), (both, tpot))]
            yield f"| {stack}, {model} | {' | '.join(cells)} | | |"
    yield "\n| time to the first token, held-out rows with at most 16 users | this roofline | both | AIConfigurator |"
    yield "|---|---|---|---|"
    for stack in STACKS.values():
        for text, dense in (("dense", True), ("experts", False)):
            few = [row for row in rows if row.stack == stack and row.dense == dense and few_users(row)]
            both = [row for row in few if ttft(row) is not None]
            cells = [error(subset, say, _ttft) for subset, say in ((few, first), (both, first), (both, ttft))]
            yield f"| {stack}, {text} | {' | '.join(cells)} |"


def _tpot(row: Row) -> float:
    return row.tpot_ms


def _ttft(row: Row) -> float:
    return row.ttft_ms


def own_gpu(rows: list[Row]) -> Iterable[str]:
    """The H200 that this project measured."""
    facts = next(row.facts for row in rows if "3.1-8B" in row.model)
    device = devices(host("H200"))[0]
    for users, rate in H200:
        predicted = estimate(facts, device, Setup("vllm", "bfloat16", "none"), Load(users, 100, 128))
        assert predicted is not None
        assert predicted.tpot_ms is not None
        measured = users / rate * 1e3
        yield f"| {users} | {measured:.2f} | {predicted.tpot_ms:.2f} | {predicted.tpot_ms / measured - 1:+.1%} |"


def covered(rows: list[Row]) -> Iterable[str]:
    """How many of the held-out rows lie in the range that is shown."""
    for stack in STACKS.values():
        for dense in (True, False):
            mine = [row for row in rows if row.stack == stack and row.dense == dense]
            inside = 0
            for row in mine:
                predicted = estimate(row.facts, row.device, row.setup, row.load, EVERYBODY)
                inside += bool(
                    predicted and predicted.low and predicted.high and predicted.low <= row.tpot_ms <= predicted.high
                )
            yield f"{stack}, {'dense' if dense else 'experts'}: {inside} of {len(mine)} in the range"


def sample(rows: list[Row], peers: dict[str, Any], out: Path) -> None:
    """The held-out rows, with what AIConfigurator says of them."""
    say = aiconfigurator(peers, "tpot")
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS.split(), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            setup, load, peer = row.setup, row.load, say(row)
            values = (row.id, row.stack, row.model, row.gpu, setup.quantization, setup.kv_cache_dtype, setup.tp)
            figures = (load.users, load.isl, load.osl, round(row.ttft_ms, 2), round(row.tpot_ms, 3))
            writer.writerow(dict(zip(COLUMNS.split(), (*values, *figures, peer and round(peer, 3)), strict=True)))


def main(package: Path, cache: Path | None = None, out: Path | None = None) -> None:
    rows, _ = read(package)
    held = [row for row in rows if row.held_out]
    peers = json.loads(cache.read_text()) if cache else {}
    print(*lines(held, peers), "", *own_gpu(rows), "", *covered(held), sep="\n")
    if out:
        sample(held, peers, out)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
