"""Fit the speed model's coefficients to one half of the silicon sample and write ``profiles/speed.toml``.

Run with a Python that has numpy, scipy and pydantic, from the checkout; PACKAGE is the folder ``aiconfigurator_core``
of its wheel: ``PYTHONPATH=. python benchmarks/advice/fit.py PACKAGE [STACK ...]``.
What was measured on our own H200 is not read.

Three fits one after the other, each with a soft-L1 loss on the logarithm of estimate / measured:

1. dense rows give what kernels make of the GPU. Engines of 2025 spent more time in their schedulers, so each era has
   ``step_us`` and ``request_us`` of its own, which are thrown away;
2. rows with experts give what is true of experts, and those of 2026 the scheduler's times that are kept;
3. the times to the first token of rows with up to 16 users give ``first_us`` and ``first``; ``first_tokens.py``, to be
   run afterwards, has the rest of them and their range.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from datetime import date
from pathlib import Path

import numpy as np  # type: ignore[import-not-found, unused-ignore]
from scipy.optimize import least_squares  # type: ignore[import-not-found, import-untyped, unused-ignore]
from silicon import STACKS, Row, few_users, read

from wizard.advise.speed import decode, first_token, work
from wizard.catalog.speed import Coefficients
from wizard.catalog.speed import fit as known

START = Coefficients(
    weights=0.9, weights4=0.75, experts=0.6, experts4=0.6, widened_gb=2_000, cache=0.8, cache8=0.6, compute=0.65,
    skew=0.9, expert_compute=0.2, narrow=0.5, attention=0.5, layer_us=50, moe_us=20, unfused_us=10, latent_us=20,
    eager_us=0, step_us=100, request_us=10, older=1.0, older_us=0, gddr=1.0, packed=0.7,
    packed_us=0, interrupt=1.0, link_us=4.5, link=0.6,
    first_us=20_000, first=1.2, first_experts=1.5,
    arrival=0.4,
    queue=0.3,
)  # fmt: skip
LOW = {
    "attention": 0.2, "skew": 0.8, "layer_us": 5, "moe_us": 0.1, "unfused_us": 0.1, "latent_us": 0.1, "step_us": 1,
    "request_us": 0.5, "first_us": 1_000,
}  # fmt: skip
HIGH = {
    "weights": 0.95, "weights4": 0.95, "experts": 0.95, "experts4": 0.95, "cache": 0.95,
    "cache8": 0.95, "interrupt": 1,
    "compute": 0.9, "expert_compute": 0.9, "attention": 0.8, "narrow": 1, "skew": 1, "link": 1,
    "layer_us": 90,
}  # fmt: skip
"""What a coefficient may be: a share of what is on paper is below 1, a launch takes microseconds."""
DENSE = ["weights", "weights4", "cache", "cache8", "compute", "narrow", "attention", "layer_us", "link"]
KERNELS = {"sglang": "vllm"}
"""Stacks whose dense kernels are taken for another's, because their own rows are too few; they differ in the scheduler,
which processes the prompts of simultaneous requests together (`Coefficients.interrupt`), and in experts.
"""
EXPERTS = ["experts", "experts4", "widened_gb", "expert_compute", "moe_us", "unfused_us", "skew", "latent_us"]
FIRST = ["first_us", "first"]
LINK_US = {"vllm": 4.5, "trtllm-llmapi": 2.8, "sglang": 4.5}
"""Not fitted, because a layer's other fixed costs look the same: ``custom_allreduce_perf`` of two H100 or H200 in CUDA
graphs, aiconfigurator-core 0.12.0; SGLang's is taken for vLLM's."""
HOST = ["step_us", "request_us"]
"""What the processor does, which each release does faster."""
NEWEST = "2026"
BY_HAND = "# --- by hand ---\n"
PRIOR = 0.02
"""Weight of where a coefficient begins: one that no row speaks of stays there."""
SPREAD = 0.9
Seconds = Callable[[Row, Coefficients], float]


def tpot(row: Row, k: Coefficients) -> float:
    """Estimated milliseconds between two tokens."""
    assert row.facts.anatomy is not None
    assert row.device.rates is not None
    todo = work(row.facts, row.facts.anatomy, row.device.rates, row.setup)
    return decode(todo, k, row.device, row.device.rates, row.setup, row.load)[0] * 1e3


def ttft(row: Row, k: Coefficients) -> float:
    """Estimated milliseconds to the first token."""
    assert row.facts.anatomy is not None
    assert row.device.rates is not None
    todo = work(row.facts, row.facts.anatomy, row.device.rates, row.setup)
    return first_token(todo, k, row.device, row.device.rates, row.setup, row.load)[1] * 1e3


def solve(
    rows: list[Row], start: Coefficients, free: list[str], *, by_era: Sequence[str] = (), first: bool = False
) -> Coefficients:
    """The coefficients with ``free`` ones fitted to ``rows``, and those of ``by_era`` for each era apart."""
    groups = sorted({row.era for row in rows})
    names = [*free, *(f"{name}@{era}" for era in groups for name in by_era)]
    measured = np.array([row.ttft_ms if first else row.tpot_ms for row in rows])
    estimate: Seconds = ttft if first else tpot

    def made(values: Iterable[float], era: str) -> Coefficients:
        constants = {name: math.exp(value) for name, value in zip(names, values, strict=True)}
        own = {name: constants[f"{name}@{era}"] for name in by_era}
        return replace(start, **{name: constants[name] for name in free}, **own)

    def residuals(values: np.ndarray) -> np.ndarray:
        k = {era: made(values, era) for era in groups}
        off = np.log(np.array([estimate(row, k[row.era]) for row in rows]) / measured)
        return np.concatenate([off, PRIOR * (np.array(values) - begin)])

    plain = [name.partition("@")[0] for name in names]
    low = np.array([math.log(LOW.get(name, 1e-3)) for name in plain])
    high = np.array([math.log(HIGH.get(name, 1e6)) for name in plain])
    begin = np.clip([math.log(getattr(start, name) or 1.0) for name in plain], low + 1e-3, high - 1e-3)
    solution = least_squares(
        residuals, begin, bounds=(low, high), loss="soft_l1", f_scale=0.05, max_nfev=80, diff_step=1e-3
    )
    return made(solution.x, NEWEST if NEWEST in groups else groups[0])


def fitted(rows: list[Row], stack: str) -> Coefficients:
    """All three fits for one stack."""
    mine = [row for row in rows if row.stack == stack]
    begin = replace(START, link_us=LINK_US[stack])
    if other := known(KERNELS.get(stack, "")):
        kernels = solve([row for row in mine if row.dense], other.coefficients, ["interrupt", *HOST])
        return solve([row for row in mine if not row.dense], kernels, EXPERTS)
    kernels = solve([row for row in mine if row.dense], begin, DENSE, by_era=HOST)
    kernels = replace(kernels, **{name: getattr(begin, name) for name in HOST})
    whole = solve([row for row in mine if not row.dense], kernels, EXPERTS, by_era=HOST)
    return solve([row for row in mine if few_users(row)], whole, FIRST, first=True)


def errors(rows: Iterable[Row], k: Coefficients, estimate: Seconds = tpot) -> list[float]:
    """Estimate / measured - 1 for each row."""
    return [estimate(row, k) / (row.ttft_ms if estimate is ttft else row.tpot_ms) - 1 for row in rows]


def words(ratios: list[float]) -> str:
    """Number of rows, mean and median of the errors' sizes."""
    sizes = np.abs(ratios)
    return f"n={len(ratios)} mean {sizes.mean():.1%} median {np.median(sizes):.1%} bias {np.median(ratios):+.1%}"


