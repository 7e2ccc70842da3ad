"""Compare with a second model: its answer comes after the first one's, with a comparison of the measurements."""

from __future__ import annotations

from dataclasses import replace

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.prompts.chat_session import ChatSession, Outcome


def compare(talk: ChatSession, argument: str) -> Outcome:
    """Start a comparison with another server's model; without a name end it."""
    name, _, model = argument.partition(" ")
    if not name:
        if talk.rival is None:
            todo = tr("Choose a server from `triton-wizard status`, for example: {example}", example="/compare demo")
            raise UsageError("TW-U24", tr("no server to compare with"), todo)
        talk.rival = None
        return Outcome(tr("Only {name} answers from now on.", name=one_line(talk.endpoint.name)))
    rival = talk.other(name, model.strip() or None)
    if rival.endpoint.answers_as(talk.endpoint):
        todo = tr("Choose another server; run `triton-wizard status` to list them.")
        raise UsageError("TW-U24", tr("{name} already answers in this chat", name=one_line(name)), todo)
    talk.rival = rival
    lines = [
        tr("Both models get the same questions from now on."),
        tr("Type /compare without a name to end the comparison."),
    ]
    if talk.keeps:
        own = tr("The answers of {name} are saved as a separate conversation.", name=one_line(rival.endpoint.name))
        lines.insert(1, own)
    return Outcome(" ".join(lines))


def prepared_rival(talk: ChatSession, rival: ChatSession, question: str, *, again: bool) -> bool:
    """Prepare ``rival`` for the same ``question``; return whether it already has the turn.

    Args:
        talk: The main session.
        rival: The second session.
        question: The current question.
        again: Whether it replaces the last question.
    """
    rival.keeps = rival.keeps and talk.keeps
    rival.conversation = replace(
        rival.conversation.with_system(talk.conversation.system), sampling=talk.conversation.sampling
    )
    again, rival.along = again and rival.along, True
    if again:
        rival.conversation = rival.conversation.asked_again(question)
    return again
