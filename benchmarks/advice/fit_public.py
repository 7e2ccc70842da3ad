"""Fit what the silicon sample does not have to public points: older GPUs, GDDR, packed 4-bit weights, Python.

python benchmarks/advice/fit_public.py   (needs numpy and scipy; run it after fit.py, which rewrites its stacks)

What was fitted to the silicon sample stays as it is. Read are ``independent.json``, ``later.json`` and the half of
``public.json`` that is not held out, without the old engines (`Point.old`); every source counts the same, however many
points it has.
A range is the error that `SPREAD` of the points of a source do not exceed if that whole source is left out of the fit,
each source counting the same again.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np  # type: ignore[import-not-found, unused-ignore]
from public import INDEPENDENT, LATER, Point, read
from scipy.optimize import least_squares  # type: ignore[import-not-found, import-untyped, unused-ignore]

from wizard.advise.speed import decode, first_token, likeness, work
from wizard.catalog.speed import Coefficients, Fit, fit

OUT = Path(__file__).parents[2] / "profiles" / "speed.toml"
FREE: dict[str, tuple[str, ...]] = {
    "vllm": ("older", "older_us", "gddr", "packed", "packed_us"),
    "sglang": (),
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
        "gddr",
        "experts",
        "unfused_us",
    ),
    "transformers": ("weights", "cache", "packed", "packed_us", "eager_us"),
}
COPIED = {"sglang": "vllm", "trtllm-llmapi": "trtllm-engine"}
"""Stacks that take `TERMS` from another, whose kernels they share; too few of their own points are of such GPUs."""
TERMS = ("older", "older_us", "gddr", "packed", "packed_us")
# Kernels that widen weights read them no faster than those that multiply 4 bits (`weights4`).
BEGIN = {
    "weights": 0.91, "cache": 0.95, "cache8": 0.8, "compute": 0.7, "layer_us": 50.0, "step_us": 15.0,
    "request_us": 12.0, "older": 1.0, "older_us": 20.0, "gddr": 0.95, "packed": 0.7, "packed_us": 1.0,
    "eager_us": 1_000.0, "experts": 0.6, "unfused_us": 30.0,
}  # fmt: skip
"""Where the terms begin: a run does not depend on the run before."""
BOUNDS = {
    "older": (0.5, 1.0),
    "gddr": (0.5, 1.0),
    "weights": (0.4, 0.95),
    "packed": (0.2, 0.71),
    "compute": (0.3, 0.9),
    "experts": (0.3, 0.95),
}
SHARED = {"cache": (0.3, 0.95), "cache8": (0.3, 0.95)}
SHORT = 2_048
"""Tokens of a prompt up to which the time beside it shows."""
SPREAD = 0.93
"""Of few sources, the nine tenths exceed more than one in ten points of another: 80% of vLLM's were in it."""
GRADES = ("like", "near", "far")
SILICON = {"vllm": ("10.0", "9.0"), "sglang": ("9.0",)}
"""Compute capabilities of the silicon sample's dense rows; a fit to the others is 7 % off there (median, vLLM)."""
CONFIRMED = 2
"""Sources that a grade or a GPU needs for a range of its own."""
ODD = {
    "4x3090",
    "accelmark/0.20.1/vllm/A100-80GB/Llama-3.1-8B/int4_gptq/1/8/270/355/tokens_per_s",
    "accelmark/0.20.1/vllm/A100-80GB/Llama-3.1-8B/int8_sq/1/8/270/355/tokens_per_s",
    *(
        f"tt-gpu/0.9/vllm/A100-80GB/Qwen3-14B/none/1/1/{isl}/{osl}/tpot_ms"
        for isl, osl in ((128, 128), (128, 1024), (1024, 128), (2048, 128), (3072, 128), (4096, 128))
    ),
}
"""Sources and points that are scored, but neither fitted nor used for ranges: GPUs limited to 220 W, quantized models
that are slower than the same source's 16 bits and than its vLLM 0.7.3 on such a GPU, cause unknown, and a series of
single requests whose time per token differs by a quarter whatever the prompt's length, so that the GPU was not alone.
"""


def odd(point: Point) -> bool:
    """Whether it is in `ODD`."""
    return point.source in ODD or point.id in ODD


