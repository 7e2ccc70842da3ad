"""How engines use a GPU: coefficients fitted to measured servers, ``profiles/speed.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from wizard.catalog.profiles import find, load


@dataclass(frozen=True, slots=True)
class Coefficients:
    """What one engine makes of a GPU. Shares are of the GPU's rate on paper; times (``_us``) are microseconds.

    Attributes:
        weights: Share of the memory bandwidth at which the weights of dense layers are read.
        weights4: The same for weights of 4 bits.
        experts: The same for routed experts.
        experts4: The same for routed experts of 4 bits that the tensor cores multiply as they are.
        widened_gb: Routed experts of 4 bits that kernels widen to 16 bits: GB of them in a second. It is the cores that
            limit it, where the memory does not: an H100, an H200 and a B200 do it equally fast.
        cache: The same for the KV cache.
        cache8: The same for a KV cache of 8 bits, before Blackwell.
        compute: Share of the 16-bit rate that the linear layers reach.
        skew: Exponent of the number of tokens, when it is asked how many experts they are sent to: 1 if every expert is
            as likely as any other, less where some are popular.
        expert_compute: The same for routed experts.
        narrow: Exponent with which a narrower format's higher rate becomes speed: 1 all of it, 0 nothing.
        attention: Share of the 16-bit rate that attention over a prompt reaches.
        layer_us: What a layer's kernels cost however little they do.
        moe_us: More of it for a layer with experts.
        unfused_us: More of it for a layer whose experts are not multiplied as 4 bits: taken to be because sorting
            tokens by expert, widening weights or narrowing activations, and adding up are kernels of their own there.
        latent_us: More of it for a layer with multi-head latent attention.
        eager_us: What a layer takes at least where its kernels are launched one by one; 0 with CUDA graphs.
        step_us: The scheduler, for a step.
        request_us: The scheduler, for each request in it.
        link_us: An all-reduce over NVLink, however small.
        link: Share of NVLink's bandwidth that a large one reaches.
        first_us: From the request to its first step, and from the first token to the client.
        first: A prompt's steps in units of this roofline's.
        first_experts: The same for models with experts.
        queue: How much more of that for each other user.
    """

    weights: float
    weights4: float
    experts: float
    experts4: float
    widened_gb: float
    cache: float
    cache8: float
    compute: float
    skew: float
    expert_compute: float
    narrow: float
    attention: float
    layer_us: float
    moe_us: float
    unfused_us: float
    latent_us: float
    eager_us: float
    step_us: float
    request_us: float
    link_us: float
    link: float
    first_us: float
    first: float
    first_experts: float
    queue: float


@dataclass(frozen=True, slots=True)
class Fit:
    """One stack's coefficients, how well they do, and what they were fitted to.

    Attributes:
        good: How far off nine in ten held-out dense rows are at most, as a share of the estimate.
        fair: The same for experts, and for a GPU that was left out of the fit.
        rough: The range that is shown where nothing was measured.
        fitted: Compute capabilities of the GPUs that were fitted to, as ``9.0``; empty: too little was measured.
        source: Rows, rule of the split, date.
    """

    coefficients: Coefficients
    good: float
    fair: float
    rough: float
    fitted: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class SpeedTable:
    """``profiles/speed.toml``: fits by `wizard.catalog.stack_facts.StackFacts.speed`."""

    stacks: dict[str, Fit]


@cache
def fit(name: str) -> Fit | None:
    """The table ``name``, which is a stack's `speed`; None if there is none.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the file is missing or damaged.
    """
    return load(SpeedTable, find("speed.toml")).stacks.get(name)
