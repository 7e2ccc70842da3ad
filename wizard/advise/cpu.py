"""Serving on the CPU: a GGUF file, served by llama.cpp behind Triton from the host's memory. Pure.

The formulas are llama.cpp's; their constants and the stacks that use them are in ``profiles/stacks``.
"""

from __future__ import annotations

from dataclasses import replace

from wizard.advise import (
    benchmarked,
    calibration,
    cost,
    cpu_speed,
    engine_python,
    gguf_release,
    not_chat,
    service,
    speculation,
)
from wizard.advise.advice import (
    GATED,
    Checkpoint,
    Choice,
    Constraints,
    Memory,
    Rejection,
    Speed,
)
from wizard.advise.compatibility import obstacles
from wizard.advise.reasons import Note, Obstacle, because, change, do, without
from wizard.catalog import stacks
from wizard.catalog.cpu_facts import OnCpu
from wizard.catalog.environments import Environment, environment_of
from wizard.catalog.goals import DEFAULT_USERS
from wizard.model import gguf_files
from wizard.model.anatomy import Attention
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

DEFAULT_CONTEXT = 4096
"""Default tokens per user: a long chat; more only costs memory."""
LEAST_CONTEXT = 256
KV_BYTES = {"f16": 2}
"""Bytes of one element of the KV cache by its dtype."""
RESERVE = 0.10
"""Share of the free memory that is left for other processes."""


def kv_bytes_per_token(facts: ModelFacts, dtype: str) -> int | None:
    """Bytes of KV cache for one token: layers × kv heads × (key + value dimension) × bytes per element.

    None if the model's shape is unknown. Source: the KV cache of grouped-query attention (Ainslie et al. 2023, §2).
    """
    elements = sum(group.layers * group.kv_heads * (group.key_dim + group.value_dim) for group in caches(facts))
    return elements * KV_BYTES[dtype] or None


def caches(facts: ModelFacts) -> tuple[Attention, ...]:
    """The layers with a KV cache; empty if the model's shape is unknown.

    All layers alike, unless some reuse the keys and values of earlier ones: llama.cpp allocates no cache for those
    (``llama_hparams::has_kv``, in ``llama-kv-cache.cpp`` of xllamacpp 2026.10.11549). Windows count as full attention.
    """
    if not (facts.layers and facts.kv_heads and facts.head_dim):
        return ()
    if facts.anatomy and any(group.shares for group in facts.anatomy.attention):
        return tuple(group for group in facts.anatomy.attention if group.kv_heads)
    return (Attention(facts.layers, facts.kv_heads, facts.head_dim, facts.head_dim),)


def feed_forward(facts: ModelFacts) -> int:
    """Elements between the two projections of the feed-forward that process one token."""
    experts = facts.anatomy.expert_intermediate * facts.anatomy.experts_per_token if facts.anatomy else 0
    return max(facts.intermediate_size or 0, experts)


def activation_bytes(facts: ModelFacts, engine: OnCpu, *, users: int, context: int) -> int:
    """Compute and output buffers of llama.cpp, in bytes, for ``users`` slots of ``context`` tokens.

    For a chunk of the prompt, three rows of the feed-forward and five of the residual stream exist at once, in float32,
    besides the attention mask in float16; and each slot has its own logits. Within 1 % of what llama.cpp (xllamacpp
    2026.10.11549, flash attention) logs for dense models of 5 to 30 layers, hidden sizes 256 to 2,048, vocabularies of
    2,048 to 151,936 and 512 to 16,384 tokens; experts were not measured.
    """
    piece = engine.piece_tokens * (3 * feed_forward(facts) + 5 * (facts.hidden_size or 0)) * 4
    return piece + engine.piece_tokens * context * 2 + users * (facts.vocabulary or 0) * 4


def bill(
    facts: ModelFacts, engine: OnCpu, *, users: int, context: int, server_bytes: int, budget: int
) -> Memory | None:
    """The memory breakdown on the host for ``users`` × ``context`` tokens; None if the model's shape is unknown.

    Args:
        facts: The model; its weights count with their files' size, which llama.cpp maps into memory.
        engine: The engine's memory constants; its `cache` is a key of `KV_BYTES`.
        users: Concurrent requests.
        context: Tokens of each request.
        server_bytes: Memory of the server without a model.
        budget: Bytes available.
    """
    per_token = kv_bytes_per_token(facts, engine.cache)
    if per_token is None or facts.weight_bytes is None:
        return None
    tokens = users * context
    activations = activation_bytes(facts, engine, users=users, context=context)
    server = server_bytes + engine.tokenizer_bytes * (facts.vocabulary or 0)
    total = facts.weight_bytes + per_token * tokens + activations + server
    return Memory(facts.weight_bytes, per_token, tokens, activations, server, total, budget)


