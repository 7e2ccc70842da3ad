"""From a machine, a model and constraints to ranked choices. Pure: the same values give the same advice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, log
from typing import Any

from wizard.advise import engines, gpu, nearest, not_chat, offload, rules, service, speculation, untried
from wizard.advise.advice import Advice, Choice, Constraints, Rejection
from wizard.advise.calibration import NOTHING, Calibration, damaged
from wizard.advise.comparison import behind, idle_gpu, limit, on_host, uncertain, untested
from wizard.advise.fit import FEW, LONGEST
from wizard.advise.reasons import OPTIONS, Obstacle, Refused, Remedy, Setting, because, change, do, without
from wizard.catalog import gguf_types, stacks
from wizard.catalog.goals import DEFAULT_USERS
from wizard.kernel.errors import InfeasibleError
from wizard.model import gguf_files
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

CRAMPED = 2048
"""Tokens of prompt and answer below which a chat soon drops messages."""
NOTICED = 1.25
"""Ratio of two paces from which on they differ: more than the range of a good estimate (profiles/speed.toml)."""
HEAVY = 2_000_000_000
"""Parameters of a token from which on it counts how many bits they have: at 8 bits a memory that reads 31 GB/s (the one
of ``[cpu.speed]``) takes 65 ms, and half as long at 4.
"""
LARGE = 20_000_000_000
"""Parameters from which on 8 and 4 bits are worth another checkpoint: they halve the bottleneck at little cost."""
LOAD = ("users", "ttft", "tpot")
"""Codes of rejections of setups that hold the model, but not the load."""
PRECISION = {
    **{"none": 0, "fp8": 1, "fp8_block": 1, "int8_sq": 2, "int8_wo": 2, "nvfp4": 3, "mxfp4": 3, "w4a8_awq": 4},
    **{"gguf_q8_0": 2, "gguf_q6_k": 3, "gguf_q5_k_m": 4},
}
"""How much of the model's quality a format keeps, best first; other 4-bit formats come last."""


Key = Callable[[Choice], tuple[Any, ...]]


def advise(host: Host, facts: ModelFacts, constraints: Constraints, past: Calibration = NOTHING) -> Advice:
    """Recommend how to serve ``facts`` on ``host``, best first, with reasons for all rejections.

    Explicit constraints are never changed: if they cannot be met, the first rejection's remedy is the single constraint
    whose change would make it possible. Measurements here (``past``) do not apply to another machine.
    """
    if not host.is_here:
        past = NOTHING
    choices, rejections = candidates(host, facts, constraints, past)
    rejections = _fitting(host, facts, constraints, rejections, past)
    if not choices:
        if constraints.stack is None:
            rejections = _without_refused(rejections)
        nearest_setup = _with_nearest(host, facts, constraints, rejections, past)
        if not constraints.restricts:  # otherwise an option may be the cause
            nearest_setup = nearest.with_models(host, facts, nearest_setup)
        return Advice(False, rejections=tuple(_with_file(host, facts, constraints, nearest_setup, past)))
    key = _plain_key(host, facts, constraints, past)
    notes = {stack: engines.notes(stack, facts) for stack in {choice.stack for choice in choices}}
    ranked = [
        replace(choice, warnings=(*choice.warnings, *notes[choice.stack], *damaged(past)))
        for choice in sorted(choices, key=key)
    ]
    return Advice(True, tuple(_explained(ranked, facts, constraints, key)), tuple(_helped(rejections, ranked)))


def recommended(advice: Advice) -> Choice:
    """The first choice.

    Raises:
        Refused: TW-A01 if there is none, with the first rejection's reason and remedies.
    """
    if not advice.feasible:
        if not advice.rejections:
            raise Refused("TW-A01", InfeasibleError, Obstacle("none", because("no-setup"), (do("relax"),)))
        why = advice.rejections[0]
        raise Refused("TW-A01", InfeasibleError, Obstacle(why.code, why.reason, why.remedies))
    return advice.choices[0]