def quantile(ratios: list[float]) -> float:
    """What `SPREAD` of the errors stay within, up or down alike."""
    return math.expm1(float(np.quantile([abs(math.log1p(ratio)) for ratio in ratios], SPREAD)))


def unseen(rows: list[Row], stack: str) -> list[float]:
    """Errors of dense rows of each GPU after a fit without it."""
    ratios: list[float] = []
    for gpu in sorted({row.gpu for row in rows if row.dense}):
        rest = [row for row in rows if row.gpu != gpu]
        if any(row.dense for row in rest):
            k = fitted(rest, stack)
            ratios += (here := errors((row for row in rows if row.gpu == gpu and row.dense), k))
            print(f"  a fit without {gpu}: {words(here)}")
    return ratios


def main(package: Path, *stacks: str) -> None:
    """Fit ``stacks``, or all, and write their parts of the file."""
    rows, left_out = read(package)
    print(f"{len(rows)} rows, left out:", *(f"  {n:5} {why}" for why, n in left_out.most_common()), sep="\n")
    out = Path(__file__).parents[2] / "profiles" / "speed.toml"
    for stack in stacks or STACKS.values():
        mine = [row for row in rows if row.stack == stack]
        half, held = [row for row in mine if not row.held_out], [row for row in mine if row.held_out]
        k = fitted(half, stack)
        dense, experts = errors((r for r in held if r.dense), k), errors((r for r in held if not r.dense), k)
        first = errors(filter(few_users, held), k, ttft)
        print(stack, f"  dense {words(dense)}", f"  experts {words(experts)}", f"  ttft {words(first)}", sep="\n")
        near = max(quantile(experts), quantile(unseen(mine, stack)))
        capabilities = sorted({".".join(map(str, row.device.compute_capability)) for row in half if row.dense})
        source = f"{len(half)} rows of the silicon sample of aiconfigurator-core 0.12.0, {len(held)} others held out"
        head, mark, tail = out.read_text().partition(BY_HAND)
        part = table(stack, k, quantile(dense), near, capabilities, source)
        old = re.search(rf"(?s)\[stacks\.{stack}\]\n.*?(?=\[stacks\.(?!{stack}\.)|\Z)", head)
        out.write_text((head.replace(old[0], part) if old else head + part) + mark + tail)


SINCE = {"vllm": "0.8"}
"""Oldest releases of the sample's engines; vLLM's V1 engine is the default from 0.8 on."""


def table(stack: str, k: Coefficients, like: float, near: float, capabilities: list[str], source: str) -> str:
    """One stack's part of the file."""
    values = {field.name: getattr(k, field.name) for field in fields(k)}
    lines = [f"{name} = {str(v).lower() if isinstance(v, bool) else f'{v:.4g}'}" for name, v in values.items()]
    return (
        f"[stacks.{stack}]\nlike = {like:.2f}\nnear = {near:.2f}\nfar = 0.6\nfitted = {capabilities}\n"
        + "ttft = 2.0\n"
        + (f'since = "{SINCE[stack]}"\n' if stack in SINCE else "")
        + f'source = "{source}; {date.today().isoformat()}"\n\n[stacks.{stack}.coefficients]\n'
        + "\n".join(lines)
        + "\n\n"
    ).replace("'", '"')


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
