"""Compare with a second model: its answer comes after the first one's, with a comparison of the measurements."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from wizard.chat import saving
from wizard.chat.race import Lane, Race, RaceResult
from wizard.chat.race_report import spoken
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.kernel.values import to_json
from wizard.prompts.chat_session import ChatSession, Outcome
from wizard.prompts.speech import for_stderr, tell


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


def save_comparison(talk: ChatSession, name: str) -> Outcome:
    """Save what was measured with the last question, as a picture or as data."""
    if talk.race is None or not talk.race.ended:
        todo = tr("Type /compare NAME, then ask a question.")
        raise UsageError("TW-U24", tr("there is no comparison yet"), todo)
    path, _there = saving.target(name)
    saving.save_result(path, talk.race.result())
    return Outcome(tr("Saved to {path}", path=path))


def compared(
    talk: ChatSession,
    rival: ChatSession,
    question: str,
    answer: Callable[..., object],
    *,
    again: bool,
    json_output: bool,
) -> bool:
    """Let ``rival`` answer the same ``question`` after ``talk``, unless that answer was stopped.

    Args:
        talk: The main session.
        rival: The second session.
        question: The question.
        answer: Shows an answer and measures it: session, question, ``again`` and ``lane``.
        again: Whether it replaces the last question.
        json_output: Whether the result is printed as data, instead of in words.

    Returns:
        Whether both answers are complete.
    """
    rival.along = rival.along and again
    race = talk.race = Race((talk.endpoint, rival.endpoint), "turns", time.time())
    first, second = race.lanes

    def let(session: ChatSession, lane: Lane, *, again: bool) -> None:
        if not json_output:
            tell(f"\n{race.names[race.lanes.index(lane)]}:")
        answer(session, question, again=again, lane=lane)

    try:
        let(talk, first, again=again)
    finally:
        if first.outcome != "complete":
            second.skip()
    if second.outcome is None:
        let(rival, second, again=_prepared(talk, rival, question, again=again))
    _tell_result(race.result(), json_output=json_output)
    return first.outcome == second.outcome == "complete"


def _tell_result(result: RaceResult, *, json_output: bool) -> None:
    if result.lanes[1].outcome == "not_asked":
        tell(tr("{name} was not queried.", name=result.lanes[1].name))
    elif json_output:
        print(to_json(result), flush=True)
    else:
        tell(for_stderr(f"\n{spoken(result)}"))


def _prepared(talk: ChatSession, rival: ChatSession, question: str, *, again: bool) -> bool:
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
