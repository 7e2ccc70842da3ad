"""An answer with tools: the model calls them, the user allows it, and the model gets the results, until it answers."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from wizard.chat.ask import ToolCall
from wizard.chat.chunk import Chunk, Text
from wizard.chat.conversation import Conversation, Stats, decoding_rate
from wizard.chat.tools.called import Called
from wizard.chat.tools.consent import Consent, Decision
from wizard.chat.tools.tool import Tool, ToolServerError
from wizard.chat.tools.toolbox import Offer, Toolbox
from wizard.kernel.language import tr
from wizard.kernel.text import one_line

MOST_ROUNDS = 16
"""Rounds of calls for a question; then the model has to answer without tools."""
LONGEST_ID = 100
"""Characters of a server's name for a call."""
DENIED = "The user denied this call. Do not repeat it; answer without it, or ask the user."
"""For the model, as the other results below."""
NOT_ALLOWED = "The user does not allow this tool. Answer without it."

Number = TypeVar("Number", int, float)
Send: TypeAlias = Callable[[Conversation, Sequence[Mapping[str, Any]]], AsyncGenerator[Chunk, None]]
"""Streams the answer to a conversation, with functions in OpenAI's format."""
Decide: TypeAlias = Callable[[Called, Tool], Awaitable[Decision]]
"""Asks the user about a call."""


async def deny(_call: Called, _tool: Tool) -> Decision:
    """The decision where there is nobody to ask."""
    return "deny"


@dataclass(slots=True)
class ToolUse:
    """The tools of a chat.

    Attributes:
        toolbox: All of them.
        consent: The standing decisions.
        decide: Asks the user.
        off: Whether the user turned tools off in this chat.
        refused: Models that refused a request with tools, which then get none, by address and name.
    """

    toolbox: Toolbox
    consent: Consent
    decide: Decide = deny
    off: bool = False
    refused: set[tuple[str, str]] = field(default_factory=set)

    async def offer(self) -> Offer:
        """The tools for the model: all but those that the user never allows.

        Raises:
            UsageError: TW-C42 if a tool that may be called is unknown.
        """
        offer = await self.toolbox.offer()
        self.consent.check({tool.key: tool for tool in offer.tools})
        return replace(offer, tools=tuple(tool for tool in offer.tools if self.consent.of(tool) != "never"))


async def answer(
    send: Send, conversation: Conversation, tools: Sequence[Tool], use: ToolUse
) -> AsyncGenerator[Chunk, None]:
    """Stream the answer to ``conversation``, with the calls before it; the last chunk has the measurements of all
    requests together.

    Raises:
        WizardError: See `wizard.chat.stream.answer`.
    """
    known = {tool.offered: tool for tool in tools}
    text, measured = Text(), list[Stats]()
    for number in range(MOST_ROUNDS + 1):
        last = number == MOST_ROUNDS
        if last:
            yield Chunk(
                "", note=tr("Tools were called {count} times in a row; the model has to answer now.", count=number)
            )
        so_far = conversation.with_message("assistant", "", calls=text.calls) if text.calls else conversation
        wanted: tuple[ToolCall, ...] = ()
        async with aclosing(send(so_far, () if last else [tool.definition for tool in tools])) as chunks:
            async for chunk in chunks:
                text.add(chunk)
                wanted = chunk.calls or wanted
                measured += [chunk.stats] if chunk.stats else []
                yield _later(replace(chunk, stats=None), measured[:number])
        if not wanted or last:
            break
        for at, call in enumerate(wanted):
            new = _called(call, number, known, text, first=at == 0)
            async with aclosing(_states(new, known.get(call.name), use)) as states:
                async for state in states:
                    piece = Chunk("", called=state, thought="\n\n" if _begins(text, state) else "")
                    text.add(piece)
                    yield piece
    yield Chunk("", _together(measured))


def _begins(text: Text, state: Called) -> bool:
    """Whether a round of calls begins after a thought, which the next thought must not be joined to."""
    return bool(text.thought) and all(each.round < state.round for each in text.calls)


