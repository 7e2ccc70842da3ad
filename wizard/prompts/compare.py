"""Compare with a second model: its answer comes after the first one's, with a comparison of the measurements."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from wizard.chat.commands.session import ChatSession
from wizard.chat.race import Lane, Race, RaceResult
from wizard.chat.race_report import spoken
from wizard.kernel.language import tr
from wizard.kernel.values import to_json
from wizard.prompts.speech import for_stderr, tell


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