def longest_context(facts: ModelFacts, engine: OnCpu, *, users: int, server_bytes: int, budget: int) -> int:
    """Tokens for each of ``users`` that fit into ``budget``, rounded down to 256 (0 if not even 256 fit)."""
    empty = bill(facts, engine, users=users, context=0, server_bytes=server_bytes, budget=budget)
    if empty is None or empty.kv_bytes_per_token == 0:
        return 0
    free = budget - empty.total_bytes
    mask = engine.piece_tokens * 2  # of one more token, for all users
    return max(0, free // (empty.kv_bytes_per_token * users + mask) // 256 * 256)


def uses_gpus(host: Host, constraints: Constraints) -> bool:
    """Whether ``host`` has GPUs and ``constraints`` allow them."""
    return bool(host.gpus) and constraints.max_gpus != 0


def versions(host: Host, facts: ModelFacts, constraints: Constraints) -> list[ModelFacts]:
    """``facts`` as each GGUF file that it can be served from; itself if there is none, or other engines will serve it
    on GPUs.
    """
    named = any(file.format == on_cpu(stack).file for stack in stacks.cpu_stacks() for file in facts.weights)
    if uses_gpus(host, constraints) and constraints.stack is None and not named:
        return [facts]
    return [gguf_files.as_file(facts, file) for file in gguf_files.choices(facts)] or [facts]


def candidates(
    host: Host, facts: ModelFacts, constraints: Constraints, past: calibration.Calibration, stack: str
) -> tuple[list[Choice], list[Rejection]]:
    """The choice that the CPU has with ``stack`` and the file of ``facts``, or everything that prevents it."""
    env = environment_of(stack)
    if why := [*barriers(facts, constraints, stack), *obstacles(host, env)]:
        return [], [rejection(facts, constraints, obstacle, stack) for obstacle in why]
    measured = calibration.typical(
        past,
        machine=calibration.processor(host),
        stack=stack,
        engine=calibration.engine(stack, _release(env)),
        model=facts.ref,
    )
    server = max(0, env.server_bytes + calibration.difference(measured)) if measured else env.server_bytes
    fit = _fit(host, facts, constraints, replace(env, server_bytes=server), stack)
    if isinstance(fit, Obstacle):
        return [], [rejection(facts, constraints, fit, stack)]
    speed, benched = _speed(host, facts, fit, constraints, past)
    priced = cost.cost(speed, constraints.cost_per_hour, None)
    fit = replace(fit, speed=speed, cost=priced, reasons=(*fit.reasons, *benched))
    if slow := service.too_slow(fit.speed, constraints):
        return [], [rejection(facts, constraints, slow, stack)]
    if short := service.shortened(facts, constraints, fit):
        fit = replace(fit, warnings=(short, *fit.warnings))
    if host.is_here and speed is None and on_cpu(stack).speed:
        fit = replace(fit, reasons=(*fit.reasons, Note("cpu-unmeasured")))
    return [calibration.corrected(fit, measured, server - env.server_bytes) if measured else fit], []


def _speed(
    host: Host, facts: ModelFacts, choice: Choice, constraints: Constraints, past: calibration.Calibration
) -> tuple[Speed | None, tuple[Note, ...]]:
    """The speed if the processor of ``host``, or the setup itself was measured, and a note about the latter."""
    load = service.load_of(constraints, choice.max_batch_size, choice.max_seq_len)
    cache = choice.memory.kv_bytes_per_token
    made = cpu_speed.estimate(facts, on_cpu(choice.stack).speed, past.rates_of(host), load, cache)
    engine = calibration.engine(choice.stack, choice.release)
    machine = calibration.processor(host)
    return benchmarked.corrected(made, past.speeds, choice, load, machine=machine, engine=engine, model=facts.ref)


def _release(env: Environment) -> str:
    return f"triton {env.triton}"


def stored_format(facts: ModelFacts) -> str:
    """The format of a GGUF file (``gguf_q8_0``); ``none`` if the weights are not quantized."""
    return (facts.quantization and facts.quantization.format) or "none"


def on_cpu(stack: str) -> OnCpu:
    """The memory constants of ``stack`` on the CPU.

    Raises:
        ValueError: It does not serve on the CPU.
    """
    if (known := stacks.facts(stack).cpu) is None:
        raise ValueError(f"{stack} does not serve on the CPU")
    return known


def rejection(facts: ModelFacts, constraints: Constraints, why: Obstacle, stack: str) -> Rejection:
    """The rejection of ``stack`` because of ``why``."""
    quantization = constraints.quantization or stored_format(facts)
    return Rejection(stack, quantization, constraints.tp or 1, constraints.pp or 1, why.code, why.reason, why.remedies)


def barriers(facts: ModelFacts, constraints: Constraints, stack: str) -> list[Obstacle]:
    """What prevents ``stack`` from serving ``facts`` from host memory, whatever the machine."""
    return [*_against_constraints(facts, constraints, stack), *_against_model(facts, stack)]


def _against_constraints(facts: ModelFacts, constraints: Constraints, stack: str) -> list[Obstacle]:
    conflicts: list[Obstacle] = []
    kept = on_cpu(stack).cache
    if barred := engine_python.against_constraints(constraints, stack):
        conflicts.append(barred)
    elif constraints.runtime not in (None, "native"):
        why = because("cpu-runtime", stack=stack, runtime=constraints.runtime)
        conflicts.append(Obstacle("runtime", why, (change(runtime="native"),)))
    if constraints.release:
        why = because("cpu-release", stack=stack, release=constraints.release)
        conflicts.append(Obstacle("release", why, (without("release"),)))
    splits = {name: getattr(constraints, name) for name in ("tp", "pp", "dp", "replicas")}
    splits = {name: value for name, value in splits.items() if value not in (None, 1)}
    for name, value in splits.items():
        why = because("cpu-split", stack=stack, option=name, value=value)
        conflicts.append(Obstacle(name, why, (without(*splits),)))
    if constraints.expert_parallel:
        why = because("experts-stack", stack=stack) if facts.experts else because("no-experts")
        conflicts.append(Obstacle("experts", why, (without("expert_parallel"),)))
    conflicts += speculation.elsewhere(constraints, stack)
    if constraints.kv_dtype not in (None, kept):
        why = because("cpu-cache", kept=kept, asked=constraints.kv_dtype)
        conflicts.append(Obstacle("kv-dtype", why, (change(kv_dtype=kept),)))
    stored = stored_format(facts)
    if constraints.quantization and constraints.quantization != stored:
        quantization = constraints.quantization
        why = because("file-stored", stored=stored, asked=quantization)
        conflicts.append(Obstacle("quantization", why, (do("other-file", asked=quantization),)))
    if long := service.too_long(facts, constraints):
        conflicts.append(long)
    return conflicts


def _against_model(facts: ModelFacts, stack: str) -> list[Obstacle]:
    known = on_cpu(stack)
    if not any(file.format == known.file for file in facts.weights):
        return [Obstacle("format", because("no-gguf", stack=stack, model=facts.name), (do("give-gguf"),))]
    if unnamed := gguf_release.obstacle(facts, stack, environment_of(stack).engine_version):
        return [unnamed]
    if facts.weight_bytes is None or kv_bytes_per_token(facts, known.cache) is None:
        whys = tuple(facts.unknown.values()) or (because("silent-header"),)
        return [Obstacle("shape", because("unknown-memory", model=facts.name, whys=whys), (do("other-gguf"),))]
    return []


def contexts(facts: ModelFacts, constraints: Constraints) -> tuple[int, int]:
    """Tokens for each user, and the fewest that are of use if these do not fit."""
    if asked := constraints.max_len or service.request_tokens(constraints):
        return asked, asked
    want = service.wanted(constraints)
    usual = max(DEFAULT_CONTEXT, want.isl + want.osl)
    tokens = min(facts.max_context or usual, usual)
    return tokens, max(min(LEAST_CONTEXT, tokens), service.least_tokens(constraints, tokens))


def _fit(host: Host, facts: ModelFacts, constraints: Constraints, env: Environment, stack: str) -> Choice | Obstacle:
    if host.memory_available_bytes is None:
        why = host.unknown.get("memory_available_bytes") or because("silent-system")
        return Obstacle("memory", because("unknown-free-memory", why=why), (do("as-reason-says"),))
    budget = int(host.memory_available_bytes * (1 - RESERVE))
    users, engine = constraints.users or DEFAULT_USERS, on_cpu(stack)
    longest = longest_context(facts, engine, users=users, server_bytes=env.server_bytes, budget=budget)
    tokens, least = contexts(facts, constraints)
    context = min(tokens, longest)
    if context < least:
        return _too_large(facts, constraints, engine, env, budget, longest, least)
    needed = bill(facts, engine, users=users, context=context, server_bytes=env.server_bytes, budget=budget)
    if needed is None:
        raise AssertionError("the shape was checked before")
    return Choice(
        stack=stack,
        runtime="native",
        dtype=facts.dtype or "unknown",
        quantization=stored_format(facts),
        kv_cache_dtype=engine.cache,
        tp=1,
        pp=1,
        max_batch_size=users,
        max_seq_len=context,
        release=_release(env),
        engine_version=env.engine_version,
        memory=needed,
        warnings=tuple(_warnings(facts, constraints, tokens, context)),
        reasons=tuple(_reasons(host, facts, env, users, context, needed)),
        checkpoint=fetched_file(facts),
    )


def fetched_file(facts: ModelFacts) -> Checkpoint:
    """The file of ``facts``; ``ready`` if it was chosen among several, and not named or stored here."""
    file = facts.weights[0]
    if facts.local or ":" in facts.ref or facts.source != "hub" or gguf_files.type_of(file.name) is None:
        return Checkpoint(facts.location, facts.weight_bytes)
    return Checkpoint(facts.location, file.bytes or facts.weight_bytes, "ready", file=file.name)


def _too_large(
    facts: ModelFacts, constraints: Constraints, engine: OnCpu, env: Environment, budget: int, longest: int, tokens: int
) -> Obstacle:
    users = constraints.users or DEFAULT_USERS
    need = bill(facts, engine, users=users, context=tokens, server_bytes=env.server_bytes, budget=budget)
    total = need.total_bytes if need else 0
    why = because("host-memory", model=facts.name, size_bytes=total, users=users, tokens=tokens, budget_bytes=budget)
    if longest >= LEAST_CONTEXT:
        return Obstacle("memory", why, (change(max_len=longest), do("fewer-users")))
    return Obstacle("memory", why, (do("free-memory", size_bytes=total - budget),))


def _warnings(facts: ModelFacts, constraints: Constraints, tokens: int, context: int) -> list[Note]:
    notes = list(not_chat.notes(facts))
    if context < tokens:
        notes.append(Note("context-cut", {"wanted": tokens, "context": context}))
    if constraints.max_gpus or constraints.gpu_memory_utilization:
        notes.append(Note("no-gpu-used"))
    notes += not_chat.without_template(facts)
    if facts.gated:
        notes.append(GATED)
    return notes


def _reasons(host: Host, facts: ModelFacts, env: Environment, users: int, context: int, bill: Memory) -> list[Note]:
    stored = (facts.quantization.detail if facts.quantization else None) or "GGUF"
    return [
        Note("cpu", {"cores": host.cpu.cores, "gpus": bool(host.gpus)}),
        *([Note("other-gpu", {"vendors": ", ".join(host.other_gpus)})] if host.other_gpus and not host.gpus else []),
        Note("format", {"stored": stored, "parameters": facts.parameters}),
        *file_notes(facts),
        Note("users", {"users": users, "context": context}),
        Note("memory", {"needed_bytes": bill.total_bytes, "allowed_bytes": bill.budget_bytes}),
        Note("release", {"why": because("in-wheel", version=env.triton)}),
    ]


def file_notes(facts: ModelFacts) -> list[Note]:
    """What is fetched, if a file was chosen among several."""
    fetched = fetched_file(facts)
    named = {"file": fetched.file, "ref": fetched.ref, "flag": f"--quantization {stored_format(facts)}"}
    return [Note("gguf-file", {**named, "size_bytes": fetched.bytes})] if fetched.file else []


def with_others(choice: Choice) -> Choice:
    """``choice`` with how to serve another of the model's files, if it was chosen among them."""
    if not (choice.checkpoint and choice.checkpoint.file):
        return choice
    named = {"ref": choice.checkpoint.ref, "type": gguf_files.type_of(choice.checkpoint.file)}
    return replace(choice, reasons=(*choice.reasons, Note("gguf-others", named)))