def per_token(point: Point, k: Coefficients) -> float:
    """Estimate / measured, of the time for a token of each user."""
    assert point.facts.anatomy is not None
    assert point.device.rates is not None
    rates, load = point.device.rates, point.load
    todo = work(point.facts, point.facts.anatomy, rates, point.setup)
    if point.metric == "tpot_ms":
        return decode(todo, k, point.device, rates, point.setup, load)[0] * 1e3 / point.measured
    busy = decode(todo, replace(k, interrupt=1.0), point.device, rates, point.setup, load)[0]
    first = first_token(todo, k, point.device, rates, point.setup, load)[0]
    return (first + (load.osl - 1) * busy) / load.osl * point.measured / load.users


def solve(points: list[Point], begin: Coefficients, names: tuple[str, ...]) -> Coefficients:
    """``begin`` with ``names`` fitted to ``points``."""
    if not names or not points:
        return begin
    limits = [{**BOUNDS, **SHARED}.get(name, (0.01, 5_000.0)) for name in names]
    low, high = (np.log(np.array(column)) for column in zip(*limits, strict=True))
    start = np.clip(np.log([BEGIN[name] for name in names]), low + 1e-3, high - 1e-3)
    sizes = Counter(point.source for point in points)
    weight = np.array([sizes[point.source] ** -0.5 for point in points])

    def made(values: np.ndarray) -> Coefficients:
        return replace(begin, **{name: math.exp(value) for name, value in zip(names, values, strict=True)})

    def residuals(values: np.ndarray) -> np.ndarray:
        k = made(values)
        return weight * np.log([per_token(point, k) for point in points])

    fitted = least_squares(residuals, start, bounds=(low, high), loss="soft_l1", f_scale=0.1, diff_step=1e-3)
    return made(fitted.x)


def quantile(errors: list[tuple[float, str]]) -> float:
    """What `SPREAD` of the errors do not exceed, every source counting the same."""
    sizes = Counter(source for _, source in errors)
    total = 0.0
    for error, source in sorted(errors):
        total += 1 / sizes[source] / len(sizes)
        if total >= SPREAD:
            return error
    return max(errors)[0]


Left = tuple[float, Point, str]
"""Logarithm of estimate / measured of a point whose source the fit did not see, the point, and its grade."""


def left_out(points: list[Point], known: Fit, names: tuple[str, ...]) -> list[Left]:
    """The errors of each source with a fit to the others."""
    result: list[Left] = []
    for source in sorted({point.source for point in points}):
        k = solve([p for p in points if p.source != source and not odd(p)], known.coefficients, names)
        for p in (p for p in points if p.source == source):
            assert p.facts.anatomy is not None
            result.append((math.log(per_token(p, k)), p, likeness(known, p.facts.anatomy, p.device, p.setup)))
    return result


def first_us(points: list[Point], k: Coefficients) -> float:
    """Microseconds of a first token beside the prompt: of single prompts, the median of the sources' medians."""
    rest: dict[str, list[float]] = {}
    for p in points:
        if p.ttft_ms and p.load.users == 1 and p.load.isl <= SHORT:
            assert p.facts.anatomy is not None
            assert p.device.rates is not None
            todo = work(p.facts, p.facts.anatomy, p.device.rates, p.setup)
            steps = first_token(todo, replace(k, first_us=0.0), p.device, p.device.rates, p.setup, p.load)[0]
            rest.setdefault(p.source, []).append(p.ttft_ms * 1e3 - steps * 1e6)
    return float(np.median([np.median(some) for some in rest.values()])) if len(rest) >= CONFIRMED else k.first_us


def nested(errors: list[Left], least: dict[str, float]) -> float:
    """Share of points in the range if the range, too, was made without their source."""
    inside = 0
    for error, point, grade in errors:
        others = [(abs(e), p.source) for e, p, g in errors if g == grade and p.source != point.source and not odd(p)]
        inside += abs(error) <= max(math.log1p(least[grade]), quantile(others) if others else 0.0)
    return inside / len(errors)


