"""Whether a model fits a machine, as a verdict with a short reason, for lists of many models. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wizard.advise.advice import Advice, Choice, Rejection
from wizard.advise.best import room
from wizard.advise.comparison import on_host
from wizard.advise.fit import COMFORTABLE
from wizard.advise.offload import FEW_USERS
from wizard.advise.reasons import Reason, because, load
from wizard.catalog.goals import DEFAULT_USERS
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

_MEMORY_CODES = ("memory", "context", "users")
"""Codes of rejections for lack of memory."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``fits``, ``tight`` or ``no``, and why.

    The rule: a model *fits* if it can be served here in its published format to `DEFAULT_USERS` concurrent users, each
    with `COMFORTABLE` tokens (or the model's maximum, if that is less); as a GGUF file on GPUs, `FEW_USERS` are enough.
    It is *tight* if it can be served, but only to fewer users, with less context, in another format, or with layers in
    host memory. The advice leaves part of the free memory to other processes,
    so a model that fits does not fill the machine. Else: *no*.
    """

    word: Literal["fits", "tight", "no"]
    why: Reason | None


def verdict(host: Host, facts: ModelFacts, advice: Advice) -> Verdict:
    """The verdict from ``advice`` about ``facts`` on ``host``."""
    if not advice.feasible:
        return Verdict("no", _refused(host, facts, advice.rejections[0]) if advice.rejections else None)
    published = [choice for choice in advice.choices if _as_published(choice, facts)]
    good = next((choice for choice in published if _roomy(choice, facts) and not on_host(choice)), None)
    if good is not None:
        return Verdict("fits", _pace(good))
    if not published:
        return Verdict("tight", because("only-as", format=advice.choices[0].quantization))
    most = max(published, key=lambda choice: (choice.users, choice.max_seq_len))
    if on_host(most) and most.offload:
        split = {"layers": most.offload.gpu_layers, "whole": most.offload.layers, "experts": most.offload.expert_layers}
        return Verdict("tight", because("partly-on-gpu", **split))
    return Verdict("tight", because("at-most", users=most.users, tokens=most.max_seq_len))


def _as_published(choice: Choice, facts: ModelFacts) -> bool:
    """In the format of the named repository; with llama.cpp also as a GGUF file, for it has no other format."""
    if not choice.devices or choice.offload:
        return True
    own = facts.quantization.format if facts.quantization else None
    return choice.quantization in (None, "none", own) or facts.quantization is not None


def _roomy(choice: Choice, facts: ModelFacts) -> bool:
    tokens = min(COMFORTABLE, facts.max_context or COMFORTABLE)
    users = FEW_USERS if choice.offload else DEFAULT_USERS
    return choice.users >= users and choice.max_seq_len >= tokens


def _pace(choice: Choice) -> Reason:
    speed = choice.speed
    asked = load(speed.users, speed.isl, speed.osl) if speed else None
    where = {"slices": len(choice.slices)} if choice.slices else {"gpus": len(choice.devices) or None}
    return because("served", **where, tpot_ms=speed.tpot_ms if speed else None, load=asked)


def _refused(host: Host, facts: ModelFacts, why: Rejection) -> Reason:
    """Why it does not fit; for memory, with both figures."""
    if why.code not in _MEMORY_CODES or facts.weight_bytes is None:
        return why.reason
    return because("weights-and-free", weights_bytes=facts.weight_bytes, free_bytes=room(host).bytes)