def candidates(
    host: Host, facts: ModelFacts, constraints: Constraints, past: Calibration
) -> tuple[list[Choice], list[Rejection]]:
    """All choices with every stack, unranked, and why others were rejected.

    If there are none, those that put layers of a known GGUF file of the model on GPUs that cannot hold it in its own
    format, not even for fewer users.
    """
    choices, rejections = _of_named(host, facts, constraints, past)
    if choices or (host.gpus and any(rejection.code in LOAD for rejection in rejections)):
        return choices, rejections
    choices, refused = _as_file(host, facts, constraints, past)
    if _of_file(constraints):
        return choices, [*refused, *rejections]
    return choices, [*rejections, *refused]


def _of_file(constraints: Constraints) -> bool:
    """Whether a format of GGUF files is required."""
    return constraints.quantization in {gguf_types.format_of(each) for each in gguf_types.bits()}


def _many(constraints: Constraints) -> bool:
    """Whether so many users were asked for that none of them should wait for the CPU."""
    return (constraints.users or 0) > DEFAULT_USERS


def _of_named(
    host: Host, facts: ModelFacts, constraints: Constraints, past: Calibration
) -> tuple[list[Choice], list[Rejection]]:
    """`candidates` with the model as it was named, or with the stack that was asked for."""
    if constraints.stack and constraints.stack not in stacks.names():
        why, split = because("no-stack", stack=constraints.stack), (constraints.tp or 1, constraints.pp or 1)
        remedies = (do("choose", names=tuple(stacks.names())),)
        return [], [Rejection(constraints.stack, constraints.quantization, *split, "stack", why, remedies)]
    if other := not_chat.obstacle(facts):
        names = [constraints.stack] if constraints.stack else stacks.names()
        stored, tp, pp = constraints.quantization or "none", constraints.tp or 1, constraints.pp or 1
        return [], [Rejection(name, stored, tp, pp, other.code, other.reason, other.remedies) for name in names]
    choices, rejections = offload.candidates(host, facts, constraints, past)
    of_gguf = any(file.format == "gguf" for file in facts.weights)
    of_gguf = of_gguf or bool(choices)  # a GGUF version of it
    if constraints.stack in stacks.cpu_stacks() or (constraints.stack is None and of_gguf and not host.gpus):
        return untried.with_notes(host, choices), rejections
    more, others = gpu.candidates(host, facts, constraints, past)
    gguf = [rejection for rejection in rejections if rejection.code == "format"]
    if gguf:  # other obstacles to serving this file with llama.cpp are irrelevant; with a GPU all of them count
        rejections = gguf if not host.gpus else []
    first_file = of_gguf or not host.gpus
    return untried.with_notes(host, [*choices, *more]), [*rejections, *others] if first_file else [*others, *rejections]


def _as_file(
    host: Host, facts: ModelFacts, constraints: Constraints, past: Calibration
) -> tuple[list[Choice], list[Rejection]]:
    """The choices that put layers of a known GGUF file of the model on GPUs that cannot hold it in its own format, or
    the rejections of its files: one of each kind, the files of other formats than the one asked for last.
    """
    if constraints.stack is not None or constraints.as_published or not host.gpus:
        return [], []
    made = [_of_named(host, facts, replace(constraints, stack=stack), past) for stack in stacks.cpu_stacks()]
    partly = _of_file(constraints) or not _many(constraints)
    on_gpus = [(choice, choice.offload) for several, _ in made for choice in several if choice.offload]
    if choices := [choice for choice, split in on_gpus if split.whole or partly]:
        return choices, []
    if not gguf_files.choices(facts) or any(several for several, _ in made):
        return [], []
    refused = sorted((each for _, several in made for each in several), key=lambda each: each.code == "quantization")
    return [], [*{(each.stack, each.code): each for each in reversed(refused)}.values()][::-1]


def _fitting(
    host: Host, facts: ModelFacts, constraints: Constraints, rejections: list[Rejection], past: Calibration
) -> list[Rejection]:
    """``rejections`` without remedies that name a format in which the model is too large or not known, if they have
    others.
    """

    def futile(name: str) -> bool:
        choices, refused = candidates(host, facts, replace(constraints, quantization=name), past)
        return not choices and any(each.code in ("memory", "checkpoint") for each in refused)

    named = {
        str(remedy.changes["quantization"] or "")
        for rejection in rejections
        for remedy in rejection.remedies
        if remedy.changes.keys() == {"quantization"}
    }
    barred = [{"quantization": name} for name in named if name and futile(name)]
    return [
        replace(
            each, remedies=tuple(remedy for remedy in each.remedies if remedy.changes not in barred) or each.remedies
        )
        for each in rejections
    ]


