"""Fit what the silicon sample does not have to half of ``public.json``: older GPUs, packed 4-bit weights, Python.

python benchmarks/advice/fit_public.py   (needs numpy and scipy; run it after fit.py, which rewrites its stacks)

What was fitted to the silicon sample stays as it is: the terms here only concern GPUs before Hopper, packed weights,
and stacks that the sample does not have. The ranges are the errors of points that were left out of the fit, source by
source where a stack has several, else by a fold of the id; the half that coverage.py calls held out is never read.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np  # type: ignore[import-not-found, unused-ignore]
from public import Point, read
from scipy.optimize import least_squares  # type: ignore[import-not-found, import-untyped, unused-ignore]

from wizard.advise.speed import certainty, decode, first_token, work
from wizard.catalog.speed import Coefficients, fit

OUT = Path(__file__).parents[2] / "profiles" / "speed.toml"
FREE = {
    "vllm": ("older_us", "packed", "packed_us"),
    "trtllm-engine": (
        "weights",
        "cache",
        "cache8",
        "compute",
        "layer_us",
        "step_us",
        "request_us",
        "older",
        "older_us",
    ),
    "transformers": ("weights", "cache", "packed", "packed_us", "eager_us"),
}
# Kernels that widen weights read them no faster than those that multiply 4 bits (`weights4`).
BEGIN = {
    "weights": 0.91, "cache": 0.95, "cache8": 0.8, "compute": 0.7, "layer_us": 50.0, "step_us": 15.0,
    "request_us": 12.0, "older": 1.0, "older_us": 50.0, "packed": 0.7, "packed_us": 1.0, "eager_us": 1_600.0,
}  # fmt: skip
"""Where the terms begin: a run does not depend on the run before."""
BOUNDS = {"older": (0.5, 1.0), "weights": (0.4, 0.95), "packed": (0.2, 0.71), "compute": (0.3, 0.9)}
SHARED = {"cache": (0.3, 0.95), "cache8": (0.3, 0.95)}
SPREAD, FOLDS = 0.9, 5
LEFT_OUT = {("vllm", "qwen2-speed")}
"""vLLM 0.4.2, which read a long cache several times slower than every later release."""
MEASURED = {"vllm": {"good": 0.18, "fair": 0.19}}
"""Ranges of the silicon sample, which a narrower one of these points does not replace."""


def per_token(point: Point, k: Coefficients) -> float:
    """Estimate / measured, of the time for a token of each user."""
    assert point.facts.anatomy is not None
    assert point.device.rates is not None
    rates, load = point.device.rates, point.load
    todo = work(point.facts, point.facts.anatomy, rates, point.setup)
    tpot = decode(todo, k, point.device, rates, point.setup, load)[0]
    if point.metric == "tpot_ms":
        return tpot * 1e3 / point.measured
    first = first_token(todo, k, point.device, rates, point.setup, load)[0]
    return (first + (load.osl - 1) * tpot) / load.osl * point.measured / load.users


def solve(points: list[Point], begin: Coefficients, names: tuple[str, ...]) -> Coefficients:
    """``begin`` with ``names`` fitted to ``points``."""
    limits = [{**BOUNDS, **SHARED}.get(name, (0.01, 5_000.0)) for name in names]
    low, high = (np.log(np.array(column)) for column in zip(*limits, strict=True))
    start = np.clip(np.log([BEGIN[name] for name in names]), low + 1e-3, high - 1e-3)

    def made(values: np.ndarray) -> Coefficients:
        return replace(begin, **{name: math.exp(value) for name, value in zip(names, values, strict=True)})

    def residuals(values: np.ndarray) -> np.ndarray:
        k = made(values)
        return np.log([per_token(point, k) for point in points])

    fitted = least_squares(residuals, start, bounds=(low, high), loss="soft_l1", f_scale=0.1, diff_step=1e-3)
    return made(fitted.x)


def folds(points: list[Point]) -> list[set[str]]:
    """The ids of the points left out at a time."""
    sources = {point.source for point in points}
    key = (
        (lambda point: point.source)
        if len(sources) > 2
        else (lambda point: str(hashlib.sha256(point.id.encode()).digest()[1] % FOLDS))
    )
    return [{point.id for point in points if key(point) == label} for label in sorted({key(p) for p in points})]


def main() -> None:
    text = OUT.read_text()
    for stack, names in FREE.items():
        known = fit(stack)
        assert known is not None
        mine = [p for p in read() if p.setup.stack == stack and not p.held_out]
        mine = [p for p in mine if (stack, p.source) not in LEFT_OUT]
        mine = [p for p in mine if p.capacity is not None]  # of a saturated server the users are not known
        k = solve(mine, known.coefficients, names)
        errors: dict[str, list[float]] = {"good": [], "fair": [], "rough": []}
        for out in folds(mine):
            rest = [p for p in mine if p.id not in out]
            if rest:
                other = solve(rest, known.coefficients, names)
                for p in mine:
                    if p.id in out and p.facts.anatomy:
                        grade, _ = certainty(known, p.facts.anatomy, p.device, p.setup)
                        errors[grade].append(abs(math.log(per_token(p, other))))
        inside = [abs(math.log(per_token(p, k))) for p in mine]
        print(stack, len(mine), {n: round(getattr(k, n), 4) for n in names}, f"median {np.median(inside):.1%}")
        spreads = {g: math.expm1(float(np.quantile(e, SPREAD))) for g, e in errors.items() if len(e) >= 5}
        print("  ranges of points left out", {g: (round(s, 2), len(errors[g])) for g, s in spreads.items()})
        head, mark, tail = text.partition(f"[stacks.{stack}]\n")
        part, rest_text = _split(tail)
        for name in names:
            part = re.sub(rf"(?m)^{name} = .*$", f"{name} = {getattr(k, name):.4g}", part)
        part = _with_ranges(part, spreads, MEASURED.get(stack, {}))
        text = head + mark + part + rest_text
    # The kernels of the API are those of an engine; too few of its points are of an older GPU.
    for term in ("older", "older_us"):
        value = re.search(rf"(?m)^{term} = .*$", text.partition("[stacks.trtllm-engine]")[2])
        head, mark, tail = text.partition("[stacks.trtllm-llmapi]\n")
        part, rest_text = _split(tail)
        text = head + mark + re.sub(rf"(?m)^{term} = .*$", value[0] if value else "", part) + rest_text
    OUT.write_text(text)


def _with_ranges(part: str, spreads: dict[str, float], least: dict[str, float]) -> str:
    """``part`` with the ranges of its grades, each at least as wide as that of the better grade."""
    wide = 0.1
    for grade in ("good", "fair", "rough"):
        match = re.search(rf"(?m)^{grade} = (.*)$", part)
        known = spreads.get(grade, float(match[1]) if match else wide)
        wide = max(wide, known, least.get(grade, 0.0))
        part = re.sub(rf"(?m)^{grade} = .*$", f"{grade} = {wide:.2f}", part, count=1)
    return part


def _split(tail: str) -> tuple[str, str]:
    """The stack's own part (two tables), and what follows."""
    match = re.search(r"(?m)^(# --- by hand ---|\[stacks\.[a-z-]+\])$", tail)
    cut = match.start() if match else len(tail)
    return tail[:cut], tail[cut:]


if __name__ == "__main__":
    main()
