"""The remedies of rejections: those that work when they are applied, the nearest first. Pure."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from wizard.advise import service
from wizard.advise.advice import Choice, Constraints, Rejection
from wizard.advise.calibration import Calibration
from wizard.advise.candidates import candidates, many
from wizard.advise.criteria import gpus, key_of
from wizard.advise.reasons import OPTIONS, Remedy, Setting, because, change, do, without
from wizard.catalog import stacks
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

RELAX_ORDER = (
    *("release", "runtime", "engine_python", "max_len", "isl", "osl", "p99", "ttft", "tpot", "users", "replicas"),
    *("draft", "speculative", "dp", "expert_parallel", "tp", "pp", "quantization", "kv_dtype"),
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
    "dp": ("data-parallel", "gpus", "max-gpus", "memory"),
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

ABSENT = ("memory", "checkpoint")
"""Codes of rejections of a format in which the model is too large or not known."""


def without_futile(
    host: Host,
    facts: ModelFacts,
    constraints: Constraints,
    choices: list[Choice],
    rejections: list[Rejection],
    past: Calibration,
) -> list[Rejection]:
    """``rejections`` without remedies that name a format in which the model is too large or not known, if they have
    others. ``choices`` are those made with them: only a format that neither tells about is tried.
    """

    def futile(name: str) -> bool:
        if any(choice.quantization == name for choice in choices):
            return False
        if any(each.quantization == name and each.code in ABSENT for each in rejections):
            return True
        others, refused = candidates(host, facts, replace(constraints, quantization=name), past)
        return not others and any(each.code in ABSENT for each in refused)

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


def with_file(
    host: Host, facts: ModelFacts, constraints: Constraints, rejections: list[Rejection], past: Calibration
) -> list[Rejection]:
    """``rejections``; if no GPU is of use, the first also names the stack that serves a known GGUF file of the model.

    It is behind a remedy that keeps the model on GPUs, unless a format of GGUF files is required.
    """
    if not (rejections and host.gpus and constraints.stack is None) or constraints.as_published or many(constraints):
        return rejections
    first, *others = rejections
    for stack in stacks.cpu_stacks():
        if candidates(host, facts, replace(constraints, stack=stack), past)[0]:
            kept = () if first.reason.code == "gguf-format" else tuple(each for each in first.remedies if each.changes)
            rest = (each for each in first.remedies if each not in kept)
            return [replace(first, remedies=(*kept, change(stack=stack), *rest)), *others]
    return rejections


def with_similar(rejections: list[Rejection], ranked: list[Choice], constraints: Constraints) -> list[Rejection]:
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
        made |= {} if other.dp in (1, constraints.dp) else {"dp": other.dp}
        if not made:
            return rejection
        # A change that it already contains (a wider split here, another stack) is not offered again.
        others = (each for each in rejection.remedies if not _within(each, made, other.tp))
        return replace(rejection, remedies=(Remedy(OPTIONS, made), *others))

    return [helped(rejection) for rejection in rejections]


def without_refused(rejections: list[Rejection]) -> list[Rejection]:
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


def with_nearest(
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
    key = key_of(facts, others)
    if name in ("tp", "pp", "dp", "replicas"):
        value: int = getattr(constraints, name)
        return min(choices, key=lambda choice: (abs(getattr(choice, name) - value), key(choice)))
    if name == "max_gpus":
        return min(choices, key=lambda choice: (gpus(choice), key(choice)))
    if name in ("ttft", "tpot"):
        return min(choices, key=lambda choice: (service.limit_met(name, choice, constraints), key(choice)))
    return min(choices, key=key)


def _instead(name: str, constraints: Constraints, setup: Choice, rejections: list[Rejection]) -> Remedy:
    """The value of the constraint ``name`` that ``setup`` has."""
    # A stack that serves from host memory has one process, and one type of KV cache.
    fixed = name in ("kv_dtype", "tp", "pp", "dp", "replicas") and setup.stack in stacks.cpu_stacks()
    if name in ("max_len", "users", "replicas") and not fixed:
        own = setup.max_seq_len if name == "max_len" else getattr(setup, name)
        # The requested value may be far beyond what is offered by default: the rejections contain the maximum.
        return change(**{name: max([own, *_alone(name, rejections)])})
    if name == "release":
        return without(name) if setup.runtime == "native" else change(release=setup.release.partition("-")[0])
    single = name == "dp" and setup.dp == 1
    if fixed or single or name in ("engine_python", "isl", "osl", "p99", "expert_parallel", "speculative", "draft"):
        return without(name, *(("draft",) if name == "speculative" and constraints.draft else ()))
    if name in ("ttft", "tpot"):
        met = service.limit_met(name, setup, constraints)
        return without(name) if met == inf else change(**{name: max(1.0, met)})
    if name == "as_published":
        return change(quantization=setup.quantization, as_published=False)
    values: dict[str, Setting] = {"max_gpus": gpus(setup), "kv_dtype": setup.kv_cache_dtype}
    return change(**{name: values.get(name) or getattr(setup, name)})


def _alone(name: str, rejections: list[Rejection]) -> list[int]:
    """Values of the number ``name`` that are a rejection's complete remedy."""
    alone = [rejection.remedies[0].changes for rejection in rejections if len(rejection.remedies) == 1]
    return [value for changes in alone if changes.keys() == {name} and isinstance(value := changes[name], int)]
