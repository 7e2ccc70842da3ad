"""Fit and judge the time to the first token of several users, each source left out in turn.

    python benchmarks/advice/first_tokens.py FOLDER   (aiconfigurator_core, unpacked; needs numpy and scipy)

Fitted are the exponents of the number of users (``arrival``, ``queue``), and ``first_experts``, to servers with a fixed
number of users who send the next prompt after each answer. Benchmarks of the silicon sample start with all users at
once and end after ten answers each, so a tenth of their mean is that of simultaneous prompts. Every source counts the
same. Not in the fit: servers with a given rate of requests, and SGLang 0.5.1 of the sample, whose prompts take as long
as if all users sent them at once in every round. The range is the error that nine in ten points of a source left out do
not exceed.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np  # type: ignore[import-not-found, unused-ignore]
from fit_public import OUT, _value, _with
from public import INDEPENDENT, Point, read
from scipy.optimize import least_squares  # type: ignore[import-not-found, import-untyped, unused-ignore]
from silicon import Row
from silicon import read as read_silicon

from wizard.advise.speed import first_token, work
from wizard.catalog.speed import Coefficients, fit

BY_RATE = {"iog", "kvcached"}
"""Sources whose requests arrive at a given rate, whatever was answered."""
COPIED = ("trtllm-llmapi", "trtllm-engine")
"""Two stacks with one frontend; of the second there are too few points."""
ROUNDS = 10
SPREAD = 0.9
NEAR = 0.3
BEGIN = {"first_experts": 1.5, "arrival": 0.3, "queue": 0.35}
LIMITS = {"first_experts": (0.3, 8.0), "arrival": (0.0, 1.5), "queue": (0.05, 1.5)}
Server = tuple[str, Row | Point, float]
"""Source, what was measured, and seconds to the first token."""


def servers(package: Path) -> list[Server]:
    """All that are fitted or judged."""
    rows: list[Server] = [
        ("silicon " + row.era, row, row.ttft_ms / 1e3) for row in read_silicon(package)[0] if row.ttft_ms > 0
    ]
    points: list[Server] = [(p.source, p, p.ttft_ms / 1e3) for p in read(INDEPENDENT) if p.ttft_ms and not p.old]
    return [each for each in (*rows, *points) if (each[1].setup.stack, each[0]) != ("sglang", "silicon nvidia")]


def ratio(server: Server, k: Coefficients) -> float:
    """Estimate / measured."""
    source, of, measured = server
    assert of.facts.anatomy is not None
    assert of.device.rates is not None
    todo = work(of.facts, of.facts.anatomy, of.device.rates, of.setup)
    alone, steady, last = first_token(todo, k, of.device, of.device.rates, of.setup, of.load)
    if source.startswith("silicon"):
        steady += ((alone + last) / 2 - steady) / ROUNDS
    return steady / measured


def solve(some: list[Server], begin: Coefficients) -> Coefficients:
    """``begin`` with the three values fitted to ``some``."""
    sizes = Counter(source for source, _, _ in some)
    weight = np.array([sizes[source] ** -0.5 for source, _, _ in some])

    def made(values: np.ndarray) -> Coefficients:
        return replace(begin, **dict(zip(BEGIN, map(float, values), strict=True)))

    def residuals(values: np.ndarray) -> np.ndarray:
        k = made(values)
        return weight * np.log([ratio(each, k) for each in some])

    bounds = tuple(np.array(column) for column in zip(*LIMITS.values(), strict=True))
    solution = least_squares(residuals, list(BEGIN.values()), bounds=bounds, loss="soft_l1", f_scale=0.2)
    return made(solution.x)


def quantile(errors: list[tuple[str, float]]) -> float:
    """What `SPREAD` of the errors do not exceed, every source counting the same."""
    sizes, total = Counter(source for source, _ in errors), 0.0
    for source, error in sorted(errors, key=lambda each: abs(each[1])):
        total += 1 / sizes[source] / len(sizes)
        if total >= SPREAD - 1e-9:
            return abs(error)
    return math.inf


def main() -> None:
    measured, text = servers(Path(sys.argv[1])), OUT.read_text()
    print("| stack, source left out | points | median error | bias | within 30% | in a range made without it |")
    print("|---|---|---|---|---|---|")
    for stack in ("vllm", "trtllm-llmapi", "sglang"):
        known = fit(stack)
        assert known is not None
        mine = [each for each in measured if each[1].setup.stack == stack and each[0] not in BY_RATE]
        errors: list[tuple[str, float]] = []
        for source in sorted({each[0] for each in mine if each[1].load.users > 1}):
            k = solve([each for each in mine if each[0] != source], known.coefficients)
            few = [each for each in mine if each[0] == source and each[1].load.users > 1]
            errors += [(source, math.log(ratio(each, k))) for each in few]
        for source in sorted({source for source, _ in errors}):
            spread = quantile([each for each in errors if each[0] != source])
            print(_line(f"{stack}, {source}", [error for name, error in errors if name == source], spread))
        print(_line(f"{stack}, all", [error for _, error in errors], quantile(errors)))
        k, spread = solve(mine, known.coefficients), math.expm1(quantile(errors))
        text = _with(text, stack, {**{name: getattr(k, name) for name in BEGIN}, "ttft": spread})
    copied = {name: _value(text, COPIED[0], name) for name in (*BEGIN, "ttft")}
    OUT.write_text(_with(text, COPIED[1], copied))


def _line(label: str, errors: list[float], spread: float) -> str:
    sizes = np.abs(errors)
    inside, near = np.mean(sizes <= spread), np.mean(sizes <= math.log1p(NEAR))
    middle, bias = math.expm1(np.median(sizes)), math.expm1(np.median(errors))
    return f"| {label} | {len(errors)} | {middle:.0%} | {bias:+.0%} | {near:.0%} | {inside:.0%} |"


if __name__ == "__main__":
    main()
