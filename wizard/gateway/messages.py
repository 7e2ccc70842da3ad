"""Anthropic's Messages API in front of the same models (docs.claude.com/en/api/messages, …/messages-streaming).

Shapes as the client of PyPI's ``anthropic`` 2.12 has them. Tools, images and thinking are refused; ``count_tokens`` is
missing, as most models' tokenizers are only in the engine.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from wizard.chat.ask import Piece
from wizard.gateway import bodies
from wizard.gateway.bodies import Part, Wanted
from wizard.gateway.checked import Checked
from wizard.gateway.faults import Fault, unsupported

PATH = "/v1/messages"
STOPS = {"length": "max_tokens"}
"""Finish reason → Anthropic's; the others are ``end_turn``."""
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    503: "overloaded_error",
}
"""HTTP status → Anthropic's type of an error; others are ``api_error``."""


class _Turn(Checked):
    role: str
    content: str | list[Part]


class _Body(Checked):
    model: str
    messages: Annotated[list[_Turn], Field(min_length=1)]
    system: str | list[Part] | None = None
    tools: Any = None
    thinking: Any = None
    max_tokens: Annotated[int, Field(ge=1)]
    stop_sequences: list[str] | None = None
    stream: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None


def read(raw: bytes) -> Wanted:
    """Read the body of a message, as the same request for a chat completion.

    Raises:
        Fault, pydantic.ValidationError: See `bodies.chat`.
    """
    body = _Body.model_validate_json(raw)
    if body.tools:
        raise unsupported("tools", "tools are not supported by this server")
    if body.thinking and body.thinking != {"type": "disabled"}:
        raise unsupported("thinking", "thinking is not supported by this server")
    turns = [{"role": "system", "content": _text(body.system)}] if body.system else []
    for turn in body.messages:
        if turn.role not in ("user", "assistant"):
            raise Fault("TW-G03", 400, "messages: a role must be user or assistant", "messages")
        turns.append({"role": turn.role, "content": _text(turn.content)})
    same = {name: getattr(body, name) for name in ("model", "max_tokens", "stream", "temperature", "top_p", "top_k")}
    return bodies.chat(json.dumps({**same, "messages": turns, "stop": body.stop_sequences}).encode())


def _text(content: str | list[Part]) -> str:
    if isinstance(content, str):
        return content
    if any(part.type != "text" or part.text is None for part in content):
        raise unsupported("messages", "this model reads text only: every part of a message must be a text")
    return "".join(part.text or "" for part in content)


def event(data: dict[str, Any]) -> bytes:
    """A server-sent event; it also has its type as its name."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {data['type']}\ndata: {text}\n\n".encode(errors="replace")


def error(fault: Fault) -> dict[str, Any]:
    """An error as Anthropic's API has it; ``wizard_code`` is an addition of ours."""
    kind = KINDS.get(fault.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": str(fault), "wizard_code": fault.code}}


@dataclass(slots=True)
class Answer:
    """Writes a message, piece by piece or whole; the counterpart of `wizard.gateway.answers.Answer`."""

    model: str
    _id: str = field(default_factory=lambda: f"msg_{uuid.uuid4().hex}")
    _last: Piece | None = None

    def begin(self) -> bytes:
        """Nothing: the first event has the number of prompt tokens, which comes with the first piece."""
        return b""

    def take(self, _index: int, piece: Piece) -> bytes:
        """The events for a piece; none for an empty one."""
        events = b""
        if self._last is None:
            started = {**self._message("", piece), "content": [], "stop_reason": None}
            block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
            events = event({"type": "message_start", "message": started}) + event(block)
        self._last = piece
        if piece.text:
            delta = {"type": "text_delta", "text": piece.text}
            events += event({"type": "content_block_delta", "index": 0, "delta": delta})
        if piece.finish:
            stopped = {"stop_reason": STOPS.get(piece.finish, "end_turn"), "stop_sequence": None}
            events += event({"type": "content_block_stop", "index": 0})
            events += event({"type": "message_delta", "delta": stopped, "usage": _usage(piece)})
        return events

    def end(self) -> bytes:
        """The event after the last piece."""
        return event({"type": "message_stop"})

    def whole(self, pieces: Sequence[tuple[int, Piece]]) -> dict[str, Any]:
        """The complete message."""
        return self._message("".join(piece.text for _, piece in pieces), pieces[-1][1])

    def failed(self, fault: Fault) -> bytes:
        """The event that ends a stream with an error."""
        return event(error(fault))

    def _message(self, text: str, piece: Piece) -> dict[str, Any]:
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [{"type": "text", "text": text}],
            "stop_reason": STOPS.get(piece.finish or "", "end_turn"),
            "stop_sequence": None,
            "usage": _usage(piece),
        }


def _usage(piece: Piece) -> dict[str, int]:
    """The engine's counts; the API requires numbers, so 0 where the engine reports none."""
    return {"input_tokens": piece.prompt_tokens or 0, "output_tokens": piece.tokens or 0}
