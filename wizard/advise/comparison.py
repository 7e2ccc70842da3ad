"""The limit of a choice, and why it comes after the first. Pure."""

from __future__ import annotations

from collections.abc import Callable

from wizard.advise.advice import Choice
from wizard.advise.fit import LONGEST
from wizard.advise.offload import IDLE_GPU
from wizard.advise.reasons import Note, Param, Reason, because, load
from wizard.advise.release import UNTRIED_CODE
from wizard.advise.speed import UNMEASURED
from wizard.catalog.speed import fit
from wizard.catalog.stacks import facts as facts_of
from wizard.model.facts import ModelFacts

LIMIT, BEHIND = "limit", "behind"
"""Codes of the reasons for a choice's limit, and for not being the first."""
ROUGHLY = 0.6
"""Relative error of a speed model above which its figures do not decide between stacks."""
BOUNDS = ("memory", "compute", "launch", "interconnect")
"""Values of `Speed.bound` that are limits."""


def untested(choice: Choice) -> bool:
    """Whether the engine of ``choice`` never ran on a GPU with the wizard."""
    return any(note.code == UNTRIED_CODE for note in choice.warnings)


def idle_gpu(choice: Choice) -> bool:
    """Whether ``choice`` computes on the CPU although a GPU could help."""
    return any(note.code == IDLE_GPU for note in choice.warnings)


def on_host(choice: Choice) -> int:
    """Layers that the CPU computes, or whose experts it does, although others are on a GPU."""
    split = choice.offload
    return split.layers - split.gpu_layers + split.expert_layers if split else 0


def uncertain(choice: Choice) -> bool:
    """Whether the speed of ``choice`` is unknown because there is no speed model for its stack, or the model is off by
    more than `ROUGHLY` even for servers like the measured ones.
    """
    known = fit(facts_of(choice.stack).speed)
    if known is not None and known.like > ROUGHLY:
        return True
    whys = (note.params["why"] for note in choice.warnings if note.code == "speed")
    return any(isinstance(why, Reason) and why.code == UNMEASURED for why in whys)


def doubtful(choice: Choice) -> bool:
    """Whether its engine never ran on a GPU with the wizard, or its speed is unknown."""
    return untested(choice) or uncertain(choice) or facts_of(choice.stack).never_ran