def _called(call: ToolCall, number: int, known: Mapping[str, Tool], text: Text, *, first: bool) -> Called:
    """The call as a value. Its ID must be unique in the conversation's request, and some templates want nine letters
    and digits (Mistral's).
    """
    tool = known.get(call.name)
    server, name = (tool.server, tool.name) if tool else ("", call.name)
    taken = {each.id for each in text.calls}
    id = call.id if call.id and call.id not in taken and len(call.id) <= LONGEST_ID else f"call{len(taken):05d}"
    before = text.answer if first else ""
    return Called(id, call.name, server, name, call.arguments, round=number, before=before)


async def _states(call: Called, tool: Tool | None, use: ToolUse) -> AsyncGenerator[Called, None]:
    """The states of a call until it has its result."""
    arguments, wrong = _arguments(call, tool)
    if wrong or tool is None:
        yield replace(call, outcome="failed", result=wrong)
        return
    standing = use.consent.of(tool)
    if standing is None:
        yield call
        decision = await use.decide(call, tool)
        if decision in ("always", "never"):
            use.consent.set(tool, decision)
    else:
        decision = standing
    if decision in ("deny", "never"):
        yield replace(call, outcome="denied", result=DENIED if decision == "deny" else NOT_ALLOWED)
        return
    yield replace(call, outcome="running")
    try:
        result = await use.toolbox.call(tool, arguments)
    except ToolServerError as error:
        yield replace(call, outcome="failed", result=f"The tool server failed: {error}")
        return
    yield replace(call, outcome="failed" if result.failed else "done", result=result.text)


def _arguments(call: Called, tool: Tool | None) -> tuple[dict[str, Any], str]:
    """The arguments, and what is wrong with the call; empty if nothing is."""
    if tool is None:
        return {}, f"There is no tool {one_line(call.name)[:100]!r}."
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        return {}, "The arguments are not a JSON object."
    return arguments, ""


def _later(chunk: Chunk, earlier: Sequence[Stats]) -> Chunk:
    """``chunk`` of a request after others for the same answer: counts and times go on."""
    if not earlier:
        return chunk
    seconds = sum(each.total_s for each in earlier)
    return replace(
        chunk,
        tokens=None if chunk.tokens is None else chunk.tokens + sum(each.tokens or 0 for each in earlier),
        pieces=None if chunk.pieces is None else chunk.pieces + sum(each.pieces or 0 for each in earlier),
        ttft_s=None if chunk.ttft_s is None else earlier[0].ttft_s,
        at_s=None if chunk.at_s is None else chunk.at_s + seconds,
    )


def _together(measured: Sequence[Stats]) -> Stats | None:
    """The measurements of all requests for an answer; the time that the tools took is not the model's."""
    if len(measured) < 2:
        return measured[0] if measured else None
    last, total_s = measured[-1], sum(each.total_s for each in measured)
    thoughts = [each for each in measured if each.thought_s is not None]
    return Stats(
        _sum([each.tokens for each in measured]),
        measured[0].ttft_s,
        total_s,
        last.finish,
        thought_tokens=_sum([each.thought_tokens for each in thoughts]),
        thought_s=_sum([each.thought_s for each in thoughts]),
        answer_s=None if last.answer_s is None else total_s - last.total_s + last.answer_s,
        pieces=_sum([each.pieces for each in measured]),
        thought_pieces=_sum([each.thought_pieces for each in thoughts]),
        rate=_rate(measured),
    )


def _rate(measured: Sequence[Stats]) -> float | None:
    """The decoding rate of all requests: the times to their first tokens do not count, of later ones neither."""
    counted = all(each.tokens is not None for each in measured)
    requests = ((each.tokens if counted else each.pieces, each.ttft_s, each.total_s) for each in measured)
    return decoding_rate((count or 0, first_s, total_s) for count, first_s, total_s in requests)


def _sum(values: Sequence[Number | None]) -> Number | None:
    """The sum; None without any, or if one is unknown."""
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(values) else None
