"""Answers in the shapes of OpenAI's API; `tests/gateway` reads them with OpenAI's own types."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring
from typing import Any, Literal, Protocol

from wizard.chat.ask import Piece, ToolCall, whole_calls
from wizard.chat.conversation import TokenLogprob
from wizard.gateway.faults import Fault

REASONS = {"gate": "stop", "end": "stop"}
"""Finish reasons that OpenAI does not have: a confidence gate answered; the server reports none."""
PREFIX: dict[str, str] = {"chat": "chatcmpl-", "completion": "cmpl-"}
WHOLE: dict[str, str] = {"chat": "chat.completion", "completion": "text_completion"}
EVENT: dict[str, str] = {"chat": "chat.completion.chunk", "completion": "text_completion"}
DONE = b"data: [DONE]\n\n"
HOLE = "\0"
"""Where the text goes in the frame of an event; the model's name, which precedes it, cannot hide it."""
as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""A value as compact JSON; `json.dumps` would make an encoder for each event."""


def event(data: dict[str, Any]) -> bytes:
    """A server-sent event."""
    return b"data: " + as_json(data).encode(errors="replace") + b"\n\n"


class Writer(Protocol):
    """Writes an answer in the shape of an API."""

    def begin(self) -> bytes: ...  # noqa: D102
    def take(self, index: int, piece: Piece) -> bytes: ...  # noqa: D102
    def end(self) -> bytes: ...  # noqa: D102
    def whole(self, pieces: Sequence[tuple[int, Piece]]) -> dict[str, Any]: ...  # noqa: D102
    def failed(self, fault: Fault) -> bytes: ...  # noqa: D102


@dataclass(slots=True)
class _Choice:
    """One of several answers: the last piece, characters of a completion's text before the next token, and calls."""

    last: Piece | None = None
    offset: int = 0
    calls: int = 0
    frames: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    """Kind of text → the event around it: all events with the same kind of text differ in the text alone."""


