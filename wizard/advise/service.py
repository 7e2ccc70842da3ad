"""What people expect of a server: the load, the pace, and how many replicas share the users. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, inf

from wizard.advise import slices
from wizard.advise.advice import Choice, Constraints, Speed
from wizard.advise.devices import Device
from wizard.advise.reasons import Note, Obstacle, Param, Reason, because, change, do
from wizard.advise.release import Resolved
from wizard.advise.setup import Setup
from wizard.advise.speed import Load
from wizard.catalog.goals import Goal, goal
from wizard.catalog.releases import version
from wizard.catalog.stacks import on_gpu
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

FELT_MS = 10.0
"""Milliseconds per token (100 tokens/s) below which more GPUs are not felt: an answer of a page takes five seconds."""
LATE = 1.3
"""Ratio to the goal's time to the first token from which on a setup is late: with several users the median error of
vLLM's estimate is 22% for a source that the fit did not see (docs/advice.md).
"""


def wanted(constraints: Constraints) -> Goal:
    """The load and pace of the goal, with the user's own values."""
    known = goal(constraints.goal)
    return replace(
        known,
        isl=constraints.isl or known.isl,
        osl=constraints.osl or known.osl,
        ttft_ms=constraints.ttft or known.ttft_ms,
        tpot_ms=constraints.tpot or known.tpot_ms,
    )


