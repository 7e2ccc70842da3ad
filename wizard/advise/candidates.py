"""Every setup that could serve a model on a machine, with any stack, unranked. Pure."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise import gpu, not_chat, offload, untried
from wizard.advise.advice import Choice, Constraints, Rejection
from wizard.advise.calibration import Calibration
from wizard.advise.comparison import doubtful
from wizard.advise.fit import cramped
from wizard.advise.reasons import because, do
from wizard.catalog import gguf_types, stacks
from wizard.catalog.goals import DEFAULT_USERS
from wizard.model import gguf_files
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

LOAD = ("users", "ttft", "tpot")
"""Codes of rejections of setups that hold the model, but not the load."""


def candidates(
    host: Host, facts: ModelFacts, constraints: Constraints, past: Calibration
) -> tuple[list[Choice], list[Rejection]]:
    """All choices with every stack, unranked, and why others were rejected.

    If there are none, those that put layers of a known GGUF file of the model on GPUs that cannot hold it in its own
    format, not even for fewer users. If all that were tested are cramped, those with all layers there and more room
    come too: llama.cpp needs less memory beside the weights.
    """
    choices, rejections = _of_named(host, facts, constraints, past)
    if choices and all(doubtful(choice) or cramped(choice, facts, constraints) for choice in choices):
        more, _ = _as_file(host, facts, constraints, past)
        roomy = [each for each in more if not cramped(each, facts, constraints)]
        return [*choices, *(each for each in roomy if each.offload and each.offload.whole)], rejections
    if choices or (host.gpus and any(rejection.code in LOAD for rejection in rejections)):
        return choices, rejections
    choices, refused = _as_file(host, facts, constraints, past)
    if _of_file(constraints):
        return choices, [*refused, *rejections]
    return choices, [*rejections, *refused]


def _of_file(constraints: Constraints) -> bool:
    """Whether a format of GGUF files is required."""
    return constraints.quantization in {gguf_types.format_of(each) for each in gguf_types.bits()}


def many(constraints: Constraints) -> bool:
    """Whether so many users were asked for that none of them should wait for the CPU."""
    return constraints.users is not None and constraints.users > DEFAULT_USERS


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
    partly = _of_file(constraints) or not many(constraints)
    on_gpus = [(choice, choice.offload) for several, _ in made for choice in several if choice.offload]
    if choices := [choice for choice, split in on_gpus if split.whole or partly]:
        return choices, []
    if not gguf_files.choices(facts) or any(several for several, _ in made):
        return [], []
    refused = sorted((each for _, several in made for each in several), key=lambda each: each.code == "quantization")
    return [], [*{(each.stack, each.code): each for each in reversed(refused)}.values()][::-1]
