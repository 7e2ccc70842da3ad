"""Speed of a model: a roofline of an engine step with coefficients fitted to measured servers. Pure.

A step reads the weights and the KV cache once and multiplies every token with the weights; the longer of the two hides
the other. Added are the fixed costs of every layer's kernels, the all-reduces of a tensor-parallel split, and the
scheduler. Some steps also process a chunk of a prompt: if U users get answers of N tokens, U/N prompts begin in an
average step. Sources of the structure: Williams et al., *Roofline* (2009); Yu et al., *Orca* (2022) for steps that mix
prompts and answers. Coefficients, rows and errors: ``profiles/speed.toml``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from wizard.advise import memory
from wizard.advise.advice import Speed
from wizard.advise.devices import Device, Rates
from wizard.advise.interconnect import all_reduce
from wizard.advise.reasons import Reason, because
from wizard.advise.setup import Setup
from wizard.catalog.releases import version
from wizard.catalog.speed import Coefficients, Fit, fit
from wizard.catalog.stacks import facts as stack_facts
from wizard.catalog.stacks import on_gpu
from wizard.model import formats
from wizard.model.anatomy import Anatomy, Attention
from wizard.model.facts import ModelFacts

SHARE = 0.92
"""Share of a GPU's memory that vLLM uses by default."""
EXPANDED = 320
"""Elements of a head's query-key and value product when multi-head latent attention processes a prompt (128 + 64 + 128
in DeepSeek-V2, DeepSeek-V3 and Kimi-K2: ``qk_nope_head_dim``, ``qk_rope_head_dim``, ``v_head_dim``).
"""
FITTED_FORMATS = ("none", "fp8", "fp8_block", "nvfp4")
"""Formats of the dense rows in the fit; for others (AWQ: 16 to 21% off on an H200) the range is wider."""
OLDER = (8, 6)
"""GPUs below this compute capability (A100, V100, T4) have efficiency terms."""
GOOD, FAIR = 0.25, 0.45
"""Relative errors up to which the confidence is good, and fair."""
PROVIDER = "roofline"
UNMEASURED = "stack-unmeasured"
"""Code of the reason that a stack's speed is unknown: no coefficients were fitted to its servers."""
Bound = Literal["memory", "compute", "launch", "interconnect"]


