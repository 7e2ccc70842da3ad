"""How much a model thinks, as its own chat template can be told.

Nothing is guessed from a model's name: a template offers a mode if it reads the variable (`wizard.catalog.thinking`)
and renders another prompt with it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wizard.catalog.thinking import Switch, thinking
from wizard.chat.templates import apply, compared
from wizard.kernel.fenced import FencedError
from wizard.kernel.fenced_process import RejectedError
from wizard.kernel.language import tr
from wizard.model.chat_format import ChatFormat

PRINTED_LEVELS = ("low", "medium", "high")
"""Levels of a template that only prints them: those of the OpenAI API (``reasoning_effort``), which it was made for."""
_QUESTION = [{"role": "user", "content": "Hello"}]


@dataclass(frozen=True, slots=True)
class Modes:
    """The modes of a template.

    Attributes:
        values: Mode (``off``, ``on`` or a level) → variables of the template.
        budgets: Variables that take a number of tokens.
    """

    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    budgets: tuple[str, ...] = ()

    @property
    def names(self) -> str:
        """All modes in words; empty if there are none."""
        return ", ".join([*self.values, *([tr("a number of tokens")] if self.budgets else ())])


@functools.lru_cache(maxsize=8)
def modes(chat: ChatFormat) -> Modes:
    """The modes of the model's template; none if it has none, or is broken: rendering reports that."""
    try:
        return _modes(chat, compared(chat.template))
    except (RejectedError, FencedError):
        return Modes()


def _modes(chat: ChatFormat, read: Mapping[str, frozenset[str]]) -> Modes:
    off: dict[str, Any] = {}
    on: dict[str, Any] = {}
    levels: dict[str, Mapping[str, Any]] = {}
    budgets: list[str] = []
    for switch in thinking().switches:
        name = switch.variable
        if name not in read:
            continue
        without, with_it = _prompt(chat, {name: switch.off}), _prompt(chat, {name: switch.on})
        if switch.on is not None and None not in (without, with_it) and without != with_it:
            off[name], on[name] = switch.off, switch.on
        elif switch.on is None and switch.off is not None and _turns_off(switch, chat, read[name]):
            off[name] = switch.off
        budgets += [name] if switch.budget and name in off else []
        possible = [level for level in switch.levels if level in (read[name] or PRINTED_LEVELS)]
        prompts = {level: _prompt(chat, {**on, name: level}) for level in possible}
        if len({*prompts.values()} - {None}) > 1 or (read[name] and any(prompts.values())):
            levels |= {level: {**on, name: level} for level, prompt in prompts.items() if prompt is not None}
    pair = {"off": off, "on": on}
    return Modes({name: given for name, given in (pair | levels).items() if given}, tuple(budgets))


def variables(chat: ChatFormat, mode: str | None) -> dict[str, Any]:
    """The variables of the template for ``mode``, a value of `wizard.chat.conversation.Sampling.thinking`; empty if it
    has no such mode.
    """
    if mode is None:
        return {}
    known = modes(chat)
    return dict.fromkeys(known.budgets, int(mode)) if mode.isdecimal() else dict(known.values.get(mode, {}))


def _turns_off(switch: Switch, chat: ChatFormat, texts: frozenset[str]) -> bool:
    """Whether the template knows this value: it compares the variable with it, or its prompt depends on it."""
    prompt = _prompt(chat, {switch.variable: switch.off})
    known = switch.off in texts if isinstance(switch.off, str) else prompt != _prompt(chat, {})
    return known and prompt is not None


def _prompt(chat: ChatFormat, given: Mapping[str, Any]) -> str | None:
    """The prompt for a short question; None if the template rejects the variables."""
    try:
        return apply(chat.template, _QUESTION, bos_token=chat.bos_token or "", eos_token=chat.eos_token or "", **given)
    except RejectedError:
        return None
