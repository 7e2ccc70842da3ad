"""Sampling settings as questions for every interface, and presets of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from wizard.catalog.presets import Preset
from wizard.catalog.presets import preset as find
from wizard.chat.ask import Ask
from wizard.chat.conversation import Conversation, Message, Sampling, thinking_problem
from wizard.chat.history import History, Kept
from wizard.chat.served import ServedModel
from wizard.chat.thinking_modes import modes, variables
from wizard.chat.wire import OPENAI
from wizard.kernel.errors import UsageError
from wizard.kernel.language import join, mark, tr
from wizard.kernel.text import plain
from wizard.kernel.values import from_data, to_data
from wizard.plan.question import Question
from wizard.plan.questions import CHAT

SEVERAL = "|"
"""Separator between stop strings on a single line."""


def _between(low: float, high: float) -> Callable[[Any], str]:
    def problem(value: float) -> str:
        return "" if low <= value <= high else tr("it must be from {low:,} to {high:,}", low=low, high=high)

    return problem


def _penalty(name: str, text: str, about: str) -> Question:
    return Question(name, "float", text, f"/set {name}", otherwise=mark("none"), validate=_between(-2, 2), help=about)


MORE = (
    Question(
        "top_k",
        "int",
        mark("Top-k"),
        "/set top_k",
        otherwise=mark("the model's default"),
        validate=_between(0, 1_000_000),
        help=mark("Number of most likely tokens to consider; 0 means all."),
    ),
    Question(
        "min_p",
        "float",
        mark("Min-p"),
        "/set min_p",
        otherwise=mark("the model's default"),
        validate=_between(0, 1),
        help=mark("Minimum probability, relative to the most likely token."),
    ),
    Question(
        "repetition_penalty",
        "float",
        mark("Repetition penalty"),
        "/set repetition_penalty",
        otherwise=mark("none"),
        validate=_between(0.01, 2),
        help=mark("Above 1, earlier tokens become less likely."),
    ),
    _penalty("presence_penalty", mark("Presence penalty"), mark("Above 0, new tokens become more likely.")),
    _penalty(
        "frequency_penalty",
        mark("Frequency penalty"),
        mark("Like the presence penalty, but applied for each occurrence of the token."),
    ),
    Question(
        "thinking",
        "text",
        mark("Thinking"),
        "/set thinking",
        otherwise=mark("the model's default"),
        validate=thinking_problem,
        help=mark(
            "off, on, a level such as low or high, or a number of tokens, if the model's chat template allows it."
        ),
    ),
    Question(
        "stop",
        "text",
        mark("Stop strings"),
        "/set stop",
        otherwise=mark("only the model's own"),
        help=mark("Strings that end the answer; separate several with |."),
    ),
)
SETTINGS = (*CHAT, *MORE)
"""All settings of a conversation: the system prompt and the fields of `Sampling` except ``logprobs``."""


def setting(name: str) -> Question:
    """The question of the setting ``name``.

    Raises:
        UsageError: TW-U24 if it is unknown.
    """
    known = {question.name: question for question in SETTINGS}
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        there = tr("Available: {names}.", names=", ".join(known))
        raise UsageError(
            "TW-U24",
            tr("unknown setting: {name}", name=plain(name)[:40]),
            join(" ", tr("Did you mean {name}?", name=near[0]), there) if near else there,
        )
    return known[name]


def parsed(pairs: Iterable[str]) -> dict[str, Any]:
    """Answers from ``NAME=VALUE`` pairs; an empty value resets the setting.

    Raises:
        UsageError: TW-U24 if the setting is unknown, TW-U31 or TW-U32 if a value does not fit.
    """
    split = (pair.partition("=") for pair in pairs)
    return {name: setting(name).parse(value) for name, _, value in split}


def unsupported(served: ServedModel) -> list[str]:
    """Names of settings that the model does not support."""
    request = Ask(
        served.name,
        "",
        1,
        temperature=1.0,
        top_p=1.0,
        seed=0,
        top_k=1,
        min_p=0.0,
        repetition_penalty=1.0,
        presence_penalty=0.0,
        frequency_penalty=0.0,
    )
    return [*served.wire.lacks(request), *([] if thinks_on_demand(served) else ["thinking"])]


def thinks_on_demand(served: ServedModel) -> bool:
    """Whether its thinking may be switched: its chat template has modes, or another server renders it."""
    return served.wire.format is OPENAI or bool(served.chat and modes(served.chat).names)


def with_thinking(conversation: Conversation, served: ServedModel, mode: str) -> Conversation:
    """The conversation with ``mode`` for thinking, if the model's template has it; other servers report nothing.

    Raises:
        UsageError: TW-U24 if it has not, TW-C08 if it is none at all.
    """
    if served.chat and not variables(served.chat, mode):
        names = modes(served.chat).names
        todo = tr("This model's modes: {modes}.", modes=names) if names else tr("Its chat template has no modes.")
        raise UsageError("TW-U24", tr("this model has no thinking mode {mode}", mode=plain(mode)[:20]), todo)
    return with_answers(conversation, {"thinking": mode})


def answers_of(conversation: Conversation) -> dict[str, Any]:
    """The settings, by the questions' names, for a form; None if not set."""
    values = to_data(conversation.sampling)
    stop = SEVERAL.join(text.replace("\n", "\\n") for text in conversation.sampling.stop)
    return {**values, "stop": stop or None, "system": conversation.system or None}


