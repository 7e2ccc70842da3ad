"""How many users with how much context fit beside the weights, and what to do if they do not. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from wizard.advise import memory, service
from wizard.advise.advice import Choice, Constraints, Memory
from wizard.advise.devices import Device
from wizard.advise.reasons import Obstacle, Remedy, because, change, do
from wizard.advise.rules import uneven
from wizard.advise.service import default_users, goal_tokens, least_tokens
from wizard.advise.setup import Setup
from wizard.catalog.gpus import gpus
from wizard.catalog.stacks import on_gpu
from wizard.kernel.units import GIB, MIB
from wizard.model.anatomy import Anatomy
from wizard.model.facts import ModelFacts
from wizard.model.quantization import NONE

UTILIZATION = 0.92
"""Default share of a GPU's total memory (vLLM's default since 0.20)."""
UNIFIED_UTILIZATION = 0.80
"""The same if the memory is shared with the host, whose programs need the rest."""
SPARE = 256 * MIB
"""Bytes left free on a GPU that other processes use as well."""
LEAST = 2048
"""Tokens of prompt and answer below which a chat is not usable."""
COMFORTABLE = 4096
"""Tokens of prompt and answer for a comfortable chat: a long conversation (llama.cpp's own default here)."""
FEW = 2
"""Minimum number of concurrent users for a full solution if no number was given."""
LONGEST = 32_768
"""Maximum number of tokens offered by default: prompts beyond take minutes and are rare."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What fits into memory.

    Attributes:
        memory: The memory breakdown of a GPU.
        users: Concurrent sequences.
        length: Tokens of each sequence, prompt and answer.
        longest: Maximum number of tokens for each of ``users``.
        utilization: Share of the total memory in vLLM's sense.
        outside: Bytes of the budget besides this share (`memory.outside`).
        cut: Whether fewer users than the default fit.
    """

    memory: Memory
    users: int
    length: int
    longest: int
    utilization: float
    outside: int
    cut: bool


def cramped(choice: Choice, facts: ModelFacts, constraints: Constraints) -> int:
    """Doublings of the context that ``choice`` lacks, at least 1 if it is short, and one more if users are too few.

    `LEAST` tokens are enough for the published precision; another one is worth it for a `COMFORTABLE` chat.
    """
    given = service.request_tokens(constraints) or service.wanted(constraints).tpot_ms is None
    published = choice.quantization in (None, NONE) or facts.quantization is not None
    least = max(LEAST if published or given else COMFORTABLE, goal_tokens(constraints))
    tokens = constraints.max_len or min(least, facts.max_context or least)
    few = int(choice.users < (constraints.users or FEW))
    if choice.max_seq_len < tokens:
        return max(1, tokens.bit_length() - choice.max_seq_len.bit_length()) + few
    return few


def fit(facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup, constraints: Constraints) -> Fit | Obstacle:
    """The longest context for the users of a replica or data-parallel rank, or why not even the minimum fits, with the
    smallest remedy.

    Explicit values are kept or rejected; other values are reduced, first the context, then the users.
    """
    users = default_users(constraints, setup.shares)
    if constraints.users:
        constraints = replace(constraints, users=users)
    asked = users
    share = _utilization(anatomy, device, setup, users, constraints)
    if isinstance(share, Obstacle):
        return share
    limit = facts.max_context or LONGEST
    outside = memory.outside(anatomy, setup, users)
    budget = min(int(share * device.total_bytes) + outside, device.free_bytes)
    step = memory.step_tokens(device)

    def room(people: int) -> int:
        bill = memory.bill(facts, anatomy, device, setup, people, min(limit, LEAST), budget)
        return bill.kv_bytes_per_token * bill.kv_capacity_tokens

    def need(tokens: int) -> int:
        return memory.sequence_bytes(anatomy, setup, tokens, step)

    least = constraints.max_len or max(min(limit, LEAST), least_tokens(constraints, limit))
    if need(least) * (constraints.users or 1) > room(constraints.users or 1):
        return _too_large(facts, anatomy, device, setup, constraints, budget, least)
    free = room(users)
    if not (constraints.users or constraints.max_len):  # the goal's requests are worth more than the default users
        whole = max(least, min(limit, goal_tokens(constraints)))
        users = min(users, max(FEW, free // need(whole)))
    if need(least) * users > free:  # the default number of users: fewer then
        users = max(1, free // need(least))
    most = min(limit, max(LONGEST, least))
    length = constraints.max_len or _longest([*_STEPS, limit, least], most, lambda n: need(n) * users <= free)
    bill = memory.bill(facts, anatomy, device, setup, users, length, budget)
    longest = max(length, min(limit, bill.kv_capacity_tokens // users))
    return Fit(bill, users, length, longest, share, outside, cut=users < asked)


_STEPS = tuple(1 << power for power in range(11, 24))
"""Context lengths that are offered: powers of two from `LEAST` on."""


def _longest(lengths: list[int], most: int, fits: Callable[[int], bool]) -> int:
    fitting = [length for length in lengths if length <= most and fits(length)]
    return max(fitting, default=min(lengths))


def _utilization(
    anatomy: Anatomy, device: Device, setup: Setup, users: int, constraints: Constraints
) -> float | Obstacle:
    """The share of the total memory that the server may use, as vLLM defines it, from the free memory."""
    outside = memory.outside(anatomy, setup, users)
    spare = SPARE if device.holders or device.unified else 0
    free = (device.free_bytes - outside - spare) / max(
        1, device.total_bytes
    )  # a slice may not be a whole number of MiB
    most = max(0, int(free * 100)) / 100
    share = constraints.gpu_memory_utilization
    if share is not None:
        if share <= free:
            return share
        why = because(
            "busy",
            share=share,
            total_bytes=device.total_bytes,
            free_bytes=device.free_bytes,
            holders=device.holders,
            context_bytes=outside,
        )
        return Obstacle("busy", why, (change(gpu_memory_utilization=most) if most else do("as-reason-says"),))
    return min(UNIFIED_UTILIZATION if device.unified else UTILIZATION, most)


def _too_large(
    facts: ModelFacts,
    anatomy: Anatomy,
    device: Device,
    setup: Setup,
    constraints: Constraints,
    budget: int,
    length: int,
) -> Obstacle:
    """Why it does not fit, and the smallest change that would."""
    users = constraints.users or 1
    bill = memory.bill(facts, anatomy, device, setup, users, length, budget)
    step = memory.step_tokens(device)
    cache = memory.sequence_bytes(anatomy, setup, length, step) * users
    fixed = bill.weights_bytes + bill.activation_bytes + bill.overhead_bytes
    why = because(
        "gpu-memory",
        weights_bytes=bill.weights_bytes,
        working_bytes=bill.activation_bytes + bill.overhead_bytes,
        cache_bytes=cache,
        users=users,
        length=length,
        budget_bytes=budget,
        gpu=device.name,
        holders=device.holders,
    )
    room = bill.kv_bytes_per_token * bill.kv_capacity_tokens
    fits = [
        earlier
        for earlier in (*_STEPS, length)
        if earlier < length and memory.sequence_bytes(anatomy, setup, earlier, step) * users <= room
    ]
    if fits and (constraints.max_len or not least_tokens(constraints, length)):
        return Obstacle("context", why, (change(max_len=max(fits)),))
    if constraints.users and memory.sequence_bytes(anatomy, setup, length, step) <= room:
        most = room // memory.sequence_bytes(anatomy, setup, length, step)
        return Obstacle("users", why, (change(users=most * setup.shares),))
    return Obstacle("memory", why, _more(facts, anatomy, device, setup, constraints, fixed + cache, length))


def _more(
    facts: ModelFacts, anatomy: Anatomy, device: Device, setup: Setup, constraints: Constraints, need: int, length: int
) -> tuple[Remedy, ...]:
    """How many GPUs of this kind, or how large a GPU, would meet the constraints; the former is tested.

    GPUs that are here are not offered: a setup on all of them was tried, unless a smaller one was asked for.
    """
    share = constraints.gpu_memory_utilization or UTILIZATION
    most = max(profile.memory.bytes for profile in gpus().values())
    large = do("larger-gpu", size=-(-int(need / share) // GIB)) if need / share <= most else do("smaller-model")
    if device.mig or not on_gpu(setup.stack).splits.ranks:
        return (large,)
    for tp in (2, 4, 8):
        here = tp <= len(device.indices)
        if tp <= setup.gpus or setup.dp > 1 or (here and not constraints.tp):
            continue
        wide = replace(setup, tp=tp, pp=1)
        if any(uneven(facts, anatomy, device, wide)):
            continue
        users = constraints.users or 1
        idle = replace(device, free_bytes=device.total_bytes, holders=())  # would require memory that others use
        budget = int(share * device.total_bytes) + memory.outside(anatomy, wide, users)
        bill = memory.bill(facts, anatomy, idle, wide, users, length, budget)
        if budget <= device.total_bytes and bill.kv_capacity_tokens >= users * length:
            return change(tp=tp) if here else do("more-gpus", count=tp, gpu=device.name), large
    return (large,)
