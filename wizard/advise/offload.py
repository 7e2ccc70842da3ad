"""A GGUF file on a GPU: as many layers as fit there, the rest on the CPU. Pure.

llama.cpp puts the output and the last ``n_gpu_layers`` - 1 repeating layers on the GPU, each with its KV cache; with
routed experts, all layers go there before the experts of the first layers do (``--n-cpu-moe``), because a token reads
only a few experts. A GPU also computes long prompts for layers on the CPU, whose weights it copies one tensor
at a time (``ggml_backend_sched``, ``op_offload``). Source: llama.cpp in xllamacpp 2026.10.11549.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from wizard.advise import calibration, cost, cpu, gguf_release, not_chat, offload_speed, service
from wizard.advise.advice import GATED, Choice, Constraints, Memory, Offload, Rejection, Speed
from wizard.advise.compatibility import obstacles
from wizard.advise.devices import Device, devices
from wizard.advise.driver import environment_obstacle
from wizard.advise.reasons import Note, Obstacle, Param, Reason, because, change, do
from wizard.catalog import stacks
from wizard.catalog.environments import Environment, environment
from wizard.catalog.goals import DEFAULT_USERS
from wizard.catalog.stack_facts import Offload as OffloadFacts
from wizard.catalog.stack_facts import OnCpu
from wizard.model import gguf_files
from wizard.model.facts import ModelFacts
from wizard.model.gguf_layers import Layers
from wizard.probe.host import Host

FEW_USERS = 2
"""Users to which the default is reduced if all layers then fit on the GPU, or more of them."""
IDLE_GPU = "offload-idle"
"""Code of the warning for a choice on the CPU although a GPU could serve."""


def candidates(
    host: Host, facts: ModelFacts, constraints: Constraints, past: calibration.Calibration = calibration.NOTHING
) -> tuple[list[Choice], list[Rejection]]:
    """The choices of all stacks that serve from host memory: with a GPU if one can help, and on the CPU alone."""
    made = [
        _candidates(host, facts, constraints, past, stack)
        for stack in stacks.cpu_stacks()
        if constraints.stack in (None, stack)
    ]
    known = (choice for choices, _ in made for choice in choices)
    return [_noted(choice, *gguf_release.unlisted(facts, choice.stack)) for choice in known], [
        rejection for _, rejections in made for rejection in rejections
    ]


def _candidates(
    host: Host, facts: ModelFacts, constraints: Constraints, past: calibration.Calibration, stack: str
) -> tuple[list[Choice], list[Rejection]]:
    """The choices that ``stack`` has with each file of the model, or everything that prevents them."""
    with_gpu: list[Choice] = []
    alone: list[tuple[Choice, tuple[Note, ...]]] = []
    rejections: list[Rejection] = []
    for version in cpu.versions(host, facts, constraints):
        choices, refused = cpu.candidates(host, version, constraints, past, stack)
        notes: tuple[Note, ...] = ()
        if cpu.uses_gpus(host, constraints) and not cpu.barriers(version, constraints, stack):
            outcome = _choice(host, version, constraints, past, stack)
            if isinstance(outcome, Choice):
                with_gpu.append(outcome)
            else:
                notes = (Note("gpu-unused", {"gpu": host.gpus[0].name, "why": outcome.reason}),)
                refused += [] if choices else [cpu.rejection(version, constraints, outcome, stack)]
        alone += [(choice, notes) for choice in choices]
        rejections += refused
    if len(gguf_files.choices(facts)) > 1:
        alone = [(cpu.with_others(choice), notes) for choice, notes in alone]
    if with_gpu:
        return [*with_gpu, *(_noted(choice, Note(IDLE_GPU)) for choice, _ in alone)], []
    return [_noted(choice, *notes) for choice, notes in alone], rejections


def _noted(choice: Choice, *notes: Note) -> Choice:
    return replace(choice, warnings=(*choice.warnings, *notes))


@dataclass(frozen=True, slots=True)
class Placement:
    """A split of a model and its bytes of weights.

    Attributes:
        gpu_layers: As in `Offload`.
        layers: As in `Offload`.
        expert_layers: As in `Offload`.
        gpu_bytes: Weights on the GPU.
        host_bytes: Weights on the host.
        copied_bytes: The largest tensor of a layer on the host.
    """

    gpu_layers: int
    layers: int
    expert_layers: int
    gpu_bytes: int
    host_bytes: int
    copied_bytes: int


@lru_cache(maxsize=16)
def placements(layers: Layers) -> tuple[Placement, ...]:
    """All placements, the one with the most on the GPU first."""
    count = len(layers.repeating)
    with_experts = [number for number, layer in enumerate(layers.repeating, 1) if layer.experts]
    kept = with_experts[-1] if with_experts else 0
    splits = [(count + 1, 0), *((count + 1, number) for number in with_experts)]
    splits += [(on_gpu, kept) for on_gpu in range(count, 1, -1)]
    return tuple(Placement(on_gpu, count + 1, kept, *_weights(layers, on_gpu, kept)) for on_gpu, kept in splits)


def _weights(layers: Layers, on_gpu: int, kept: int) -> tuple[int, int, int]:
    """Bytes of weights on the GPU and on the host, and of the largest tensor of a layer on the host."""
    first = len(layers.repeating) + 1 - on_gpu
    gpu, rest, largest = layers.output, layers.input, 0
    for number, layer in enumerate(layers.repeating):
        here = number >= first
        dense, experts = here, here and number >= kept
        gpu += layer.dense * dense + layer.experts * experts
        rest += layer.dense * (not dense) + layer.experts * (not experts)
        largest = max(largest, layer.largest_dense * (not dense), layer.largest_expert * (not experts))
    return gpu, rest, largest


def memory(
    facts: ModelFacts,
    engine: OnCpu,
    placement: Placement,
    *,
    users: int,
    context: int,
    server_bytes: int,
    context_bytes: int,
    budgets: tuple[int, int],
) -> tuple[Memory, Memory]:
    """The memory breakdowns of the GPU and of the host for ``users`` × ``context`` tokens; ``budgets`` are of both.

    Raises:
        ValueError: The model's KV cache is unknown, or the stack does not use GPUs.
    """
    per_token, known = cpu.kv_bytes_per_token(facts, engine.cache), engine.offload
    if per_token is None or known is None:
        raise ValueError("checked before")
    gpu_kv = -(-per_token * (placement.gpu_layers - 1) // (placement.layers - 1))
    tokens = users * context
    activations = cpu.activation_bytes(facts, engine, users=users, context=context)
    server = server_bytes + engine.tokenizer_bytes * (facts.vocabulary or 0)
    parts = (placement.gpu_bytes, gpu_kv, tokens, activations + placement.copied_bytes, context_bytes)
    rest = (placement.host_bytes, per_token - gpu_kv, tokens, activations, server)
    return _summed(parts, budgets[0]), _summed(rest, budgets[1])


def _summed(parts: tuple[int, int, int, int, int], budget: int) -> Memory:
    weight, per_token, tokens, activation, overhead = parts
    return Memory(*parts, weight + per_token * tokens + activation + overhead, budget)


def gpu_budget(device: Device, known: OffloadFacts, constraints: Constraints) -> int:
    """Bytes of ``device`` that the model may use."""
    free = device.free_bytes - known.margin_bytes
    share = constraints.gpu_memory_utilization
    return max(0, free if share is None else min(free, int(share * device.total_bytes)))


def _prevented(host: Host, facts: ModelFacts, device: Device, env: Environment, known: OffloadFacts) -> Obstacle | None:
    """What prevents ``device`` from holding layers of ``facts``, or makes it not worthwhile, whatever its memory."""
    if (facts.weight_bytes or 0) < known.least_bytes:
        why = because("offload-small", size_bytes=facts.weight_bytes, least_bytes=known.least_bytes)
        return Obstacle("gpus", why, (do("as-reason-says"),))
    for barrier in (*obstacles(host, env), environment_obstacle(host, device.compute_capability, env)):
        if barrier:
            return barrier
    if facts.gguf_layers is None:
        return Obstacle("shape", because("offload-layers-unknown"), (do("other-gguf"),))
    if host.memory_available_bytes is None:
        silent = host.unknown.get("memory_available_bytes") or because("silent-system")
        return Obstacle("memory", because("unknown-free-memory", why=silent), (do("as-reason-says"),))
    return None


def _choice(
    host: Host, facts: ModelFacts, constraints: Constraints, past: calibration.Calibration, stack: str
) -> Choice | Obstacle:
    """The choice with the most on a GPU, or why none is of use."""
    engine, known = cpu.on_cpu(stack), cpu.on_cpu(stack).offload
    whole = [device for device in devices(host) if not device.mig]
    if known is None or not whole:
        return Obstacle("gpus", because("offload-no-gpu"), (do("as-reason-says"),))
    device, env = max(whole, key=lambda each: each.free_bytes), environment(known.environment)
    prevented = _prevented(host, facts, device, env, known)
    if prevented or facts.gguf_layers is None or host.memory_available_bytes is None:
        return prevented or Obstacle("shape", because("offload-layers-unknown"), (do("other-gguf"),))
    budgets = gpu_budget(device, known, constraints), int(host.memory_available_bytes * (1 - cpu.RESERVE))
    held = known.context(device.compute_capability)
    best = _best(facts, facts.gguf_layers, engine, constraints, env, held, budgets)
    if isinstance(best, Obstacle):
        return best
    users, context, placement, gpu, rest = best
    offload = Offload(placement.gpu_layers, placement.layers, placement.expert_layers, rest)
    speed = _speed(host, facts, constraints, past, engine, device, offload, users, context)
    if slow := service.too_slow(None if isinstance(speed, (Reason, str)) or constraints.ttft else speed, constraints):
        return slow
    warnings = _warnings(host, facts, constraints, device, offload, speed, users, context)
    pace = speed if isinstance(speed, Speed) else None
    choice = Choice(
        stack=stack,
        runtime="native",
        dtype=facts.dtype or "unknown",
        quantization=cpu.stored_format(facts),
        kv_cache_dtype=engine.cache,
        tp=1,
        pp=1,
        max_batch_size=users,
        max_seq_len=context,
        release=f"triton {env.triton}",
        engine_version=env.engine_version,
        memory=gpu,
        devices=device.indices[:1],
        speed=pace,
        warnings=tuple(warnings),
        reasons=tuple(_reasons(facts, device, env, offload, gpu, users, context)),
        environment=env.name,
        checkpoint=cpu.fetched_file(facts),
        offload=offload,
        cost=cost.cost(pace, constraints.cost_per_hour, device.watts),
    )
    short = service.shortened(facts, constraints, choice)
    return replace(choice, warnings=(short, *choice.warnings)) if short else choice


def _best(
    facts: ModelFacts,
    layers: Layers,
    engine: OnCpu,
    constraints: Constraints,
    env: Environment,
    context_bytes: int,
    budgets: tuple[int, int],
) -> tuple[int, int, Placement, Memory, Memory] | Obstacle:
    """Users, context and the split with the most on the GPU; fewer users than by default if that puts more there."""
    tokens, least = cpu.contexts(facts, constraints)
    counts = (constraints.users,) if constraints.users else (DEFAULT_USERS, FEW_USERS)
    fits: list[tuple[int, int, int, Placement, Memory, Memory]] = []
    for context, users in product(dict.fromkeys((tokens, max(least, min(tokens, cpu.DEFAULT_CONTEXT)))), counts):
        if fits and context != tokens:
            break  # all of it fits
        for rank, placement in enumerate(placements(layers)):
            bills = memory(
                facts,
                engine,
                placement,
                users=users,
                context=context,
                server_bytes=env.server_bytes,
                context_bytes=context_bytes,
                budgets=budgets,
            )
            if all(bill.total_bytes <= bill.budget_bytes for bill in bills):
                fits.append((rank, users, context, placement, *bills))
                break
    if fits:
        _, users, context, placement, gpu, rest = min(fits, key=lambda each: (each[0], -each[1]))
        return users, context, placement, gpu, rest
    gpu, rest = bills  # of the split with the least on the GPU
    tight, where = (gpu, "gpu") if gpu.total_bytes > gpu.budget_bytes else (rest, "host")
    values: dict[str, Param] = {"where": where, "need_bytes": tight.total_bytes, "budget_bytes": tight.budget_bytes}
    why = because("offload-no-room", users=counts[-1], tokens=context, **values)
    return Obstacle("memory", why, (change(max_len=max(cpu.LEAST_CONTEXT, context // 2)), do("fewer-users")))


def _speed(
    host: Host,
    facts: ModelFacts,
    constraints: Constraints,
    past: calibration.Calibration,
    engine: OnCpu,
    device: Device,
    offload: Offload,
    users: int,
    context: int,
) -> Speed | Reason | str:
    """The estimate, or why there is none."""
    return offload_speed.estimate(
        facts,
        engine,
        device,
        past.rates_of(host),
        constraints,
        service.load_of(constraints, users, context),
        layers=offload.gpu_layers - 1,
        cache_bytes=cpu.kv_bytes_per_token(facts, engine.cache) or 0,
    )


def _warnings(
    host: Host,
    facts: ModelFacts,
    constraints: Constraints,
    device: Device,
    offload: Offload,
    speed: Speed | Reason | str,
    users: int,
    context: int,
) -> Iterator[Note]:
    yield from not_chat.notes(facts)
    yield Note("offload-untried")
    if not isinstance(speed, Speed):
        yield Note("speed", {"why": speed})
    if context < (wanted := cpu.contexts(facts, constraints)[0]):
        yield Note("context-cut", {"wanted": wanted, "context": context})
    if constraints.users is None and users < DEFAULT_USERS:
        yield Note("offload-users-cut", {"users": users, "wanted": DEFAULT_USERS, "whole": offload.whole})
    if len(host.gpus) > 1:
        yield Note("offload-one-gpu", {"count": len(host.gpus)})
    if device.holders:
        yield Note("busy", {"holders": device.holders})
    yield from not_chat.without_template(facts)
    if facts.gated:
        yield GATED


def _reasons(
    facts: ModelFacts, device: Device, env: Environment, offload: Offload, gpu: Memory, users: int, context: int
) -> Iterator[Note]:
    stored = (facts.quantization.detail if facts.quantization else None) or "GGUF"
    values: dict[str, Param] = {
        "gpu": device.name,
        "on_gpu": offload.gpu_layers,
        "layers": offload.layers,
        "experts": offload.expert_layers,
        "weights_bytes": gpu.weights_bytes,
        "host_bytes": offload.host.weights_bytes,
    }
    yield Note("offload", values)
    yield Note("format", {"stored": stored, "parameters": facts.parameters})
    yield Note("users", {"users": users, "context": context})
    room: dict[str, Param] = {
        "used_bytes": gpu.total_bytes,
        "budget_bytes": gpu.budget_bytes,
        "free_bytes": device.free_bytes,
        "needed_bytes": offload.host.total_bytes,
        "allowed_bytes": offload.host.budget_bytes,
    }
    yield Note("offload-memory", room)
    yield Note("release", {"why": because("in-wheels", version=env.triton, engine=env.engine)})
