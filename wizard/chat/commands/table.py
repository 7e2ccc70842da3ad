"""All commands: their syntax, what they do, and how a line becomes one."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from wizard.catalog import prompt_files
from wizard.chat import saving
from wizard.chat.commands import conversations, inspection, models, tools
from wizard.chat.commands.session import ChatSession, Outcome
from wizard.chat.history import Kept
from wizard.chat.settings import SETTINGS, answers_of, setting, with_answers
from wizard.kernel.errors import UsageError
from wizard.kernel.language import join, mark, tr
from wizard.kernel.text import plain
from wizard.plan.questions import SYSTEM


def command(talk: ChatSession, line: str) -> Outcome:
    """Run ``line``, which begins with ``/``.

    Raises:
        UsageError: TW-U23 if the command is unknown, TW-U24 if it is not possible now, TW-U25 or TW-U26 if a file is
            not writable or readable, TW-U31 or TW-U32 if a setting does not fit; and errors of the called functions.
        WorkspaceError: TW-C20 … TW-C22, see `wizard.chat.history`.
    """
    name, argument = split(line)
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, [*COMMANDS, *OTHER_NAMES], 1)
        todo = tr("Type /help to list the commands; to start a question with '/', put a space before it.")
        raise UsageError(
            "TW-U23",
            tr("unknown command: {name}", name=plain(name)[:40]),
            join(" ", tr("Did you mean {name}?", name=near[0]), todo) if near else todo,
        )
    return COMMANDS[name][1](talk, argument)


def split(line: str) -> tuple[str, str]:
    """The command in ``line``, by its own name, and the text after it."""
    name, argument = (*line.split(maxsplit=1), "")[:2]
    return OTHER_NAMES.get(name, name), argument.strip()


def is_command(text: str) -> bool:
    """Whether ``text`` is a command; several lines that begin with a path, for example, are a question."""
    name = text.split(maxsplit=1)[0] if text.startswith("/") else ""
    return bool(name) and ("\n" not in text or name in COMMANDS or name in OTHER_NAMES)


def _help(talk: ChatSession, argument: str) -> Outcome:
    del argument
    rows = [(usage, tr(text)) for usage, _, text in COMMANDS.values()]
    rows.append(("/multi", tr("write several lines; a line with only . ends the input")))
    more = tr("End a line with \\ to continue on the next one; pasted text is one question, line breaks included.")
    return Outcome(f"{talk.listed(rows)}\n{more}")


def _system(talk: ChatSession, argument: str) -> Outcome:
    talk.conversation = talk.conversation.with_system(argument)
    return Outcome(tr("The system prompt is set.") if argument else tr("The system prompt was removed."))


def _set(talk: ChatSession, argument: str) -> Outcome:
    name, _, text = argument.partition(" ")
    if name:
        talk.conversation = with_answers(talk.conversation, {name: setting(name).parse(text)})
    now = answers_of(talk.conversation)
    shown = (each for each in SETTINGS if each is not SYSTEM and name in ("", each.name))
    return Outcome(talk.listed([(each.name, _value(now[each.name]), tr(each.help)) for each in shown]))


def _value(value: object) -> str:
    return tr("none") if value is None else str(value)


def _again(talk: ChatSession, argument: str) -> Outcome:
    del argument
    talk.conversation = talk.conversation.asked_again()
    return Outcome(ask=talk.conversation.messages[-1].content, open=True)


def _edit(talk: ChatSession, argument: str) -> Outcome:
    question = talk.conversation.asked_again().messages[-1].content
    if not argument:
        return Outcome(tr("Retype or edit the question:"), edit=question)
    talk.conversation = talk.conversation.asked_again(argument)
    return Outcome(ask=argument, open=True)


def _questions(talk: ChatSession, argument: str) -> Outcome:
    questions = talk.served().questions
    if not questions:
        return Outcome(tr("This model has no suggested questions; ask it anything."))
    if not argument:
        rows = [(str(number), question) for number, question in enumerate(questions, 1)]
        return Outcome(f"{talk.listed(rows)}\n{tr('Ask one of them with /questions NUMBER.')}")
    wrong = tr("unknown question: {text}", text=argument[:20])
    chosen = questions[conversations.number(argument, len(questions), wrong) - 1]
    return Outcome(f"> {plain(chosen)}", ask=chosen)


def _save(talk: ChatSession, argument: str) -> Outcome:
    name = argument.removeprefix("comparison ").strip()
    if name != argument or name.endswith(".svg"):  # only a comparison can be a picture
        return models.save_comparison(talk, name)
    path, _there = saving.target(argument)
    saving.save(path, talk.endpoint.model, talk.conversation, title=talk.kept.title)
    return Outcome(tr("Saved to {path}", path=path))


def _load(talk: ChatSession, argument: str) -> Outcome:
    path, _there = saving.target(argument)
    loaded = saving.load(path)
    talk.go_on_with(Kept(loaded.conversation, talk.endpoint.model, talk.endpoint.name, title=loaded.title))
    talk.keep()
    return Outcome(
        f"{conversations.shown(talk, loaded.conversation)}\n{tr('Loaded from {path}', path=path)}".lstrip("\n")
    )


def _prompt(talk: ChatSession, argument: str) -> Outcome:
    del talk
    return Outcome(tr("Edit the prompt, or press Enter to send it:"), edit=prompt_files.text(argument))


def _bye(talk: ChatSession, argument: str) -> Outcome:
    del talk, argument
    return Outcome(end=True)


COMMANDS: dict[str, tuple[str, Callable[[ChatSession, str], Outcome], str]] = {
    "/help": ("/help", _help, mark("show this list")),
    "/new": ("/new", conversations.new, mark("start a new conversation with the same system prompt")),
    "/again": ("/again", _again, mark("get another answer to the last question; see /versions")),
    "/edit": ("/edit [TEXT]", _edit, mark("rephrase the last question and send it again")),
    "/versions": (
        "/versions [N]",
        conversations.versions,
        mark("list all versions of the last turn; continue with version N"),
    ),
    "/system": ("/system TEXT", _system, mark("set the system prompt; without text, remove it")),
    "/set": ("/set NAME VALUE", _set, mark("set how the model answers; without arguments, show all settings")),
    "/preset": (
        "/preset [NAME]",
        inspection.preset,
        mark("use a preset (system prompt and settings); to manage your own: save NAME, remove NAME"),
    ),
    "/questions": ("/questions [N]", _questions, mark("list questions that the model was trained on; ask number N")),
    "/history": (
        "/history [N]",
        conversations.history,
        mark("list the last N saved conversations"),
    ),
    "/search": ("/search TEXT", conversations.search, mark("search saved conversations")),
    "/open": ("/open N", conversations.open_one, mark("continue conversation N")),
    "/rename": ("/rename TITLE", conversations.rename, mark("rename this conversation")),
    "/delete": ("/delete [N]", conversations.delete, mark("permanently delete conversation N, or this one")),
    "/private": ("/private", conversations.private, mark("stop saving this conversation")),
    "/model": (
        "/model [NAME]",
        models.model,
        mark("continue with another model: NAME, or URL and MODEL; without arguments, list them"),
    ),
    "/compare": (
        "/compare [NAME]",
        models.compare,
        mark("compare with a second server: NAME, or URL and MODEL; without arguments, stop comparing"),
    ),
    "/context": ("/context", inspection.context, mark("show how much of the model's context is used")),
    "/think": (
        "/think [MODE]",
        inspection.think,
        mark("show the last thought; set how much the model thinks: off, on, low, high …"),
    ),
    "/tools": (
        "/tools [HOW NAME]",
        tools.tools,
        mark("list tools; HOW is always, never or ask: what happens when the model calls NAME; on or off: all tools"),
    ),
    "/result": ("/result [N]", tools.result, mark("show the whole result of the last answer's tool call N")),
    "/details": (
        "/details",
        inspection.details,
        mark("show who wrote each message and when, with the answers' measurements"),
    ),
    "/logprobs": (
        "/logprobs [N]",
        inspection.logprobs,
        mark("show how confident the model was in each token, with N alternatives; /logprobs off turns it off"),
    ),
    "/snippet": (
        "/snippet [KIND]",
        inspection.snippet,
        mark("show the last request as a curl command or Python code: curl, python or urllib"),
    ),
    "/copy": (
        "/copy [code|thought]",
        inspection.copy,
        mark("copy the last answer, its last code block or the last thought to the clipboard"),
    ),
    "/prompt": ("/prompt NAME", _prompt, mark("insert one of your prompts")),
    "/save": (
        "/save [comparison] FILE",
        _save,
        mark("save the conversation to FILE.md or FILE.json; the last comparison to FILE.svg or FILE.json"),
    ),
    "/load": ("/load FILE", _load, mark("continue a conversation saved to FILE.json")),
    "/bye": ("/bye", _bye, mark("exit")),
}
"""Command → its syntax, its function, its description."""
OTHER_NAMES = {"/clear": "/new", "/regenerate": "/again", "/quit": "/bye", "/exit": "/bye"}
"""Aliases of these commands in other programs."""