@dataclass(frozen=True, slots=True)
class Load:
    """The load: ``users`` concurrent users, each with ``isl`` input tokens and ``osl`` output tokens."""

    users: int
    isl: int = 1024
    osl: int = 256


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one rank of a pipeline stage. Bytes, and operations as in `Rates`.

    Attributes:
        dense_bytes: Weights that every step reads.
        expert_bytes: Weights of routed experts; a step reads those that tokens are routed to.
        expert_share: Share of the routed experts that a token is sent to; 0 without experts.
        token_ops: Linear layers without routed experts, per token.
        expert_ops: The token's routed experts, per token.
        head_ops: Output projection, per sampled token.
        attention_ops: Attention over a prompt, per token and preceding token.
        cache: KV cache: bytes per token, and number of tokens kept (None: all).
        state_bytes: Recurrent state of a sequence, read and written by every token.
        layers: Transformer blocks.
        moe_layers: Layers with experts.
        latent_layers: Layers with multi-head latent attention.
        four_bit: Whether dense layers' weights have 4 bits.
        packed: Whether kernels widen them to 16 bits (AWQ, GPTQ).
        four_bit_experts: Whether experts' weights have 4 bits.
        eight_bit_cache: Whether the KV cache has 8 bits.
        row_bytes: One token's row of the residual stream.
        gain: Nominal speedup of the format's multiplication over 16 bits.
        dp: Data-parallel ranks, whose tokens come together before the experts.
    """

    dense_bytes: float
    expert_bytes: float
    expert_share: float
    token_ops: float
    expert_ops: float
    head_ops: float
    attention_ops: float
    cache: tuple[tuple[float, int | None], ...]
    state_bytes: float
    layers: float
    moe_layers: float
    latent_layers: float
    four_bit: bool
    packed: bool
    four_bit_experts: bool
    eight_bit_cache: bool
    row_bytes: float
    gain: float
    dp: int = 1


@dataclass(frozen=True, slots=True)
class Step:
    """Seconds of a step of one stage, by component; ``seconds`` is the total."""

    memory: float
    compute: float
    launch: float
    interconnect: float
    seconds: float

    @property
    def bound(self) -> Bound:
        """The component that takes longest."""
        times: dict[Bound, float] = {
            "memory": self.memory,
            "compute": self.compute,
            "launch": self.launch,
            "interconnect": self.interconnect,
        }
        return max(times, key=lambda label: times[label])


def estimate(
    facts: ModelFacts, device: Device, setup: Setup, load: Load, capacity: int | None = None, engine: str = ""
) -> Speed | None:
    """The speed of ``setup`` under ``load``.

    None if a required fact is unknown, or the weights alone exceed the memory: `why_unknown` has the reason.

    ``low`` and ``high`` bound ``tpot_ms``, and ``ttft_low_ms`` and ``ttft_high_ms`` the time to first token: 90% of the
    points of a source that the fit did not see are between them. If not all users fit into the KV
    cache, the figures are for those who do (``served``), and the time to first token is unknown: some wait for another
    user's answer to end. ``capacity`` is the number of tokens that the cache holds, if memory was computed; ``engine``
    the engine's version, if known.
    """
    known = fit(stack_facts(setup.stack).speed) if not setup.unestimated else None
    if known is None or device.rates is None or facts.anatomy is None or "speed" in facts.unknown:
        return None
    k, rates, todo = known.coefficients, device.rates, work(facts, facts.anatomy, device.rates, setup)
    if todo.dense_bytes + todo.expert_bytes > device.total_bytes:
        return None
    users = served(facts, facts.anatomy, device, setup, load, capacity)
    shown = load if users == load.users else replace(load, users=users)
    tpot, typical = decode(todo, k, device, rates, setup, shown)
    first = first_token(todo, k, device, rates, setup, shown)
    busy = tpot  # whoever waits for the prompts
    if k.interrupt != 1:
        busy = decode(todo, replace(k, interrupt=1.0), device, rates, setup, shown)[0]
    confidence, spread = certainty(known, facts.anatomy, device, setup, engine)
    tpot_ms, ttft_ms = tpot * 1e3, None if users < load.users else first[1] * 1e3
    return Speed(
        tpot_ms=tpot_ms,
        throughput_tokens_per_s=users * load.osl / (first[0] + (load.osl - 1) * busy),
        ttft_ms=ttft_ms,
        low=tpot_ms / (1 + spread),
        high=tpot_ms * (1 + spread),
        provider=PROVIDER,
        confidence=confidence,
        bound=typical.bound,
        ttft_low_ms=ttft_ms and ttft_ms / (1 + known.ttft),
        ttft_high_ms=ttft_ms and ttft_ms * (1 + known.ttft),
        ttft_alone_ms=ttft_ms and first[0] * 1e3,
        ttft_last_ms=ttft_ms and first[2] * 1e3,
        served=users,
        users=load.users,
        isl=load.isl,
        osl=load.osl,
    )


UNESTIMATED = {
    "float32": because("float32-speed"),
    "speculative": because("speculative-speed"),
    "experts": because("experts-speed"),
}
"""`Setup.unestimated` → why it has no figures."""


def why_unknown(facts: ModelFacts, device: Device, setup: Setup) -> Reason | str:
    """Why `estimate` has no figures."""
    if setup.unestimated:
        return UNESTIMATED[setup.unestimated]
    if facts.anatomy is None:
        return facts.unknown.get("anatomy") or facts.unknown.get("parameters") or because("layers-unknown")
    if "speed" in facts.unknown:
        return facts.unknown["speed"]
    if device.rates is None:
        return because("rates-unknown", gpu=device.name)
    if fit(stack_facts(setup.stack).speed) is None:
        return because(UNMEASURED, stack=setup.stack)
    return because("weights-exceed", count=setup.gpus, gpu=device.name)


def certainty(
    known: Fit, anatomy: Anatomy, device: Device, setup: Setup, engine: str = ""
) -> tuple[Literal["good", "fair", "rough"], float]:
    """The confidence in the figure, which is what its relative error allows, and this error."""
    spread: float = known.far if outdated(known, engine) else getattr(known, likeness(known, anatomy, device, setup))
    return "good" if spread <= GOOD else "fair" if spread <= FAIR else "rough", spread


def outdated(known: Fit, engine: str) -> bool:
    """Whether the release ``engine`` is older than those that ``known`` is for."""
    return bool(version(engine)) and version(engine) < version(known.since)


def likeness(known: Fit, anatomy: Anatomy, device: Device, setup: Setup) -> Literal["like", "near", "far"]:
    """How like the measured servers this one is, which decides its error."""
    if any(group.state or group.shares or group.index_bytes or group.tokens_per_row for group in anatomy.attention):
        return "far"  # too few such models were measured
    linked = device.link == "nvlink" or setup.tp * setup.dp == 1
    unlike = setup.pp > 1 or (setup.dp > 1 and not _measured_ranks(setup))
    if device.rates is None or not device.rates.known or unlike or not linked or not known.fitted:
        return "far"
    generation = f"{device.compute_capability[0]}.{device.compute_capability[1]}"
    dense = not anatomy.experts and setup.quantization in FITTED_FORMATS
    return "like" if generation in known.fitted and dense else "near"


def _measured_ranks(setup: Setup) -> bool:
    data = on_gpu(setup.stack).splits.data
    return data is not None and data.measured


def work(facts: ModelFacts, anatomy: Anatomy, rates: Rates, setup: Setup) -> Work:
    """The work of one rank of a stage."""
    parts, stored = anatomy.parts, formats.weight_bytes(facts, anatomy, setup.quantization)
    format_ = formats.of(facts, setup.quantization)
    tp, pp = setup.tp, setup.pp
    repeats = max(1.0, tp / max(1, anatomy.kv_heads))  # kv heads are repeated if there are more ranks than heads
    whole = stored.latent + stored.router + stored.norms
    split = stored.attention + stored.key_value * repeats + stored.mlp + stored.shared * (1 if setup.dp == 1 else tp)
    share = anatomy.experts_per_token / anatomy.experts if anatomy.experts else 0.0
    linears = parts.attention + parts.key_value * repeats + parts.mlp + parts.shared
    rate = getattr(rates, format_.compute)
    four_bit = format_.bits == 4
    return Work(
        dense_bytes=((split + (stored.head or stored.embedding)) / tp + whole) / pp,
        expert_bytes=stored.experts / tp / pp / setup.dp,
        expert_share=share,
        token_ops=2 * (linears / tp + parts.latent + parts.router) / pp,
        expert_ops=2 * parts.experts * share / tp / pp / setup.dp,
        head_ops=2 * (parts.head or parts.embedding) / tp / pp,
        attention_ops=sum(2 * attention.layers * anatomy.heads * _head(attention) for attention in anatomy.attention)
        / tp
        / pp,
        cache=tuple(each for attention in anatomy.attention for each in _caches(attention, setup)),
        state_bytes=2 * sum(group.layers * memory.state_bytes(group, setup) for group in anatomy.attention) / pp,
        layers=anatomy.layers / pp,
        moe_layers=anatomy.moe_layers / pp,
        latent_layers=sum(attention.layers for attention in anatomy.attention if attention.latent) / pp,
        four_bit=four_bit and not format_.experts_only,
        packed=four_bit and not format_.experts_only and format_.compute == "fp16",
        four_bit_experts=four_bit,
        eight_bit_cache=setup.kv_bytes == 1,
        row_bytes=2.0 * anatomy.hidden,
        gain=rate / rates.fp16 if rate else 1.0,  # without such tensor cores weights are widened first
        dp=setup.dp,
    )


def _head(group: Attention) -> int:
    """Elements of a head's keys and values that a prompt's tokens are multiplied by."""
    return EXPANDED if group.latent else group.key_dim + group.value_dim


def _caches(group: Attention, setup: Setup) -> tuple[tuple[float, int | None], ...]:
    """Bytes of KV cache per token on a rank of one stage, in the layers of ``group``, and the tokens that have them;
    compressed rows apart from the window.
    """
    if group.latent:
        elements = float(group.latent)
    else:
        heads = max(1.0, group.kv_heads / setup.tp) if group.kv_heads else 0.0
        elements = heads * (group.key_dim + group.value_dim)
    row, layers = elements * setup.kv_bytes, group.layers / setup.pp
    if not group.tokens_per_row:
        return ((layers * (row + group.index_bytes), group.window),)
    return (layers * row, group.window), (layers * (row + group.index_bytes) / group.tokens_per_row, None)


def served(facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup, load: Load, capacity: int | None) -> int:
    """Number of users that the KV cache holds at once: all of them or fewer, at least one.

    Args:
        facts: The model.
        anatomy: Its parts.
        device: The GPUs.
        setup: The configuration.
        load: The users and their tokens.
        capacity: Tokens that the cache holds; None: the result of `memory.bill` for an idle GPU.
    """
    length = load.isl + load.osl
    if capacity is None:
        idle = replace(device, free_bytes=device.total_bytes)
        budget = int(SHARE * device.total_bytes) + memory.outside(anatomy, setup, load.users)
        capacity = memory.bill(facts, anatomy, idle, setup, load.users, length, budget).kv_capacity_tokens
    return max(1, min(load.users, capacity // length))


def step(
    todo: Work,
    k: Coefficients,
    device: Device,
    rates: Rates,
    ranks: int,
    *,
    users: float,
    context: float,
    prompt: float = 0.0,
    before: float = 0.0,
    others: float = 0.0,
) -> Step:
    """A step of one stage.

    Args:
        todo: The rank's work.
        k: The stack's coefficients.
        device: The GPUs whose links are used.
        rates: The GPU's rates.
        ranks: Tensor-parallel ranks.
        users: Sequences of a rank that get a token.
        context: Tokens before each of them.
        prompt: Prompt tokens in the step.
        before: Average number of tokens before each prompt token.
        others: Prompt tokens of the other data-parallel ranks.
    """
    tokens = users + prompt
    gathered = todo.dp * users + prompt + others  # what the experts get
    touched = 1 - (1 - todo.expert_share) ** (gathered**k.skew) if todo.expert_share else 0.0
    native = todo.four_bit_experts and todo.gain > 1
    reached = efficiency(k, device, rates)
    bandwidth, fp16 = rates.bandwidth * reached, rates.fp16 * reached
    reading = bandwidth * (k.experts4 if todo.four_bit_experts else k.experts)
    if todo.four_bit_experts and not native:
        reading = min(reading, k.widened_gb * 1e9)
    share = k.packed if todo.packed else k.weights4 if todo.four_bit else k.weights
    weights = todo.dense_bytes / share / bandwidth
    weights += todo.expert_bytes * touched / reading
    cache = users * (sum(each * min(context, window or context) for each, window in todo.cache) + todo.state_bytes)
    # Before Blackwell, attention kernels widen an 8-bit cache as they read it.
    narrow = todo.eight_bit_cache and device.compute_capability < (10, 0)
    cached = cache / bandwidth / (k.cache8 if narrow else k.cache)
    peak = fp16 * todo.gain**k.narrow
    linear = (todo.token_ops * tokens + todo.head_ops * users) / (peak * k.compute)
    linear += todo.expert_ops * gathered / (peak * k.expert_compute)
    attention = todo.attention_ops * prompt * before / (fp16 * k.attention)
    moe = k.moe_us + (0.0 if native else k.unfused_us)
    layer = (
        k.layer_us + (k.older_us if device.compute_capability < OLDER else 0.0) + (k.packed_us if todo.packed else 0.0)
    )
    layers = todo.layers * layer + todo.moe_layers * moe + todo.latent_layers * k.latent_us
    launch = (layers + k.step_us + k.request_us * users) * 1e-6
    link = {"latency": k.link_us * 1e-6, "share": k.link}
    gathers = todo.moe_layers if todo.dp > 1 else 0.0  # with a reduce-scatter: these move as much as an all-reduce
    reduce = (2 * todo.layers - gathers) * all_reduce(tokens * todo.row_bytes, ranks, device, **link)
    reduce += gathers * all_reduce(gathered * todo.row_bytes, ranks * todo.dp, device, **link)
    seconds = max(weights, linear) + cached + attention + launch + reduce
    python = k.eager_us and k.eager_us + (k.packed_us if todo.packed else 0.0)
    eager = todo.layers * python * 1e-6
    return Step(weights + cached, linear + attention, max(launch, eager), reduce, max(seconds, eager))


def efficiency(k: Coefficients, device: Device, rates: Rates) -> float:
    """Share of the efficiency of newer GPUs with HBM that this one reaches."""
    if device.compute_capability < OLDER:
        return k.older
    return k.gddr if rates.memory == "gddr" else 1.0


def decode(todo: Work, k: Coefficients, device: Device, rates: Rates, setup: Setup, load: Load) -> tuple[float, Step]:
    """Seconds between two tokens of a user, and the step that dominates.

    A pipeline's stages work on different users at the same time, so each processes its share, one after the other.
    """
    users = load.users / setup.pp
    context = load.isl + load.osl / 2
    plain = step(todo, k, device, rates, setup.tp, users=users, context=context)
    begin = (setup.dp * load.users - 1) / setup.pp / load.osl  # others' prompts that begin in an average step
    share = min(1.0, max(begin, begin * load.isl / memory.step_tokens(device)))
    if not share:
        return setup.pp * plain.seconds, plain
    total = begin * load.isl / share
    prompt = max(total / setup.dp, min(total, load.isl))  # the slowest data-parallel rank's; the others wait for it
    read = {"prompt": prompt, "before": load.isl / 2, "others": total - prompt}
    mixed = step(todo, k, device, rates, setup.tp, users=users, context=context, **read)
    seconds = plain.seconds + k.interrupt * share * (mixed.seconds - plain.seconds)
    return setup.pp * seconds, mixed if share * mixed.seconds > seconds / 2 else plain


def first_token(
    todo: Work, k: Coefficients, device: Device, rates: Rates, setup: Setup, load: Load
) -> tuple[float, float, float]:
    """Seconds from a request to its first token: if no other user sends a prompt meanwhile; if every user sends the
    next prompt as soon as the answer has ended; for the last of all users' simultaneous prompts.

    In the second case prompts meet, because users whose prompts shared a step end at the same time, and wait for steps
    with the prompts of others: more of them with more users, but far from all. The exponents are fitted. Where they
    give more than the steps of all prompts take, the third case has it too: prompts that come at once end no sooner.
    """

    def read(tokens: int, others: int = 0) -> float:
        """Seconds of the steps with ``tokens`` of prompts, and as many on ``others`` data-parallel ranks."""
        pieces = max(1.0, tokens / memory.step_tokens(device))
        users, context = (load.users - 1) / setup.pp, load.isl + load.osl / 2
        prompt, before = tokens / pieces, load.isl / 2
        reading = {"prompt": prompt, "before": before, "others": others * prompt}
        piece = step(todo, k, device, rates, setup.tp, users=users, context=context, **reading)
        return setup.pp * pieces * piece.seconds * (k.first_experts if todo.moe_layers else k.first)

    start, alone = k.first_us * 1e-6, read(load.isl)
    users = setup.dp * load.users  # ranks wait for the prompts of one another
    steady = start * users**k.arrival + alone * users**k.queue
    return start + alone, steady, max(steady, start + read(load.isl * load.users, setup.dp - 1))