def main() -> None:
    text = OUT.read_text()
    points = [p for p in [*(p for p in read() if not p.held_out), *read(INDEPENDENT), *read(LATER)] if not p.old]
    points = [p for p in points if p.capacity is not None]  # of a saturated server the users are not known
    all_errors: list[Left] = []
    for stack, names in FREE.items():
        known = fit(stack)
        assert known is not None
        begin = known.coefficients
        if stack in COPIED:
            text = _with(text, stack, {term: _value(text, COPIED[stack], term) for term in TERMS})
            begin = replace(begin, **{term: _value(text, stack, term) for term in TERMS})
        mine = [p for p in points if p.setup.stack == stack]
        known = replace(known, coefficients=begin, fitted=tuple(sorted({*SILICON.get(stack, ()), *confirmed(mine)})))
        least = {grade: _value(text, stack, grade) for grade in GRADES}
        k = solve([p for p in mine if not odd(p)], begin, names)
        errors = left_out(mine, known, names)
        sizes = [abs(error) for error, _, _ in errors]
        all_errors += errors
        print(f"{stack}: {len(mine)} points of {len({p.source for p in mine})} sources", _words(k, names))
        print(f"  left out: median {np.median(sizes):.1%} bias {np.median([e for e, _, _ in errors]):+.1%}", end=" ")
        print(f"in a range made without them {nested(errors, least):.0%}")
        for source in sorted({p.source for p in mine}):
            some = [e for e, p, _ in errors if p.source == source]
            print(f"    {source}: {len(some)} median {np.median(np.abs(some)):.1%} bias {np.median(some):+.1%}")
        spreads = ranges(errors, least)
        print(" ", {grade: round(spread, 2) for grade, spread in spreads.items()})
        text = _with(text, stack, {name: getattr(k, name) for name in names})
        if stack == "vllm":
            text = _with(text, stack, {"first_us": first_us(mine, k)})
        text = _with(text, stack, {**spreads, "fitted": str(list(known.fitted)).replace("'", '"')})
    ratios = np.array([error for error, _, _ in all_errors])
    print(f"all: {len(ratios)} points, median {np.median(np.abs(ratios)):.1%} bias {np.median(ratios):+.1%}")
    # No other source confirms the silicon sample here.
    alone = {term: _value(text, COPIED["trtllm-llmapi"], term) for term in ("older", "older_us", "gddr")}
    OUT.write_text(_with(text, "trtllm-llmapi", {**alone, "like": _value(text, "trtllm-llmapi", "near")}))


def ranges(errors: list[Left], least: dict[str, float]) -> dict[str, float]:
    """The ranges of the grades, each at least ``least``.

    Grades are pooled with the next worse one if that is no wider, and if they have too few sources for a range of their
    own.
    """
    result: dict[str, float] = {}
    held: list[tuple[float, str]] = []
    waiting: list[str] = []
    for grade in GRADES:
        held += [(abs(e), p.source) for e, p, g in errors if g == grade and not odd(p)]
        waiting.append(grade)
        later = [(abs(e), p.source) for e, p, g in errors if g in GRADES[GRADES.index(grade) + 1 :] and not odd(p)]
        enough = len({source for _, source in held}) >= CONFIRMED
        if grade == GRADES[-1] or (enough and (not later or quantile(held) <= quantile(later))):
            wide = max([math.expm1(quantile(held)) if held else 0.0, *(least[each] for each in waiting)])
            result |= dict.fromkeys(waiting, max([round(wide, 2), *result.values()]))
            held, waiting = [], []
    return result


def confirmed(points: list[Point]) -> list[str]:
    """Compute capabilities of which `CONFIRMED` sources have dense models."""
    sources: dict[str, set[str]] = {}
    for point in points:
        if point.facts.anatomy and not point.facts.anatomy.experts:
            sources.setdefault(point.generation, set()).add(point.source)
    return sorted(generation for generation, names in sources.items() if len(names) >= CONFIRMED)


def _words(k: Coefficients, names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {getattr(k, name):.4g}" for name in names)


def _part(text: str, stack: str) -> tuple[str, str, str]:
    """What precedes the stack's part (two tables), the part, and what follows."""
    head, mark, tail = text.partition(f"[stacks.{stack}]\n")
    match = re.search(r"(?m)^(# --- by hand ---|\[stacks\.[a-z-]+\])$", tail)
    cut = match.start() if match else len(tail)
    return head + mark, tail[:cut], tail[cut:]


def _value(text: str, stack: str, name: str) -> float:
    match = re.search(rf"(?m)^{name} = (.*)$", _part(text, stack)[1])
    assert match is not None
    return float(match[1])


def _with(text: str, stack: str, values: Mapping[str, float | str]) -> str:
    """``text`` with the stack's ``values``."""
    head, part, tail = _part(text, stack)
    for name, value in values.items():
        shown = value if isinstance(value, str) else f"{value:.4g}"
        part = re.sub(rf"(?m)^{name} = .*$", f"{name} = {shown}", part, count=1)
    return head + part + tail


if __name__ == "__main__":
    main()
