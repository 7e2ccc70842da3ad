"""Chat commands for saved conversations, and for versions of the current one."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from wizard.chat import image_references
from wizard.chat.commands.session import ChatSession, Outcome
from wizard.chat.conversation import Conversation
from wizard.chat.history import Entry, History, Kept
from wizard.chat.report import figures
from wizard.chat.tools.text import folded
from wizard.kernel.errors import UsageError
from wizard.kernel.language import ntr, tr
from wizard.kernel.text import one_line, plain

LISTED = 20
SHOWN_MESSAGES = 6
"""Number of last messages to show when a conversation is opened."""


def new(talk: ChatSession, argument: str) -> Outcome:
    """Start over; the system prompt and the settings are kept."""
    del argument
    talk.go_on_with(Kept(Conversation(sampling=talk.conversation.sampling).with_system(talk.conversation.system)))
    return Outcome(tr("New conversation started."))


def history(talk: ChatSession, argument: str) -> Outcome:
    """List the most recent conversations."""
    limit = number(argument, 10_000, tr("invalid value: {text}", text=argument[:20])) if argument else LISTED
    entries = _history(talk).entries(limit=limit)
    if not entries:
        return Outcome(tr("No saved conversations yet."))
    return Outcome(f"{_listed(talk, entries)}\n{tr('To continue one: /open NUMBER')}")


def search(talk: ChatSession, argument: str) -> Outcome:
    """List conversations that contain a text."""
    if not argument:
        raise UsageError("TW-U24", tr("no search text"), tr("For example: /search Triton"))
    entries = _history(talk).search(argument)
    if not entries:
        return Outcome(tr("No conversation contains this text."))
    count = ntr("{count} conversation", "{count} conversations", len(entries), count=len(entries))
    return Outcome(f"{_listed(talk, entries)}\n{count}")


def open_one(talk: ChatSession, argument: str) -> Outcome:
    """Continue a saved conversation."""
    kept = _history(talk).load(_id(argument))
    talk.go_on_with(kept)
    return Outcome(going_on(talk))


def rename(talk: ChatSession, argument: str) -> Outcome:
    """Change this conversation's title."""
    kept = talk.kept
    if kept.id is None:
        raise _not_kept(talk)
    _history(talk).rename(kept.id, argument)
    talk.kept = replace(kept, title=" ".join(argument.split()))
    return Outcome(tr("Title: {title}", title=one_line(argument)))


def delete(talk: ChatSession, argument: str) -> Outcome:
    """Delete a saved conversation; if it is this one, start over."""
    number = _id(argument) if argument else talk.kept.id
    if number is None:
        raise _not_kept(talk)
    _history(talk).delete(number)
    if number == talk.kept.id:
        new(talk, "")
    return Outcome(
        tr("Conversation {number} was deleted, and its text was overwritten in the history file.", number=number)
    )


def private(talk: ChatSession, argument: str) -> Outcome:
    """Stop saving."""
    del argument
    kept, talk.keeps = talk.kept.id, False
    if kept is None:
        return Outcome(tr("This chat is not being saved."))
    talk.kept = Kept(talk.conversation)
    return Outcome(
        tr(
            "From now on, nothing is saved. Earlier messages are in conversation {number}; /delete {number} removes "
            "them.",
            number=kept,
        )
    )


def versions(talk: ChatSession, argument: str) -> Outcome:
    """Show the versions of the last turn, or continue with another one."""
    known, now = talk.conversation.versions()
    if argument:
        chosen = number(argument, len(known), tr("unknown version: {text}", text=argument[:20]))
        talk.conversation = talk.conversation.chosen(chosen - 1)
        talk.keep()
        return Outcome(f"{plain(known[chosen - 1].answer)}\n{tr('Continuing with version {number}.', number=chosen)}")
    parts = []
    for place, version in enumerate(known):
        head = tr("Version {number} of {count}", number=place + 1, count=len(known))
        here = f" ({tr('current')})" if place == now else ""
        measured = f"\n{talk.spoken(figures(version.stats))}" if version.stats else ""
        parts.append(f"{head}{here}: {one_line(version.question)}\n{plain(version.answer)}{measured}")
    return Outcome("\n\n".join(parts))


def going_on(talk: ChatSession) -> str:
    """The title and the end of a continued conversation."""
    kept = talk.kept
    return f"{shown(talk, kept.conversation)}\n{tr('Continuing: {title}', title=one_line(kept.title))}".lstrip("\n")


def shown(talk: ChatSession, conversation: Conversation) -> str:
    """The end of a conversation, as a reminder when it is continued."""
    messages = [each for each in conversation.messages if each.role != "system"]
    left_out = len(messages) - SHOWN_MESSAGES
    lines = (
        [ntr("({count} earlier message)", "({count} earlier messages)", left_out, count=left_out)]
        if left_out > 0
        else []
    )
    for each in messages[-SHOWN_MESSAGES:]:
        lines += [talk.spoken(folded(call)) for call in each.calls]
        lines.append(f"> {plain(image_references.shown(each.content))}" if each.role == "user" else plain(each.content))
    return "\n".join(lines)


def number(text: str, greatest: int, wrong: str, least: int = 1) -> int:
    """The typed number, ``least`` or more.

    Raises:
        UsageError: TW-U24, with the message ``wrong``.
    """
    if text.isascii() and text.isdecimal() and least <= int(text[:9]) <= greatest:
        return int(text[:9])
    raise UsageError("TW-U24", plain(wrong), tr("Enter a number from {least} to {count}.", least=least, count=greatest))


def _id(text: str) -> int:
    if not text:
        todo = tr("Pass a number from /history, for example: {example}", example="/open 1")
        raise UsageError("TW-U24", tr("no conversation was given"), todo)
    return number(text.removeprefix("#"), 10**9 - 1, tr("no saved conversation {number}", number=text[:20]))


def _history(talk: ChatSession) -> History:
    if talk.history is None:
        raise UsageError(
            "TW-U26",
            tr("conversations are not saved in this chat"),
            tr("To save conversations, start the chat with `triton-wizard chat`."),
        )
    return talk.history


def _not_kept(talk: ChatSession) -> UsageError:
    if talk.keeps:
        return UsageError("TW-U24", tr("nothing in this conversation is saved yet"), tr("Ask a question first."))
    return UsageError("TW-U24", tr("this conversation is not being saved"), tr("/history lists the saved ones."))


def _listed(talk: ChatSession, entries: Iterable[Entry]) -> str:
    rows = []
    for entry in entries:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.updated))
        here = f" ({tr('current')})" if entry.id == talk.kept.id else ""
        rows.append((str(entry.id), day, one_line(entry.model), one_line(entry.title) + here, one_line(entry.excerpt)))
    return talk.listed(rows)
