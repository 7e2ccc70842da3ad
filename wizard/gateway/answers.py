"""Answers in the shapes of OpenAI's API; `tests/gateway` reads them with OpenAI's own types."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from wizard.chat.ask import Piece
from wizard.chat.conversation import TokenLogprob
from wizard.gateway.faults import Fault

REASONS = {"gate": "stop", "end": "stop"}
"""Finish reasons that OpenAI does not have: a confidence gate answered; the server reports none."""
PREFIX: dict[str, str] = {"chat": "chatcmpl-", "completion": "cmpl-"}
WHOLE: dict[str, str] = {"chat": "chat.completion", "completion": "text_completion"}
EVENT: dict[str, str] = {"chat": "chat.completion.chunk", "completion": "text_completion"}
DONE = b"data: [DONE]\n\n"


def event(data: dict[str, Any]) -> bytes:
    """A server-sent event."""
    return b"data: " + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n\n"


class Writer(Protocol):
    """Writes an answer in the shape of an API."""

    def begin(self) -> bytes: ...  # noqa: D102
    def take(self, piece: Piece) -> bytes: ...  # noqa: D102
    def end(self) -> bytes: ...  # noqa: D102
    def whole(self, pieces: Sequence[Piece]) -> dict[str, Any]: ...  # noqa: D102
    def failed(self, fault: Fault) -> bytes: ...  # noqa: D102


@dataclass(slots=True)
class Answer:
    """Writes an answer, piece by piece or whole.

    Attributes:
        kind: Which of the two APIs.
        model: As the client named it.
        with_usage: Whether events have the member ``usage``.
    """

    kind: Literal["chat", "completion"]
    model: str
    with_usage: bool = False
    _id: str = field(default_factory=lambda: uuid.uuid4().hex)
    _created: int = field(default_factory=lambda: int(time.time()))
    _offset: int = 0  # characters of a completion's text before the next token
    _last: Piece | None = None

    def begin(self) -> bytes:
        """The events before the first text."""
        return self._event({"delta": {"role": "assistant", "content": ""}}) if self.kind == "chat" else b""

    def take(self, piece: Piece) -> bytes:
        """The events for a piece; none for an empty one."""
        self._last = piece
        logprobs = self._logprobs(piece.logprobs) if piece.logprobs else None
        events = b""
        if piece.text or logprobs:
            content: dict[str, Any] = {"text": piece.text}
            if self.kind == "chat":
                content = {"delta": {"content": piece.text}}
            events = self._event({**content, "logprobs": logprobs})
        if piece.finish:
            content = {"delta": dict[str, str]()} if self.kind == "chat" else {"text": ""}
            events += self._event(content, REASONS.get(piece.finish, piece.finish))
        return events

    def end(self) -> bytes:
        """The events after the last piece."""
        return (event({**self._head(EVENT), "choices": [], "usage": self.usage()}) if self.with_usage else b"") + DONE

    def whole(self, pieces: Sequence[Piece]) -> dict[str, Any]:
        """The complete answer."""
        self._last = pieces[-1]
        text = "".join(piece.text for piece in pieces)
        tokens = [token for piece in pieces for token in piece.logprobs]
        content = {"message": {"role": "assistant", "content": text, "refusal": None}}
        choice = {
            "index": 0,
            **(content if self.kind == "chat" else {"text": text}),
            "logprobs": self._logprobs(tokens) if tokens else None,
            "finish_reason": REASONS.get(self._last.finish, self._last.finish),
        }
        return {**self._head(WHOLE), "choices": [choice], "usage": self.usage()}

    def failed(self, fault: Fault) -> bytes:
        """The event that ends a stream with an error."""
        return event(fault.body())

    def usage(self) -> dict[str, int] | None:
        """The numbers of tokens as the engine counted them; None if it did not: they are never estimated."""
        prompt, answer = (self._last.prompt_tokens, self._last.tokens) if self._last else (None, None)
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

    def _event(self, content: dict[str, Any], finish: str | None = None) -> bytes:
        usage = {"usage": None} if self.with_usage else {}
        choice = {"index": 0, "logprobs": None, **content, "finish_reason": finish}
        return event({**self._head(EVENT), "choices": [choice], **usage})

    def _logprobs(self, tokens: Sequence[TokenLogprob]) -> dict[str, Any]:
        if self.kind == "chat":
            return {"content": [{**_token(t.text, t.logprob), "top_logprobs": [*map(_pair, t.top)]} for t in tokens]}
        offsets = []
        for token in tokens:
            offsets.append(self._offset)
            self._offset += len(token.text)
        return {
            "tokens": [token.text for token in tokens],
            "token_logprobs": [token.logprob for token in tokens],
            "top_logprobs": [dict(token.top) for token in tokens],
            "text_offset": offsets,
        }


def _token(text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(text.encode(errors="replace"))}


def _pair(pair: tuple[str, float]) -> dict[str, Any]:
    return _token(*pair)
