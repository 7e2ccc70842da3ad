"""Whether a model fits a machine, in one word and a few more, for lists of many models. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wizard.advise.advice import DEFAULT_USERS, Advice, Choice, Rejection
from wizard.advise.reasons import Reason, because
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

COMFORTABLE = 4096
"""Tokens of prompt and answer for each person that a chat wants: a long conversation (llama.cpp's own default here)."""
_OF_ROOM = ("memory", "context", "users")
"""Codes of rejections that say: too little memory."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``fits``, ``tight`` or ``no``, and why.

    The rule: a model *fits* if it can be served here as it is published, to `DEFAULT_USERS` people at the same time,
    each with `COMFORTABLE` tokens (or all that the model was made for, if that is less). It is *tight* if it can be
    served, but only to fewer people, with less context, or in another format than the one that it is published in. Of
    what is free the advice leaves a part to others itself, so a model that fits does not fill the machine. Else: *no*.
    """

    word: Literal["fits", "tight", "no"]
    why: Reason | None


def verdict(host: Host, facts: ModelFacts, advice: Advice) -> Verdict:
    """What `advice` means for `facts` on `host`."""
    if not advice.feasible:
        return Verdict("no", _refused(host, facts, advice.rejections[0]) if advice.rejections else None)
    published = [choice for choice in advice.choices if _as_published(choice, facts)]
    good = next((choice for choice in published if _roomy(choice, facts)), None)
    if good is not None:
        return Verdict("fits", _pace(good))
    if not published:
        return Verdict("tight", because("only-as", format=advice.choices[0].quantization))
    most = max(published, key=lambda choice: (choice.max_batch_size, choice.max_seq_len))
    return Verdict("tight", because("at-most", users=most.max_batch_size, tokens=most.max_seq_len))


def _as_published(choice: Choice, facts: ModelFacts) -> bool:
    own = facts.quantization.format if facts.quantization else None
    return choice.quantization in (None, "none", own) or facts.quantization is not None


def _roomy(choice: Choice, facts: ModelFacts) -> bool:
    tokens = min(COMFORTABLE, facts.max_context or COMFORTABLE)
    return choice.max_batch_size >= DEFAULT_USERS and choice.max_seq_len >= tokens


def _pace(choice: Choice) -> Reason:
    tpot = choice.speed.tpot_ms if choice.speed else None
    return because("served", gpus=choice.tp * choice.pp if choice.devices else None, tpot_ms=tpot)


def _refused(host: Host, facts: ModelFacts, why: Rejection) -> Reason:
    """Why not; of memory the two figures."""
    if why.code not in _OF_ROOM or facts.weight_bytes is None:
        return why.reason
    free = sum(gpu.memory_free_bytes or 0 for gpu in host.gpus) if host.gpus else host.memory_available_bytes
    return because("weights-and-free", weights_bytes=facts.weight_bytes, free_bytes=free)