def _with_file(
    host: Host, facts: ModelFacts, constraints: Constraints, rejections: list[Rejection], past: Calibration
) -> list[Rejection]:
    """``rejections``; if no GPU is of use, the first also names the stack that serves a known GGUF file of the model.

    It is behind a remedy that keeps the model on GPUs, unless a format of GGUF files is required.
    """
    if not (rejections and host.gpus and constraints.stack is None) or constraints.as_published or _many(constraints):
        return rejections
    first, *others = rejections
    for stack in stacks.cpu_stacks():
        if candidates(host, facts, replace(constraints, stack=stack), past)[0]:
            kept = () if first.reason.code == "gguf-format" else tuple(each for each in first.remedies if each.changes)
            rest = (each for each in first.remedies if each not in kept)
            return [replace(first, remedies=(*kept, change(stack=stack), *rest)), *others]
    return rejections


def _explained(ranked: list[Choice], facts: ModelFacts, constraints: Constraints, key: Key) -> list[Choice]:
    """Every choice with its limit, and all but the first with the reason for being behind it."""
    names, first = CRITERIA[constraints.goal], ranked[0]
    best = key(first)

    def explained(choice: Choice) -> Choice:
        notes = [limit(choice, facts)]
        if choice is not first:
            pairs = zip(names, best, key(choice), strict=True)
            criterion = next((name for name, mine, theirs in pairs if mine != theirs), None)
            notes.append(behind(constraints.goal, criterion, choice, first))
        return replace(choice, reasons=(*notes, *choice.reasons))

    return [explained(choice) for choice in ranked]


READING = (
    *("idle", "measured", "offload", "room", "links", "pace", "pace", "simplicity", "precision"),
    *("room", "links", "pace", "gpus", "replicas", "speed"),
)
CRITERIA = {
    **dict.fromkeys(("chat", "documents", "code"), READING),
    "throughput": ("idle", "measured", "offload", "room", "links", "tokens", "simplicity", "gpus"),
    "quality": (
        *("idle", "measured", "offload", "room", "precision", "links", "pace", "simplicity"),
        *("room", "links", "pace", "gpus", "replicas", "speed"),
    ),
    "smallest": ("idle", "measured", "offload", "gpus", "links", "size", "simplicity", "speed"),
}
"""The criteria that `_key` compares, by goal."""


def _plain_key(host: Host, facts: ModelFacts, constraints: Constraints, past: Calibration) -> Key:
    """`_key`, which takes the speed without speculative decoding where that with it is unknown."""
    key = _key(facts, constraints)
    if not speculation.method(constraints):
        return key
    plain, _ = candidates(host, facts, replace(constraints, speculative=None, draft=None), past)
    speeds = {_shape(choice): choice.speed for choice in plain}
    return lambda choice: key(replace(choice, speed=choice.speed or speeds.get(_shape(choice))))


def _shape(choice: Choice) -> tuple[object, ...]:
    split = (choice.tp, choice.pp, choice.replicas, choice.expert_parallel)
    return (choice.stack, choice.runtime, choice.quantization, choice.kv_cache_dtype, *split)


