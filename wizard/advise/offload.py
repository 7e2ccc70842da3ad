"""A GGUF file on GPUs: as many layers as fit there, the rest on the CPU. Pure.

One GPU is used if it holds as much as several: layers are computed one after the other, so more GPUs add room, but no
speed. What is where: `wizard.advise.placement`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from wizard.advise import calibration, cost, cpu, gguf_release, not_chat, offload_speed, service
from wizard.advise.advice import GATED, Choice, Constraints, Memory, Offload, Rejection, Share, Speed
from wizard.advise.compatibility import obstacles
from wizard.advise.devices import Device, devices
from wizard.advise.driver import environment_obstacle
from wizard.advise.placement import Load, Placement, dealt, on_gpus, on_host, placements
from wizard.advise.reasons import Note, Obstacle, Param, Reason, because, change, do
from wizard.catalog import stacks
from wizard.catalog.cpu_facts import Offload as OffloadFacts
from wizard.catalog.cpu_facts import OnCpu
from wizard.catalog.environments import Environment, environment
from wizard.catalog.goals import DEFAULT_USERS
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
class Spot:
    """A GPU that can hold layers.

    Attributes:
        device: The group that it is of.
        index: NVML's index.
        budget_bytes: Bytes that the model may use there.
        context_bytes: Bytes besides the engine's buffers.
    """

    device: Device
    index: int
    budget_bytes: int
    context_bytes: int


@dataclass(frozen=True, slots=True)
class Fit:
    """A placement that fits.

    Attributes:
        rank: Placements with more on GPUs.
        load: What is served.
        placement: The placement.
        spots: The GPUs that it uses, in llama.cpp's order.
        shares: What each has.
        rest: The host's memory breakdown.
    """

    rank: int
    load: Load
    placement: Placement
    spots: tuple[Spot, ...]
    shares: tuple[Share, ...]
    rest: Memory


def gpu_budget(device: Device, known: OffloadFacts, constraints: Constraints) -> int:
    """Bytes of ``device`` that the model may use."""
    free = device.free_bytes - known.margin_bytes
    share = constraints.gpu_memory_utilization
    return max(0, free if share is None else min(free, int(share * device.total_bytes)))


def _prevented(host: Host, facts: ModelFacts, device: Device, env: Environment, known: OffloadFacts) -> Obstacle | None:
    """What prevents ``device`` from holding layers of ``facts``, or makes it not worthwhile, whatever its memory."""
    if facts.weight_bytes is None or facts.weight_bytes < known.least_bytes:
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


def _spots(host: Host, constraints: Constraints, env: Environment, known: OffloadFacts) -> list[Spot]:
    """The GPUs that can hold layers, the one with the most room first."""
    spots = [
        Spot(device, index, gpu_budget(device, known, constraints), known.context(device.compute_capability))
        for device in devices(host)
        if not device.mig and not environment_obstacle(host, device.compute_capability, env)
        for index in device.indices
    ]
    return sorted(spots, key=lambda spot: (-spot.budget_bytes, spot.index))[: constraints.max_gpus]


def _choice(
    host: Host, facts: ModelFacts, constraints: Constraints, past: calibration.Calibration, stack: str
) -> Choice | Obstacle:
    """The choice with the most on GPUs, or why none is of use."""
    engine, known = cpu.on_cpu(stack), cpu.on_cpu(stack).offload
    whole = [device for device in devices(host) if not device.mig]
    if known is None or not whole:
        return Obstacle("gpus", because("offload-no-gpu"), (do("as-reason-says"),))
    env = environment(known.environment)
    spots = _spots(host, constraints, env, known)
    device = spots[0].device if spots else max(whole, key=lambda each: each.free_bytes)
    prevented = _prevented(host, facts, device, env, known)
    if prevented or facts.gguf_layers is None or host.memory_available_bytes is None:
        return prevented or Obstacle("shape", because("offload-layers-unknown"), (do("other-gguf"),))
    budget = int(host.memory_available_bytes * (1 - cpu.RESERVE))
    fit = _best(facts, facts.gguf_layers, engine, constraints, env, spots, budget)
    if isinstance(fit, Obstacle):
        return fit
    return _made(host, facts, constraints, past, stack, env, fit, len(spots))


def _made(
    host: Host,
    facts: ModelFacts,
    constraints: Constraints,
    past: calibration.Calibration,
    stack: str,
    env: Environment,
    fit: Fit,
    there: int,
) -> Choice | Obstacle:
    """The choice for ``fit`` on a machine where ``there`` GPUs can hold layers, or why it is too slow."""
    placed, engine, used = fit.placement, cpu.on_cpu(stack), [spot.device for spot in fit.spots]
    shares = fit.shares if len(fit.shares) > 1 else ()
    offload = Offload(placed.gpu_layers, placed.layers, placed.expert_layers, fit.rest, shares)
    speed = _speed(host, facts, constraints, past, engine, fit)
    if slow := service.too_slow(None if isinstance(speed, (Reason, str)) or constraints.ttft else speed, constraints):
        return slow
    pace = speed if isinstance(speed, Speed) else None
    watts = [device.watts for device in used]
    choice = Choice(
        stack=stack,
        runtime="native",
        dtype=facts.dtype or "unknown",
        quantization=cpu.stored_format(facts),
        kv_cache_dtype=engine.cache,
        tp=1,
        pp=1,
        max_batch_size=fit.load.users,
        max_seq_len=fit.load.context,
        release=f"triton {env.triton}",
        engine_version=env.engine_version,
        memory=fit.shares[0].memory,
        devices=tuple(spot.index for spot in fit.spots),
        speed=pace,
        warnings=tuple(_warnings(facts, constraints, offload, speed, fit)),
        reasons=tuple(_reasons(facts, env, offload, fit, there)),
        environment=env.name,
        checkpoint=cpu.fetched_file(facts),
        offload=offload,
        cost=cost.cost(
            pace, constraints.cost_per_hour, None if None in watts else sum(map(float, filter(None, watts)))
        ),
    )
    short = service.shortened(facts, constraints, choice)
    return replace(choice, warnings=(short, *choice.warnings)) if short else choice


def _best(
    facts: ModelFacts,
    layers: Layers,
    engine: OnCpu,
    constraints: Constraints,
    env: Environment,
    spots: Sequence[Spot],
    budget: int,
) -> Fit | Obstacle:
    """The placement with the most on GPUs; fewer users than by default if that puts more there, then as few GPUs.

    With a limit on the speed, as many users as the estimate is for.
    """
    tokens, least = cpu.contexts(facts, constraints)
    usual = (offload_speed.USERS,) if constraints.tpot else (DEFAULT_USERS, FEW_USERS)
    counts = (constraints.users,) if constraints.users else usual
    groups = [tuple(sorted(spots[:many], key=lambda spot: spot.index)) for many in range(1, len(spots) + 1)]
    fits: list[Fit] = []
    for context, users in product(dict.fromkeys((tokens, max(least, min(tokens, cpu.DEFAULT_CONTEXT)))), counts):
        if fits and context != tokens:
            break  # all of it fits
        load = Load(facts, engine, users, context)
        fits += filter(None, (_fit(load, layers, group, env.server_bytes, budget) for group in groups))
    if fits:
        return min(fits, key=lambda fit: (fit.rank, -fit.load.users, len(fit.spots)))
    placement, (spot, *_) = placements(layers)[-1], spots
    on_gpu = on_gpus(load, placement, (placement.gpu_layers,), (spot.context_bytes,), (spot.budget_bytes,))[0].memory
    rest = on_host(load, placement, env.server_bytes, budget)
    tight, where = (on_gpu, "gpu") if on_gpu.total_bytes > on_gpu.budget_bytes else (rest, "host")
    values: dict[str, Param] = {"where": where, "need_bytes": tight.total_bytes, "budget_bytes": tight.budget_bytes}
    why = because("offload-no-room", users=users, tokens=context, **values)

    def fits_as(users: int, context: int) -> bool:
        smaller = Load(facts, engine, users, context)
        return any(_fit(smaller, layers, group, env.server_bytes, budget) for group in groups)

    halves = (context >> power for power in range(context.bit_length()))  # all of it does not fit, as was tried
    shorter = next((half for half in halves if half >= cpu.LEAST_CONTEXT and fits_as(users, half)), None)
    remedies = [change(max_len=shorter)] if shorter else []
    remedies += [do("fewer-users")] if users > 1 and fits_as(1, context) else []
    free = do("free-memory", size_bytes=max(0, tight.total_bytes - tight.budget_bytes))
    return Obstacle("memory", why, tuple(remedies) or (free,))


def _fit(load: Load, layers: Layers, spots: tuple[Spot, ...], server_bytes: int, budget: int) -> Fit | None:
    """The placement with the most on ``spots``, each of which gets a layer; None if none fits."""
    contexts, budgets = [spot.context_bytes for spot in spots], [spot.budget_bytes for spot in spots]
    for rank, placement in enumerate(placements(layers)):
        rest = on_host(load, placement, server_bytes, budget)
        if rest.total_bytes > rest.budget_bytes:
            continue
        if counts := dealt(load, placement, contexts, budgets):
            return Fit(rank, load, placement, spots, on_gpus(load, placement, counts, contexts, budgets), rest)
    return None


def _speed(
    host: Host, facts: ModelFacts, constraints: Constraints, past: calibration.Calibration, engine: OnCpu, fit: Fit
) -> Speed | Reason | str:
    """The estimate, or why there is none."""
    last = len(fit.shares) - 1
    return offload_speed.estimate(
        facts,
        engine,
        [
            (spot.device, share.layers - (at == last))
            for at, (spot, share) in enumerate(zip(fit.spots, fit.shares, strict=True))
        ],
        past.rates_of(host),
        constraints,
        service.load_of(constraints, fit.load.users, fit.load.context),
        cache_bytes=fit.load.cache(1, 1),
    )


def _warnings(
    facts: ModelFacts, constraints: Constraints, offload: Offload, speed: Speed | Reason | str, fit: Fit
) -> Iterator[Note]:
    users, context = fit.load.users, fit.load.context
    yield from not_chat.notes(facts)
    yield Note("offload-several-untried" if offload.shares else "offload-untried")
    if facts.gguf_layers and facts.gguf_layers.estimated:
        yield Note("offload-estimated")
    if not isinstance(speed, Speed):
        yield Note("speed", {"why": speed})
    if context < (wanted := cpu.contexts(facts, constraints)[0]):
        yield Note("context-cut", {"wanted": wanted, "context": context})
    if constraints.users is None and constraints.tpot:
        yield Note("offload-users-limit", {"users": users})
    elif constraints.users is None and users < DEFAULT_USERS:
        yield Note("offload-users-cut", {"users": users, "wanted": DEFAULT_USERS, "whole": offload.whole})
    for device in dict.fromkeys(spot.device for spot in fit.spots if spot.device.holders):
        yield Note("busy", {"holders": device.holders})
    yield from not_chat.without_template(facts)
    if facts.gated:
        yield GATED


def _reasons(facts: ModelFacts, env: Environment, offload: Offload, fit: Fit, there: int) -> Iterator[Note]:
    stored = (facts.quantization.detail if facts.quantization else None) or "GGUF"
    names = dict.fromkeys(spot.device.name for spot in fit.spots)
    values: dict[str, Param] = {
        "gpu": " + ".join(names),
        "gpus": len(fit.spots),
        "on_gpu": offload.gpu_layers,
        "layers": offload.layers,
        "experts": offload.expert_layers,
        "weights_bytes": fit.placement.gpu_bytes,
        "host_bytes": fit.placement.host_bytes,
    }
    yield Note("offload", values)
    if there > len(fit.spots):
        yield Note("offload-gpus-free", {"count": there - len(fit.spots)})
    yield Note("format", {"stored": stored, "parameters": facts.parameters})
    yield from cpu.file_notes(facts)
    yield Note("users", {"users": fit.load.users, "context": fit.load.context})
    for at, (spot, share) in enumerate(zip(fit.spots, fit.shares, strict=True)):
        room: dict[str, Param] = {
            "used_bytes": share.memory.total_bytes,
            "budget_bytes": share.memory.budget_bytes,
            "free_bytes": spot.device.free_bytes,
        }
        if len(fit.spots) > 1:
            yield Note("offload-share", {**room, "index": spot.index, "gpu": spot.device.name, "layers": share.layers})
        elif at == 0:
            host_room: dict[str, Param] = {"needed_bytes": fit.rest.total_bytes, "allowed_bytes": fit.rest.budget_bytes}
            yield Note("offload-memory", {**room, **host_room})
    yield Note("release", {"why": because("in-wheels", version=env.triton, engine=env.engine)})