@dataclass(slots=True)
class Answer:
    """Writes an answer, or several, piece by piece or whole.

    Attributes:
        kind: Which of the two APIs.
        model: As the client named it.
        with_usage: Whether events have the member ``usage``.
        n: Answers to each prompt.
        prompts: Prompts; answer ``i`` is to prompt ``i // n``.
    """

    kind: Literal["chat", "completion"]
    model: str
    with_usage: bool = False
    n: int = 1
    prompts: int = 1
    _id: str = field(default_factory=lambda: uuid.uuid4().hex)
    _created: int = field(default_factory=lambda: int(time.time()))
    _choices: list[_Choice] = field(default_factory=list)

    def __post_init__(self) -> None:
        """All answers begin empty."""
        self._choices = [_Choice() for _ in range(self.n * self.prompts)]

    def begin(self) -> bytes:
        """The events before the first text."""
        if self.kind == "completion":
            return b""
        content = {"delta": {"role": "assistant", "content": ""}}
        return b"".join(self._event(index, content) for index in range(len(self._choices)))

    def take(self, index: int, piece: Piece) -> bytes:
        """The events for a piece of answer ``index``; none for an empty one."""
        choice = self._choices[index]
        choice.last = piece
        logprobs = self._logprobs(piece.logprobs, choice) if piece.logprobs else None
        events = b""
        if piece.thought:
            events = self._framed(index, "reasoning_content", piece.thought)
        if logprobs:
            events += self._event(index, {**self._text("content", piece.text), "logprobs": logprobs})
        elif piece.text:
            events += self._framed(index, "content", piece.text)
        if piece.calls:
            calls = [_part(call, choice) for call in piece.calls]
            events += self._event(index, {"delta": {"tool_calls": calls}})
        if piece.finish:
            content: dict[str, Any] = {"delta": {}} if self.kind == "chat" else {"text": ""}
            events += self._event(index, content, REASONS.get(piece.finish, piece.finish))
        return events

    def end(self) -> bytes:
        """The events after the last piece."""
        return (event({**self._head(EVENT), "choices": [], "usage": self.usage()}) if self.with_usage else b"") + DONE

    def whole(self, pieces: Sequence[tuple[int, Piece]]) -> dict[str, Any]:
        """The complete answer, of the pieces of all choices."""
        each = [[piece for number, piece in pieces if number == index] for index in range(len(self._choices))]
        choices = [self._whole(index, own) for index, own in enumerate(each)]
        return {**self._head(WHOLE), "choices": choices, "usage": self.usage()}

    def _whole(self, index: int, pieces: Sequence[Piece]) -> dict[str, Any]:
        choice, last = self._choices[index], pieces[-1]
        choice.last = last
        text = "".join(piece.text for piece in pieces)
        tokens = [token for piece in pieces for token in piece.logprobs]
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        if thought := "".join(piece.thought for piece in pieces):
            message["reasoning_content"] = thought
        if calls := whole_calls(pieces):
            message |= {"content": text or None, "tool_calls": [*map(_call, calls)]}
        return {
            "index": index,
            **({"message": message} if self.kind == "chat" else {"text": text}),
            "logprobs": self._logprobs(tokens, choice) if tokens else None,
            "finish_reason": REASONS.get(last.finish, last.finish),
        }

    def failed(self, fault: Fault) -> bytes:
        """The event that ends a stream with an error."""
        return event(fault.body())

    def usage(self) -> dict[str, int] | None:
        """The numbers of tokens as the engine counted them; None if it did not: they are never estimated.

        A prompt counts once, however many answers it has.
        """
        prompt = _sum(each.last.prompt_tokens if each.last else None for each in self._choices[:: self.n])
        answer = _sum(each.last.tokens if each.last else None for each in self._choices)
        if prompt is None or answer is None:
            return None
        return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}

    def _head(self, kinds: dict[str, str]) -> dict[str, Any]:
        return {
            "id": PREFIX[self.kind] + self._id,
            "object": kinds[self.kind],
            "created": self._created,
            "model": self.model,
        }

    def _event(self, index: int, content: dict[str, Any], finish: str | None = None) -> bytes:
        usage = {"usage": None} if self.with_usage else {}
        choice = {"index": index, "logprobs": None, **content, "finish_reason": finish}
        return event({**self._head(EVENT), "choices": [choice], **usage})

    def _text(self, kind: str, text: str) -> dict[str, Any]:
        return {"delta": {kind: text}} if self.kind == "chat" else {"text": text}

    def _framed(self, index: int, kind: str, text: str) -> bytes:
        """The event with ``text`` alone; only the text is encoded."""
        frames = self._choices[index].frames
        if kind not in frames:
            before, _, after = self._event(index, self._text(kind, HOLE)).rpartition(as_json(HOLE).encode())
            frames[kind] = before, after
        before, after = frames[kind]
        return before + encode_basestring(text).encode(errors="replace") + after

    def _logprobs(self, tokens: Sequence[TokenLogprob], choice: _Choice) -> dict[str, Any]:
        if self.kind == "chat":
            return {"content": [{**_token(t.text, t.logprob), "top_logprobs": [*map(_pair, t.top)]} for t in tokens]}
        offsets = []
        for token in tokens:
            offsets.append(choice.offset)
            choice.offset += len(token.text)
        return {
            "tokens": [token.text for token in tokens],
            "token_logprobs": [token.logprob for token in tokens],
            "top_logprobs": [dict(token.top) for token in tokens],
            "text_offset": offsets,
        }


def _sum(counts: Iterable[int | None]) -> int | None:
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": f"call_{uuid.uuid4().hex}", "type": "function", "function": function}


def _part(call: ToolCall, choice: _Choice) -> dict[str, Any]:
    """A call in an event: a new one, or only more arguments of the last one."""
    choice.calls += bool(call.name)
    whole = _call(call) if call.name else {"function": {"arguments": call.arguments}}
    return {"index": choice.calls - 1, **whole}


def _token(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode(errors="replace"))}


def _pair(pair: tuple[str, float]) -> dict[str, Any]:
    return _token(*pair)