def _key(facts: ModelFacts, constraints: Constraints) -> Key:
    """The sort key, the most important criterion first; less is better."""
    large = (facts.parameters or 0) >= LARGE

    tpot = _tpot
    want = service.wanted(constraints)
    most = min(facts.max_context or LONGEST, constraints.max_len or LONGEST)

    def cramped(choice: Choice) -> int:
        """Doublings of the context that are missing; at least 1 if it is short, or if there are too few users."""
        tokens = constraints.max_len or min(max(CRAMPED, want.isl + want.osl), facts.max_context or CRAMPED)
        if choice.max_seq_len < tokens:
            return max(1, tokens.bit_length() - choice.max_seq_len.bit_length())
        return int(choice.users < (constraints.users or FEW))

    def room(choice: Choice) -> int:
        return -(min(choice.max_seq_len, most).bit_length())

    def last(choice: Choice) -> tuple[Any, ...]:
        return (room(choice), gpu.waits(choice), _pace(choice), *_used(choice), tpot(choice))

    def chat(choice: Choice) -> tuple[Any, ...]:
        slow = service.misses(choice, constraints)
        fewest = _read_slowly(facts, choice) or (large and _native(choice))
        format_rank = -quality(choice) if fewest else quality(choice)
        need = (cramped(choice), gpu.wide(choice), slow, _pace(choice) if slow else 0, _steps(choice), format_rank)
        return (*need, *last(choice))

    def throughput(choice: Choice) -> tuple[Any, ...]:
        tokens = choice.speed.throughput_tokens_per_s or 0 if choice.speed else 0
        return (cramped(choice), gpu.wide(choice), -round(tokens), _steps(choice), _gpus(choice))

    def best(choice: Choice) -> tuple[Any, ...]:
        slow = service.misses(choice, constraints)
        return (cramped(choice), quality(choice), gpu.wide(choice), slow, _steps(choice), *last(choice))

    def smallest(choice: Choice) -> tuple[Any, ...]:
        used = choice.memory.weights_bytes * choice.tp * choice.pp
        return (_gpus(choice), gpu.wide(choice), used, _steps(choice), tpot(choice))

    by_goal = {"throughput": throughput, "quality": best, "smallest": smallest}.get(constraints.goal, chat)
    precise = constraints.goal == "quality"
    return lambda choice: (
        *(idle_gpu(choice), (untested(choice), uncertain(choice)), 0 if precise else on_host(choice)),
        *by_goal(choice),
    )


def quality(choice: Choice) -> int:
    """How much of the model's quality its format loses: less is better."""
    return PRECISION.get(choice.quantization or "none", 5)


def _tpot(choice: Choice) -> float:
    return choice.speed.tpot_ms if choice.speed and choice.speed.tpot_ms else 1000.0


def _pace(choice: Choice) -> int:
    """Steps of `NOTICED` that it is slower than what is felt: no finer than the estimate."""
    return int(log(max(1.0, _tpot(choice) / service.FELT_MS), NOTICED))


def _used(choice: Choice) -> tuple[int, int]:
    """Replicas on a GPU each use those that would be idle; wider ones do not pool their caches: few GPUs then."""
    return (1, -choice.replicas) if choice.gpus == 1 else (_gpus(choice), choice.replicas)


def _gpus(choice: Choice) -> int:
    return choice.gpus * choice.replicas


def _steps(choice: Choice) -> int:
    return stacks.facts(choice.stack).simplicity.steps


def _read_slowly(facts: ModelFacts, choice: Choice) -> bool:
    """Whether the CPU's pace is unknown, and reading the weights takes so long that fewer bits count more."""
    used = facts.anatomy.active if facts.anatomy else facts.parameters or 0
    return not choice.devices and choice.speed is None and used >= HEAVY


def _native(choice: Choice) -> bool:
    """Whether the tensor cores multiply the format itself, so that it is faster and not only smaller."""
    unpacked = any(note.code == rules.WEIGHT_ONLY for note in choice.warnings)
    return choice.quantization in ("fp8", "fp8_block", "nvfp4", "mxfp4", "int8_sq") and not unpacked


def _helped(rejections: list[Rejection], ranked: list[Choice]) -> list[Rejection]:
    """Make a similar setup that works the first remedy: a wider split, another format, another stack."""

    def near(rejection: Rejection) -> Choice | None:
        same = [each for each in ranked if each.stack == rejection.stack]
        alike = [each for each in same if each.quantization == rejection.quantization]
        return next(iter(alike or same or ranked), None)

    def helped(rejection: Rejection) -> Rejection:
        other = near(rejection)
        if other is None or rejection.code not in ("memory", "format", "model", "image", "capability", "architecture"):
            return rejection
        made: dict[str, Setting] = {} if other.stack == rejection.stack else {"stack": other.stack}
        made |= {} if other.quantization == rejection.quantization else {"quantization": other.quantization}
        made |= {} if (other.tp, other.pp) == (rejection.tp, rejection.pp) else {"tp": other.tp}
        made |= {} if other.pp == rejection.pp else {"pp": other.pp}
        if not made:
            return rejection
        # A change that it already contains (a wider split here, another stack) is not offered again.
        others = (each for each in rejection.remedies if not _within(each, made, other.tp))
        return replace(rejection, remedies=(Remedy(OPTIONS, made), *others))

    return [helped(rejection) for rejection in rejections]