def limit(choice: Choice, facts: ModelFacts) -> Note:
    """The binding constraint of ``choice``."""
    memory, users = choice.memory, choice.max_batch_size  # of one replica
    tokens = memory.kv_capacity_tokens
    bills = [share.memory for share in choice.offload.shares] if choice.offload else []
    bills = bills or [memory]
    if choice.offload and not choice.offload.whole:
        return Note(LIMIT, {"why": because("limit-offload", total_bytes=sum(bill.budget_bytes for bill in bills))})
    if not choice.devices or choice.offload:  # such a cache is as large as requested, and could use the rest
        left = ((bill.budget_bytes - bill.total_bytes) // max(1, bill.kv_bytes_per_token) for bill in bills)
        tokens += max(0, min(left))
    each = tokens // users
    if each < min(facts.max_context or LONGEST, LONGEST):
        weights = sum(bill.weights_bytes for bill in bills)
        room = because("limit-room", weights_bytes=weights, tokens=tokens, each=each, users=users)
        return Note(LIMIT, {"why": room})
    bound = choice.speed.bound if choice.speed else None
    if bound in BOUNDS:
        return Note(LIMIT, {"why": because(f"limit-{bound}")})
    if facts.max_context and choice.max_seq_len >= facts.max_context:
        return Note(LIMIT, {"why": because("limit-model", tokens=facts.max_context)})
    return Note(LIMIT, {"why": because("no-limit", each=each, users=users)})


def behind(goal: str, criterion: str | None, choice: Choice, first: Choice) -> Note:
    """Why ``choice`` comes after ``first``; ``criterion`` (see `wizard.advise.ranking`) decided for ``goal``."""
    if first.speculative and criterion in ("pace", "speed", "tokens"):
        criterion = "plain"
    compare = WHY.get(criterion or "")
    why = compare(choice, first) if compare else because("equal")
    return Note(BEHIND, {"goal": goal, "why": why, "though": _advantage(criterion, choice, first)})


def _unmeasured(choice: Choice, first: Choice) -> Reason:
    if untested(choice) and not untested(first):
        return because("not-tested")
    return because("pace-rough") if choice.speed else because("pace-unknown")


def _precision(choice: Choice, first: Choice) -> Reason:
    mine, theirs = _stored(choice), _stored(first)
    stored = {"format": first.quantization, "dtype": first.dtype}
    if mine < theirs:
        return because("less-precise", **stored)
    return because("larger", mine_bytes=mine, theirs_bytes=theirs, **stored)


def _slower(choice: Choice, first: Choice) -> Reason:
    return because("slower", **_paces(choice, first))


def _fewer_tokens(choice: Choice, first: Choice) -> Reason:
    if facts_of(choice.stack).never_ran and _throughput(choice) >= _throughput(first):
        return because("not-tested")
    return because("fewer-tokens", mine=_tokens(choice), theirs=_tokens(first))


def _more_bytes(choice: Choice, first: Choice) -> Reason:
    mine, theirs = _stored(choice), _stored(first)
    if facts_of(choice.stack).never_ran and mine <= theirs:
        return because("not-tested")
    return because("more-bytes", mine_bytes=mine, theirs_bytes=theirs)


WHY: dict[str, Callable[[Choice, Choice], Reason]] = {
    "idle": lambda *_: because("gpu-idle"),
    "offload": lambda *_: because("more-on-host"),
    "measured": _unmeasured,
    "room": lambda choice, _: because("less-room", users=choice.users, tokens=choice.max_seq_len),
    "pace": _slower,
    "speed": _slower,
    "plain": lambda *_: because("slower-plain"),
    "simplicity": lambda _, first: because("less-simple", stack=first.stack),
    "precision": _precision,
    "download": lambda choice, _: because("quantized-while-loading", stack=choice.stack),
    "gpus": lambda choice, first: because("more-gpus", mine=_used(choice, first), theirs=_used(first, first)),
    "replicas": lambda choice, first: because("replica-count", mine=choice.replicas, theirs=first.replicas),
    "links": lambda _choice, _first: because("over-pcie"),
    "tokens": _fewer_tokens,
    "size": _more_bytes,
}
"""Why a choice comes after the first, by criterion."""


def _advantage(criterion: str | None, choice: Choice, first: Choice) -> Reason | None:
    """The advantage that ``choice`` still has over ``first``; None if it has none."""
    if criterion == "idle":
        return None
    mine, theirs = _tpot(choice), _tpot(first)
    if criterion not in ("pace", "speed") and mine and theirs and mine * 1.05 < theirs:
        return because("faster", **_paces(choice, first))
    if criterion != "gpus" and len(choice.devices) < len(first.devices):
        return because("fewer-gpus", count=len(choice.devices))
    if criterion != "room" and choice.max_seq_len > first.max_seq_len:
        return because("more-room", tokens=choice.max_seq_len)
    return None


def _used(choice: Choice, first: Choice) -> int:
    """GPUs of a replica if ``first`` has replicas on a GPU each, else of all replicas."""
    return choice.gpus if first.gpus == 1 else choice.gpus * choice.replicas


def _stored(choice: Choice) -> int:
    """Bytes of weights on all GPUs of one replica, and on the host."""
    if choice.offload is None:
        return choice.memory.weights_bytes * choice.gpus
    on_gpus = [share.memory for share in choice.offload.shares] or [choice.memory]
    return sum(bill.weights_bytes for bill in (*on_gpus, choice.offload.host))


def _tpot(choice: Choice) -> float | None:
    return choice.speed.tpot_ms if choice.speed else None


def _load(choice: Choice) -> Reason | None:
    return load(choice.speed.users, choice.speed.isl, choice.speed.osl) if choice.speed else None


def _paces(choice: Choice, first: Choice) -> dict[str, Param]:
    """Both paces, each with its load."""
    return {
        "mine_ms": _tpot(choice),
        "theirs_ms": _tpot(first),
        "mine_load": _load(choice),
        "theirs_load": _load(first),
    }


def _throughput(choice: Choice) -> float:
    return choice.speed.throughput_tokens_per_s or 0.0 if choice.speed else 0.0


def _tokens(choice: Choice) -> Reason:
    known = choice.speed.throughput_tokens_per_s if choice.speed else None
    return because("tokens", per_s=known, copies=choice.replicas, load=_load(choice))
