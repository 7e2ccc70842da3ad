"""Whether a model fits a machine, as a verdict with a short reason, for lists of many models. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wizard.advise.advice import Advice, Choice, Rejection
from wizard.advise.reasons import Reason, because
from wizard.catalog.goals import DEFAULT_USERS
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

COMFORTABLE = 4096
"""Tokens of prompt and answer per user for a comfortable chat: a long conversation (llama.cpp's own default here)."""
_MEMORY_CODES = ("memory", "context", "users")
"""Codes of rejections for lack of memory."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``fits``, ``tight`` or ``no``, and why.

    The rule: a model *fits* if it can be served here in its published format to `DEFAULT_USERS` concurrent users, each
    with `COMFORTABLE` tokens (or the model's maximum, if that is less). It is *tight* if it can be served, but only to
    fewer users, with less context, or in another format. The advice leaves part of the free memory to other processes,
    so a model that fits does not fill the machine. Else: *no*.
    """

    word: Literal["fits", "tight", "no"]
    why: Reason | None


def verdict(host: Host, facts: ModelFacts, advice: Advice) -> Verdict:
    """The verdict from ``advice`` about ``facts`` on ``host``."""
    if not advice.feasible:
        return Verdict("no", _refused(host, facts, advice.rejections[0]) if advice.rejections else None)
    published = [choice for choice in advice.choices if _as_published(choice, facts)]
    good = next((choice for choice in published if _roomy(choice, facts)), None)
    if good is not None:
        return Verdict("fits", _pace(good))
    if not published:
        return Verdict("tight", because("only-as", format=advice.choices[0].quantization))
    most = max(published, key=lambda choice: (choice.users, choice.max_seq_len))
    return Verdict("tight", because("at-most", users=most.users, tokens=most.max_seq_len))


def _as_published(choice: Choice, facts: ModelFacts) -> bool:
    """In the format of the named repository; on the CPU also as a GGUF file, for there is no other format."""
    if not choice.devices:
        return True
    own = facts.quantization.format if facts.quantization else None
    return choice.quantization in (None, "none", own) or facts.quantization is not None


def _roomy(choice: Choice, facts: ModelFacts) -> bool:
    tokens = min(COMFORTABLE, facts.max_context or COMFORTABLE)
    return choice.users >= DEFAULT_USERS and choice.max_seq_len >= tokens


def _pace(choice: Choice) -> Reason:
    tpot = choice.speed.tpot_ms if choice.speed else None
    return because("served", gpus=len(choice.devices) or None, tpot_ms=tpot)


def _refused(host: Host, facts: ModelFacts, why: Rejection) -> Reason:
    """Why it does not fit; for memory, with both figures."""
    if why.code not in _MEMORY_CODES or facts.weight_bytes is None:
        return why.reason
    free = sum(gpu.memory_free_bytes or 0 for gpu in host.gpus) if host.gpus else host.memory_available_bytes
    return because("weights-and-free", weights_bytes=facts.weight_bytes, free_bytes=free)