def _without_refused(rejections: list[Rejection]) -> list[Rejection]:
    """``rejections``, no stack of which can serve, without the remedies that name one of them."""
    refused = [change(stack=name) for name in {rejection.stack for rejection in rejections}]

    def possible(rejection: Rejection) -> Rejection:
        others = tuple(each for each in rejection.remedies if each not in refused)
        return replace(rejection, remedies=others or (do("another-stack"),))

    return [possible(rejection) for rejection in rejections]


def _within(remedy: Remedy, made: dict[str, Setting], tp: int) -> bool:
    """Whether ``remedy`` is a subset of the changes ``made``, or as many GPUs."""
    if remedy.code == OPTIONS:
        return remedy.changes.items() <= made.items()
    return remedy.code == "more-gpus" and remedy.params["count"] == tp


RELAX_ORDER = (
    *("release", "runtime", "engine_python", "max_len", "isl", "osl", "p99", "ttft", "tpot", "users", "replicas"),
    *("draft", "speculative", "expert_parallel", "tp", "pp", "quantization", "kv_dtype"),
    *("gpu_memory_utilization", "max_gpus", "as_published", "stack"),
)
"""Constraints in the order of what costs the user least to give up."""


CAUSES = {
    "max_len": ("context", "trained-context", "memory"),
    "users": ("users", "memory", "context", "ttft", "tpot"),
    "isl": ("context", "trained-context", "memory", "ttft"),
    "osl": ("context", "trained-context", "memory"),
    "p99": ("ttft", "tpot"),
    "ttft": ("ttft",),
    "tpot": ("tpot",),
    "replicas": ("replicas",),
    "expert_parallel": ("experts",),
    "speculative": ("speculative",),
    "draft": ("draft",),
    "tp": ("gpus", "max-gpus", "split", "group", "mig", "tp", "memory"),
    "pp": ("gpus", "max-gpus", "split", "mig", "pp"),
    "quantization": ("checkpoint", "quantization", "format", "model", "dtype", "memory", "image"),
    "kv_dtype": ("kv-dtype",),
    "gpu_memory_utilization": ("busy", "memory", "context", "users"),
    "max_gpus": ("max-gpus", "gpus", "memory"),
    "release": (
        "release",
        "engine",
        "runtime",
        "own-runtime",
        "driver",
        "image",
        "architecture",
        "format",
        "containers",
    ),
    "runtime": ("runtime", "own-runtime", "mig"),
    "engine_python": ("own-missing", "own-old", "own-cuda", "own-gpu", "own-stack", "architecture"),
    "stack": (
        *("capability", "format", "model", "image", "no-gpu", "gguf", "driver", "memory", "split", "mig"),
        *("architecture", "containers", "release", "runtime", "own-missing", "own-old", "own-stack"),
    ),
    "as_published": ("memory", "format", "quantization", "capability"),
}
"""Constraint → codes of rejections that are resolved by giving it up."""


def _with_nearest(
    host: Host, facts: ModelFacts, constraints: Constraints, rejections: list[Rejection], past: Calibration
) -> list[Rejection]:
    """With explicit constraints: put first the single constraint to give up, and the value it would need."""
    nothing = Constraints()
    for name in RELAX_ORDER:
        if getattr(constraints, name) == getattr(nothing, name):
            continue
        if name in ("ttft", "tpot") and not any(rejection.code == name for rejection in rejections):
            continue  # it is not the limit that is missed: without it, shorter requests would be served
        given_up = {name: getattr(nothing, name)}
        if name == "speculative":
            given_up["draft"] = None  # it has no other use
        others = replace(constraints, **given_up)
        choices, _ = candidates(host, facts, others, past)
        if choices:
            setup = _like(name, constraints, others, facts, choices)
            remedy = _instead(name, constraints, setup, rejections)
            cause = _cause(name, remedy, setup, rejections)
            if cause is not None and name == "release":  # it knows which value would work
                return [cause, *(rejection for rejection in rejections if rejection is not cause)]
            if cause is not None:
                return _tested(remedy, cause, rejections)
            shape = (setup.stack, setup.quantization or "none", setup.tp, setup.pp)
            return [Rejection(*shape, "constraints", because("not-at-once", option=name), (remedy,)), *rejections]
    return rejections


