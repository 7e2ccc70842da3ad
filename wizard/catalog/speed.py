"""How engines use a GPU: coefficients fitted to measured servers, ``profiles/speed.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from wizard.catalog.profiles import find, load


@dataclass(frozen=True, slots=True)
class Coefficients:
    """How efficiently an engine uses a GPU. Shares refer to the GPU's nominal rate; times (``_us``) are microseconds.

    Attributes:
        weights: Share of the memory bandwidth at which the weights of dense layers are read.
        weights4: The same for weights of 4 bits.
        experts: The same for routed experts.
        experts4: The same for routed experts of 4 bits that the tensor cores multiply directly.
        widened_gb: Routed experts of 4 bits that kernels widen to 16 bits: GB per second. The cores limit it, not the
            memory: an H100, an H200 and a B200 are equally fast.
        cache: The same for the KV cache.
        cache8: The same for a KV cache of 8 bits, before Blackwell.
        compute: Share of the 16-bit rate that the linear layers reach.
        skew: Exponent of the number of tokens in the number of experts that they are sent to: 1 if all experts are
            equally likely, less if some are popular.
        expert_compute: The same for routed experts.
        narrow: Exponent with which a narrower format's higher rate becomes speed: 1 fully, 0 not at all.
        attention: Share of the 16-bit rate that attention over a prompt reaches.
        layer_us: Fixed cost of a layer's kernels.
        moe_us: Additional cost of a layer with experts.
        unfused_us: Additional cost of a layer whose experts are not multiplied as 4 bits: presumably because sorting
            tokens by expert, widening weights or narrowing activations, and summing are separate kernels there.
        latent_us: Additional cost of a layer with multi-head latent attention.
        eager_us: Minimum time of a layer whose kernels are launched one by one; 0 with CUDA graphs.
        step_us: Time of the scheduler per step.
        request_us: Time of the scheduler per request in the step.
        older: Share of the other GPUs' efficiency (memory and multiplication) below compute capability 8.6 (A100).
        older_us: Additional cost of a layer there.
        gddr: Share of the efficiency of GPUs with HBM (memory and multiplication) that GPUs with GDDR memory reach:
            compute capability 8.6, 8.9 and 12.0.
        packed: Share of the memory bandwidth at which packed weights of 4 bits (AWQ, GPTQ) are read.
        packed_us: Additional cost of a layer with packed weights.
        interrupt: Share of the time for other users' prompts that running answers wait for: 1 if prompts join their
            steps; less if the prompts of simultaneous requests are processed together first, so that first tokens wait.
        link_us: Fixed cost of an all-reduce over NVLink.
        link: Share of NVLink's bandwidth that a large all-reduce reaches.
        first_us: From the request to its first step, and from the first token to the client.
        first: A prompt's steps in units of this roofline's.
        first_experts: The same for models with experts.
        arrival: Exponent of the number of users in ``first_us`` if each sends the next prompt when an answer has ended.
        queue: The same in the time of a prompt's steps.
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
    older: float
    older_us: float
    gddr: float
    packed: float
    packed_us: float
    interrupt: float
    link_us: float
    link: float
    first_us: float
    first: float
    first_experts: float
    arrival: float
    queue: float


@dataclass(frozen=True, slots=True)
class Fit:
    """A stack's coefficients, their errors, and the data of the fit.

    Attributes:
        like: Error that 90% of the points of a source that the fit did not see do not exceed, as a share of the
            estimate; for dense models in formats and on GPUs of ``fitted``.
        near: The same for experts, other formats and other GPUs.
        far: The same for links over PCIe, pipelines, recurrent states, sparse attention, and rates that NVML gave.
        fitted: Compute capabilities of the GPUs of at least two such sources, as ``9.0``.
        ttft: The same error of the time to the first token.
        source: Rows, rule of the split, date.
        since: Oldest release of the engine that the coefficients are for; older ones have the range ``far``.
    """

    coefficients: Coefficients
    like: float
    near: float
    far: float
    fitted: tuple[str, ...]
    ttft: float
    source: str
    since: str = ""


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
