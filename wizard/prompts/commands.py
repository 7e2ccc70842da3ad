"""What can be typed in the chat beside questions: ``/help`` and its siblings."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace

from wizard.chat.conversation import Conversation, Message
from wizard.chat.saving import save, target
from wizard.kernel.errors import UsageError
from wizard.kernel.text import plain, table
from wizard.kernel.values import to_data
from wizard.plan.questions import CHAT, SYSTEM
from wizard.serve.endpoint import Endpoint


@dataclass(slots=True)
class Talk:
    """A chat that goes on: with whom, what was said, and how to find out what the model is known to answer."""

    endpoint: Endpoint
    conversation: Conversation
    questions: Callable[[], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command leads to: a text to show, a question to ask, the end."""

    text: str = ""
    ask: str | None = None
    end: bool = False


def command(talk: Talk, line: str) -> Outcome:
    """Obey ``line``, which begins with ``/``.

    Raises:
        UsageError: TW-U23 if there is no such command, TW-U24 if it cannot be done now, TW-U25 if a file cannot be
            written, TW-U31 or TW-U32 if a setting does not fit.
    """
    name, _, argument = line.partition(" ")
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, 1)
        todo = f"Did you mean {near[0]}? " if near else ""
        raise UsageError(
            "TW-U23",
            f"there is no command {plain(name)[:40]}",
            f"{todo}/help lists them; put a blank before a question that begins with '/'.",
        )
    return COMMANDS[name][1](talk, argument.strip())


def _help(talk: Talk, argument: str) -> Outcome:
    del talk, argument
    rows = [(usage, text) for usage, _, text in COMMANDS.values()]
    more = "A line that ends with \\ goes on in the next one."
    return Outcome(f"{table([*rows, ('/multi', 'write several lines, up to one with a single .')])}\n{more}")


def _clear(talk: Talk, argument: str) -> Outcome:
    del argument
    kept = tuple(message for message in talk.conversation.messages if message.role == "system")
    talk.conversation = replace(talk.conversation, messages=kept)
    return Outcome("The conversation begins anew.")


def _system(talk: Talk, argument: str) -> Outcome:
    others = tuple(message for message in talk.conversation.messages if message.role != "system")
    first = (Message("system", argument),) if argument else ()
    talk.conversation = replace(talk.conversation, messages=first + others)
    return Outcome("The system prompt is set." if argument else "There is no system prompt any more.")


def _set(talk: Talk, argument: str) -> Outcome:
    settings = {question.name: question for question in CHAT if question is not SYSTEM}
    name, _, text = argument.partition(" ")
    if name:
        if name not in settings:
            near = difflib.get_close_matches(name, settings, 1)
            todo = f"Did you mean {near[0]}? " if near else ""
            raise UsageError(
                "TW-U24", f"there is no setting {plain(name)[:40]}", f"{todo}There are: {', '.join(settings)}."
            )
        value = settings[name].parse(text)
        sampling = replace(talk.conversation.sampling, **{name: value})  # type: ignore[arg-type]  # parse checked it
        talk.conversation = replace(talk.conversation, sampling=sampling)
    now = to_data(talk.conversation.sampling)
    return Outcome(table([(one.name, _value(now[one.name]), one.help) for one in settings.values()]))


def _value(value: object) -> str:
    return "none" if value is None else str(value)


def _regenerate(talk: Talk, argument: str) -> Outcome:
    del argument
    messages = talk.conversation.messages
    last = next((i for i in reversed(range(len(messages))) if messages[i].role == "user"), None)
    if last is None:
        raise UsageError("TW-U24", "nothing was asked yet", "Ask something first.")
    talk.conversation = replace(talk.conversation, messages=messages[:last])
    return Outcome(ask=messages[last].content)


def _questions(talk: Talk, argument: str) -> Outcome:
    questions = talk.questions()
    if not questions:
        return Outcome("Nothing is known about what this model answers best; ask it anything.")
    if not argument:
        rows = [(str(number), question) for number, question in enumerate(questions, 1)]
        return Outcome(f"{table(rows)}\nAsk one of them with /questions NUMBER.")
    if not argument.isdecimal() or not 1 <= int(argument) <= len(questions):
        raise UsageError("TW-U24", f"there is no question {plain(argument)[:20]}", f"Give 1 to {len(questions)}.")
    chosen = questions[int(argument) - 1]
    return Outcome(f"> {plain(chosen)}", ask=chosen)


def _save(talk: Talk, argument: str) -> Outcome:
    path, _there = target(argument)
    save(path, talk.endpoint.model, talk.conversation)
    return Outcome(f"Saved to {path}")


def _bye(talk: Talk, argument: str) -> Outcome:
    del talk, argument
    return Outcome(end=True)


COMMANDS: dict[str, tuple[str, Callable[[Talk, str], Outcome], str]] = {
    "/help": ("/help", _help, "this list"),
    "/clear": ("/clear", _clear, "forget what was said; the system prompt stays"),
    "/system": ("/system TEXT", _system, "set the system prompt; without a text remove it"),
    "/set": ("/set NAME VALUE", _set, "set temperature, top_p, max_tokens or seed; alone show them"),
    "/regenerate": ("/regenerate", _regenerate, "another answer to the last question"),
    "/questions": ("/questions [N]", _questions, "questions that the model was trained on; ask number N"),
    "/save": ("/save FILE", _save, "write the conversation to FILE.md or FILE.json"),
    "/bye": ("/bye", _bye, "end"),
}
"""Command → how it is typed, what it does, what it is for."""