def default_users(constraints: Constraints, replicas: int = 1) -> int:
    """Concurrent users of each of ``replicas``; by default a few, or many for each one if throughput is the goal."""
    return -(-all_users(constraints, replicas) // replicas)


def all_users(constraints: Constraints, replicas: int) -> int:
    """Concurrent users of ``replicas`` together."""
    known = goal(constraints.goal)
    many = constraints.users is None and known.tpot_ms is None
    return known.users * replicas if many else constraints.users or known.users


def request_tokens(constraints: Constraints) -> int | None:
    """Tokens of a request whose prompt or answer the user gave; None if neither was."""
    if constraints.isl is None and constraints.osl is None:
        return None
    return goal_tokens(constraints)


def least_tokens(constraints: Constraints, most: int) -> int:
    """Tokens of a request that has to fit; 0 if any length will do.

    It has the user's lengths, or with a limit of the user's (``--ttft``, ``--tpot``) those of the goal, up to ``most``
    that the model was trained for: a limit that only shorter requests meet is not met.
    """
    if given := request_tokens(constraints):
        return given
    return min(most, goal_tokens(constraints)) if constraints.ttft or constraints.tpot else 0


def goal_tokens(constraints: Constraints) -> int:
    """Tokens of a request of the goal, with the user's own lengths."""
    want = wanted(constraints)
    return want.isl + want.osl


def beyond_training(most: int, tokens: int) -> Reason:
    """Why a context of ``tokens`` tokens is not possible with a model that was trained for ``most``."""
    return because("trained-context", most=most, asked=tokens)


def too_long(facts: ModelFacts, constraints: Constraints) -> Obstacle | None:
    """The obstacle if the model was not trained for such requests, or if they do not fit into the context asked for."""
    need, most, asked = request_tokens(constraints) or 0, facts.max_context, constraints.max_len
    if most and need > most:  # before the context asked for, which would have to be as long, and is refused then
        return Obstacle("trained-context", beyond_training(most, need), (do("shorter-requests"),))
    if asked and most and asked > most:
        return Obstacle("trained-context", beyond_training(most, asked), (change(max_len=most),))
    if asked and need > asked:
        return Obstacle("context", because("short-context", asked=asked, need=need), (change(max_len=need),))
    return None


def load_of(constraints: Constraints, users: int, length: int) -> Load:
    """The load of ``users``: the goal's or the user's lengths, or less if requests of ``length`` tokens are shorter."""
    want = wanted(constraints)
    isl = max(1, min(want.isl, length - want.osl if length > 2 * want.osl else length * 3 // 4))
    return Load(users, isl, max(1, min(want.osl, length - isl)))


def shortened(facts: ModelFacts, constraints: Constraints, choice: Choice) -> Note | None:
    """The warning that the figures of ``choice`` are for shorter requests than the goal stands for; None if not."""
    want, length = wanted(constraints), choice.max_seq_len
    load, need = load_of(constraints, choice.users, length), want.isl + want.osl
    full = load.isl + load.osl >= need
    fits = constraints.max_len or (facts.max_context and length >= facts.max_context)
    if full or (fits and choice.speed is None):  # without a speed, only less room than expected is worth a warning
        return None
    if constraints.max_len:
        why = because("shorter-asked", tokens=constraints.max_len)
    elif fits:
        why = because("shorter-trained", tokens=facts.max_context)
    else:
        fitting = choice.memory.kv_capacity_tokens // need * choice.shares
        why = because("shorter-memory", tokens=length, users=choice.users, fitting=fitting)
    lengths = {"isl": load.isl, "osl": load.osl, "goal_isl": want.isl, "goal_osl": want.osl}
    return Note("shorter-requests", {"goal": constraints.goal, "why": why, **lengths})


def together(speed: Speed | None, constraints: Constraints, replicas: int) -> Speed | None:
    """The speed of ``replicas`` replicas that share the users, from that of one with its share of them.

    A share is rounded up, so some replicas may have a user less: all users are those that were asked for.
    """
    if speed is None or replicas == 1 or not speed.users:
        return speed
    users = min(speed.users * replicas, all_users(constraints, replicas))
    tokens, served = speed.throughput_tokens_per_s, speed.served
    return replace(
        speed,
        throughput_tokens_per_s=tokens and tokens * users / speed.users,
        users=users,
        served=served and min(users, served * replicas),
    )


def paces(speed: Speed, constraints: Constraints) -> tuple[float | None, float | None]:
    """Milliseconds to the first token and between two tokens that count: with ``p99`` the slow ends of both, and no
    first token sooner than the last one of all users' simultaneous prompts.
    """
    if constraints.p99:
        known = [each for each in (speed.ttft_high_ms, speed.ttft_last_ms) if each is not None]
        return max(known, default=None), speed.high
    return speed.ttft_ms, speed.tpot_ms


def misses(choice: Choice, constraints: Constraints) -> bool:
    """Whether the estimate is slower than people expect; False if it is unknown."""
    want = wanted(constraints)
    if choice.speed is None or choice.speed.tpot_ms is None:
        return False
    ttft, tpot = paces(choice.speed, constraints)
    late = want.ttft_ms is not None and (ttft is None or ttft > LATE * want.ttft_ms)
    return late or (want.tpot_ms is not None and tpot is not None and tpot > want.tpot_ms)


def too_slow(speed: Speed | None, constraints: Constraints) -> Obstacle | None:
    """The obstacle if the estimate misses a limit that the user gave, or if there is no estimate for it."""
    given = "tpot" if constraints.tpot else "ttft" if constraints.ttft else None
    if given is None:
        return None
    if speed is None or speed.tpot_ms is None:
        limits = {name: None for name in ("ttft", "tpot") if getattr(constraints, name)}
        return Obstacle(given, because("limit-unproven"), (change(**limits),))
    ttft, tpot = paces(speed, constraints)
    tokens, start = ("slow-tokens-p99", "slow-start-p99") if constraints.p99 else ("slow-tokens", "slow-start")
    if constraints.tpot and tpot and tpot > constraints.tpot:
        why = because(tokens, estimate_ms=tpot, asked_ms=constraints.tpot, users=speed.users)
        return Obstacle("tpot", why, (change(tpot=_above(tpot)),))
    if constraints.ttft and ttft is None:
        why = because("waiting-users", users=speed.users, served=speed.served)
        return Obstacle("ttft", why, (change(users=speed.served),))
    if constraints.ttft and ttft and ttft > constraints.ttft:
        why = because(start, estimate_ms=ttft, asked_ms=constraints.ttft, users=speed.users, isl=speed.isl)
        return Obstacle("ttft", why, (change(ttft=_above(ttft)),))
    return None


def limit_met(name: str, choice: Choice, constraints: Constraints) -> float:
    """The value of the limit ``name``, ``ttft`` or ``tpot``, that ``choice`` meets; infinite if it is unknown."""
    known = paces(choice.speed, constraints)[name == "tpot"] if choice.speed else None
    return inf if known is None else _above(known)


def _above(ms: float) -> float:
    """The next whole number of milliseconds."""
    return float(ceil(ms))


def replicas(constraints: Constraints, device: Device, setup: Setup, release: Resolved) -> Iterator[int]:
    """The numbers of replicas to try, the fewest first, up to one for each user or group of GPUs.

    For groups of several GPUs these are powers of two, because the smallest number that people notice is preferred.
    """
    most = most_replicas(constraints, device, setup, release)
    if constraints.replicas:
        yield constraints.replicas
        return
    alone = goal(constraints.goal).tpot_ms is None
    if not alone or constraints.users:
        most = min(most, constraints.users or goal(constraints.goal).users)
    yield from [] if alone else (count for count in ((1,) if setup.gpus == 1 else (1, 2, 4, 8)) if count < most)
    yield most


def most_replicas(constraints: Constraints, device: Device, setup: Setup, release: Resolved) -> int:
    """How many replicas of ``setup`` the stack can start on these GPUs in ``release``."""
    able = on_gpu(setup.stack).splits
    old = release.runtime != "native" and version(release.engine_version) < version(able.replicas_since)
    if old or release.runtime not in able.replicas or (device.mig and not device.slices):
        return 1
    if device.slices:
        there = len(slices.of(device, setup, release))
        return max(1, there if constraints.max_gpus is None else min(constraints.max_gpus, there))
    there = len(device.indices) if constraints.max_gpus is None else min(constraints.max_gpus, len(device.indices))
    return max(1, there // setup.gpus)


def too_many(constraints: Constraints, device: Device, setup: Setup, release: Resolved) -> Obstacle | None:
    """The obstacle if more replicas are asked for than the stack can start here."""
    most = most_replicas(constraints, device, setup, release)
    if (constraints.replicas or 1) <= most:
        return None
    there, need = len(device.indices), setup.gpus * setup.replicas
    values: dict[str, Param] = {"asked": constraints.replicas, "gpus": setup.gpus, "need": need}
    if need > there and device.mig:
        why = because("few-slices", asked=constraints.replicas, there=there, gpu=device.name)
    elif need > there:
        why = because("few-for-replicas", **values, there=there, gpu=device.name, one_machine=bool(device.named))
    elif constraints.max_gpus and need > constraints.max_gpus:
        why = because("replicas-over-max-gpus", **values, most=constraints.max_gpus)
    else:
        why = because("replicas", asked=constraints.replicas, most=most, stack=setup.stack, runtime=release.runtime)
    return Obstacle("replicas", why, (change(replicas=most),))


def enough(choice: Choice, constraints: Constraints, length: int) -> bool:
    """Whether a further replica would give its users nothing: no longer conversations, and no pace that is felt."""
    if choice.max_seq_len < length or choice.max_batch_size < default_users(constraints, choice.shares):
        return False
    tpot = choice.speed.tpot_ms if choice.speed else None
    return tpot is None or (tpot <= FELT_MS and not misses(choice, constraints))


def idle(constraints: Constraints, device: Device, setup: Setup, release: Resolved) -> Note | None:
    """Why GPUs of the group stay free; None if none do, or if the user said how many to use."""
    left = len(device.indices) - setup.gpus * setup.replicas
    if not left or constraints.max_gpus or constraints.replicas:
        return None
    most = most_replicas(constraints, device, setup, release)
    if most > setup.replicas:
        why = because("idle-enough", most=most)
    elif device.mig and release.runtime in on_gpu(setup.stack).splits.replicas:
        why = because("idle-slices", stack=setup.stack, version=release.engine_version)
    elif left >= setup.gpus:
        why = because("idle-alone", stack=setup.stack, runtime=release.runtime)
    else:
        why = because("idle-rest", gpus=setup.gpus)
    return Note("idle", {"count": left, "gpus": len(device.indices), "gpu": device.name, "why": why})


def unused(host: Host, device: Device, groups: list[Device]) -> Iterator[Note]:
    """Why GPUs outside the group of a setup stay free: other kinds, busy ones, and those that NVML cannot describe."""
    for other in groups:
        if other is device:
            continue
        why = because("idle-size") if device.mig and other.mig else because("idle-kind")
        if other.name == device.name and not other.mig:
            why = because("idle-busy", holders=other.holders or device.holders)
        count = len(other.indices)
        yield Note("idle", {"count": count, "gpus": count, "gpu": other.name, "why": why})
    known = {index for group in groups for index in group.indices}
    for gpu in host.gpus:
        if gpu.index not in known:
            why = because("idle-no-slice") if gpu.mig_enabled else because("idle-unknown")
            yield Note("idle", {"count": 1, "gpus": 1, "gpu": gpu.name, "why": why})