def with_answers(conversation: Conversation, answers: Mapping[str, Any]) -> Conversation:
    """The conversation with the settings in ``answers``, otherwise unchanged; None and an empty text reset a setting.

    Args:
        conversation: Any.
        answers: Names of `SETTINGS`, and ``logprobs``; missing names are unchanged.

    Raises:
        UsageError: TW-C08 if a value is out of its range.
    """
    names = {each.name: each.default for each in fields(Sampling)}
    given = {name: value for name, value in answers.items() if name in names}
    if "stop" in given:
        given["stop"] = tuple(text.replace("\\n", "\n") for text in (given["stop"] or "").split(SEVERAL) if text)
    changes: dict[str, Any] = {name: names[name] if value is None else value for name, value in given.items()}
    sampling = replace(conversation.sampling, **changes)
    sampling.check()
    changed = replace(conversation, sampling=sampling)
    return changed.with_system(answers["system"] or "") if "system" in answers else changed


def with_preset(conversation: Conversation, preset: Preset) -> Conversation:
    """The conversation with the preset's system prompt and settings; other settings get their defaults.

    Raises:
        UsageError: TW-K01 or TW-C08 if a setting of the preset does not fit.
    """
    sampling = from_data(Sampling, dict(preset.sampling), where=tr("the preset {name}", name=preset.name))
    sampling.check()
    sampling = replace(sampling, logprobs=conversation.sampling.logprobs)
    return replace(conversation, sampling=sampling).with_system(preset.system)


def started(history: History, *, go_on: bool = False, preset: str | None = None) -> Kept:
    """The initial conversation of a chat: empty, or the last saved one; with the named preset.

    Raises:
        UsageError: TW-C19 if there is no conversation to continue, TW-D10 if the preset is unknown; see also
            `with_preset`.
        WorkspaceError: TW-C20 … TW-C22, see `wizard.chat.history`.
    """
    kept = history.newest() if go_on else Kept(Conversation())
    if kept is None:
        raise UsageError("TW-C19", tr("no conversation to continue"), tr("Omit --continue to start a new one."))
    if preset is not None:
        kept = replace(kept, conversation=with_preset(kept.conversation, find(preset)))
    return kept


def preset_of(name: str, conversation: Conversation, about: str = "") -> Preset:
    """A preset with the conversation's system prompt and settings, for `wizard.catalog.presets.save`."""
    usual = Sampling()
    set_here = {
        field.name: getattr(conversation.sampling, field.name) for field in fields(Sampling) if field.name != "logprobs"
    }
    different = {name: value for name, value in set_here.items() if value != getattr(usual, name)}
    return Preset(name, about, conversation.system, different, own=True)


def conversation(answers: Mapping[str, object]) -> Conversation:
    """An empty conversation with the settings in ``answers``; missing ones use the served model's defaults.

    Args:
        answers: ``system`` and the fields of `Sampling`; None and other keys are ignored.
    """
    given = {each.name: value for each in fields(Sampling) if (value := answers.get(each.name)) is not None}
    if "stop" in given:
        given["stop"] = (given["stop"],) if isinstance(given["stop"], str) else tuple(given["stop"])  # type: ignore[arg-type]
    system = answers.get("system")
    return Conversation((Message("system", str(system)),) if system else (), Sampling(**given))  # type: ignore[arg-type]  # whoever asked checked