def _tested(remedy: Remedy, cause: Rejection, rejections: list[Rejection]) -> list[Rejection]:
    """``rejections``, ``cause`` first; it and those like it name ``remedy`` before their own for other options."""

    covered = do("another-stack") if "stack" in remedy.changes else remedy

    def helped(rejection: Rejection) -> Rejection:
        if (rejection.reason, rejection.remedies) != (cause.reason, cause.remedies):
            return rejection
        own = (each for each in rejection.remedies if not each.changes.keys() & remedy.changes.keys())
        others = (each for each in own if each != covered)
        return replace(rejection, remedies=(remedy, *others))

    return [helped(each) for each in (cause, *(rejection for rejection in rejections if rejection is not cause))]


def _cause(name: str, remedy: Remedy, setup: Choice, rejections: list[Rejection]) -> Rejection | None:
    """The rejection that giving up ``name`` resolves: that of ``setup``, whose value ``remedy`` has, if it has one."""
    causes = [rejection for rejection in rejections if rejection.code in CAUSES[name]]

    def distance(rejection: Rejection) -> tuple[bool, bool, bool]:
        other = rejection.stack != setup.stack
        return remedy not in rejection.remedies, other, other or rejection.quantization != setup.quantization

    return min(causes, key=distance, default=None)


def _like(name: str, constraints: Constraints, others: Constraints, facts: ModelFacts, choices: list[Choice]) -> Choice:
    """The setup, possible without the constraint ``name``, that is nearest to the requested value."""
    key = _key(facts, others)
    if name in ("tp", "pp", "replicas"):
        value: int = getattr(constraints, name)
        return min(choices, key=lambda choice: (abs(getattr(choice, name) - value), key(choice)))
    if name == "max_gpus":
        return min(choices, key=lambda choice: (_gpus(choice), key(choice)))
    if name in ("ttft", "tpot"):
        return min(choices, key=lambda choice: (service.limit_met(name, choice, constraints), key(choice)))
    return min(choices, key=key)


def _instead(name: str, constraints: Constraints, setup: Choice, rejections: list[Rejection]) -> Remedy:
    """The value of the constraint ``name`` that ``setup`` has."""
    # A stack that serves from host memory has one process, and one type of KV cache.
    fixed = name in ("kv_dtype", "tp", "pp", "replicas") and setup.stack in stacks.cpu_stacks()
    if name in ("max_len", "users", "replicas") and not fixed:
        own = setup.max_seq_len if name == "max_len" else getattr(setup, name)
        # The requested value may be far beyond what is offered by default: the rejections contain the maximum.
        return change(**{name: max([own, *_alone(name, rejections)])})
    if name == "release":
        return without(name) if setup.runtime == "native" else change(release=setup.release.partition("-")[0])
    if fixed or name in ("engine_python", "isl", "osl", "p99", "expert_parallel", "speculative", "draft"):
        return without(name, *(("draft",) if name == "speculative" and constraints.draft else ()))
    if name in ("ttft", "tpot"):
        met = service.limit_met(name, setup, constraints)
        return without(name) if met == inf else change(**{name: max(1.0, met)})
    if name == "as_published":
        return change(quantization=setup.quantization, as_published=False)
    values: dict[str, Setting] = {"max_gpus": _gpus(setup), "kv_dtype": setup.kv_cache_dtype}
    return change(**{name: values.get(name) or getattr(setup, name)})


def _alone(name: str, rejections: list[Rejection]) -> list[int]:
    """Values of the number ``name`` that are a rejection's complete remedy."""
    alone = [rejection.remedies[0].changes for rejection in rejections if len(rejection.remedies) == 1]
    return [value for changes in alone if changes.keys() == {name} and isinstance(value := changes[name], int)]
