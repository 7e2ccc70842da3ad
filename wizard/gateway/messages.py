"""Anthropic's Messages API in front of the same models (docs.claude.com/en/api/messages, …/messages-streaming).

Shapes as the client of PyPI's ``anthropic`` has them. A message becomes the same request for a chat completion. Images
and visible thinking are refused; ``count_tokens`` is missing, as most models' tokenizers are only in the engine.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from wizard.chat.ask import Piece, ToolCall, whole_calls
from wizard.gateway import bodies
from wizard.gateway.bodies import Part, Wanted
from wizard.gateway.checked import Checked, Many
from wizard.gateway.faults import Fault, unsupported
from wizard.gateway.tools import MOST_TOOLS

PATH = "/v1/messages"
STOPS = {"length": "max_tokens", "tool_calls": "tool_use"}
"""Finish reason → Anthropic's; the others are ``end_turn``."""
CHOICES = {"auto": "auto", "any": "required", "none": "none"}
"""``tool_choice`` → OpenAI's; a choice of the type ``tool`` has the name of the tool."""
THOUGHTS = ("thinking", "redacted_thinking")
"""Blocks of earlier answers that are not sent to the model again."""
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


class _Block(Part):
    """A part of a message: a text, a call of a tool, or its result."""

    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    tool_use_id: str | None = None
    content: str | Many[Part] | None = None


class _Turn(Checked):
    role: Literal["user", "assistant"]
    content: str | Many[_Block]


class _Tool(Checked):
    type: Literal["custom"] | None = None
    name: str
    description: str | None = None
    input_schema: dict[str, Any]


class _Choice(Checked):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class _Body(Checked):
    model: str
    messages: Annotated[Many[_Turn], Field(min_length=1)]
    system: str | Many[Part] | None = None
    tools: Annotated[Many[_Tool], Field(max_length=MOST_TOOLS)] | None = None
    tool_choice: _Choice | None = None
    thinking: Any = None
    max_tokens: Annotated[int, Field(ge=1)]
    stop_sequences: Many[str] | None = None
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
    if body.thinking and body.thinking != {"type": "disabled"}:
        raise unsupported("thinking", "thinking is not supported by this server, except to disable it")
    turns: list[dict[str, Any]] = [{"role": "system", "content": _text(body.system)}] if body.system else []
    for turn in body.messages:
        turns += _turns(turn)
    same = {name: getattr(body, name) for name in ("model", "max_tokens", "stream", "temperature", "top_p", "top_k")}
    thinking = {"reasoning_effort": "none"} if body.thinking else {}
    wanted = {**same, **thinking, **_tools(body), "messages": turns, "stop": body.stop_sequences}
    return bodies.chat(json.dumps(wanted).encode())


def _tools(body: _Body) -> dict[str, Any]:
    """The tools and the choice among them, as OpenAI's API has them."""
    given: dict[str, Any] = {}
    if body.tools:
        functions = [
            {"name": each.name, "description": each.description, "parameters": each.input_schema} for each in body.tools
        ]
        given["tools"] = [{"type": "function", "function": each} for each in functions]
    if choice := body.tool_choice:
        named = {"type": "function", "function": {"name": choice.name or ""}}
        given["tool_choice"] = CHOICES.get(choice.type, named)
        given["parallel_tool_calls"] = not choice.disable_parallel_tool_use
    return given


def _turns(turn: _Turn) -> list[dict[str, Any]]:
    """A message as OpenAI's API has it: results of tools are messages of their own, before the text beside them."""
    if isinstance(turn.content, str):
        return [{"role": turn.role, "content": turn.content}]
    results, calls, texts = [], [], list[Part]()
    for block in turn.content:
        if block.type == "tool_result" and turn.role == "user" and block.tool_use_id:
            results.append({"role": "tool", "tool_call_id": block.tool_use_id, "content": _text(block.content or "")})
        elif block.type == "tool_use" and turn.role == "assistant" and block.id and block.name:
            function = {"name": block.name, "arguments": json.dumps(block.input or {})}
            calls.append({"id": block.id, "type": "function", "function": function})
        elif not (block.type in THOUGHTS and turn.role == "assistant"):
            texts.append(block)
    rest = {"role": turn.role, "content": _text(texts), **({"tool_calls": calls} if calls else {})}
    return [*results, rest] if texts or calls or not results else results


def _text(content: str | Sequence[Part]) -> str:
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
    _blocks: int = 0
    """Begun so far."""
    _kind: str = ""
    """Of the last one."""
    _called: bool = False

    def begin(self) -> bytes:
        """Nothing: the first event has the number of prompt tokens, which comes with the first piece."""
        return b""

    def take(self, _index: int, piece: Piece) -> bytes:
        """The events for a piece; none for an empty one."""
        events = b""
        if self._last is None:
            started = {**self._message([], piece), "stop_reason": None}
            events = event({"type": "message_start", "message": started})
        self._last = piece
        if piece.text:
            if self._kind != "text":
                events += self._end() + self._begin({"type": "text", "text": ""})
            events += self._delta({"type": "text_delta", "text": piece.text})
        for call in piece.calls:
            if call.name:
                self._called = True
                events += self._end() + self._begin({**_use(call), "input": {}})
            events += self._delta({"type": "input_json_delta", "partial_json": call.arguments})
        if piece.finish:
            if not self._blocks:
                events += self._begin({"type": "text", "text": ""})
            stopped = {"stop_reason": _stop(piece, self._called), "stop_sequence": None}
            events += self._end() + event({"type": "message_delta", "delta": stopped, "usage": _usage(piece)})
        return events

    def end(self) -> bytes:
        """The event after the last piece."""
        return event({"type": "message_stop"})

    def whole(self, pieces: Sequence[tuple[int, Piece]]) -> dict[str, Any]:
        """The complete message."""
        text, last = "".join(piece.text for _, piece in pieces), pieces[-1][1]
        calls = whole_calls(piece for _, piece in pieces)
        self._called = bool(calls)
        content = [{"type": "text", "text": text}] if text or not calls else []
        return self._message([*content, *map(_use, calls)], last)

    def failed(self, fault: Fault) -> bytes:
        """The event that ends a stream with an error."""
        return event(error(fault))

    def _begin(self, block: dict[str, Any]) -> bytes:
        self._blocks += 1
        self._kind = block["type"]
        return event({"type": "content_block_start", "index": self._blocks - 1, "content_block": block})

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return event({"type": "content_block_delta", "index": self._blocks - 1, "delta": delta})

    def _end(self) -> bytes:
        """The end of the last block, if there is one."""
        return event({"type": "content_block_stop", "index": self._blocks - 1}) if self._blocks else b""

    def _message(self, content: list[dict[str, Any]], piece: Piece) -> dict[str, Any]:
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": _stop(piece, self._called),
            "stop_sequence": None,
            "usage": _usage(piece),
        }


def _use(call: ToolCall) -> dict[str, Any]:
    """A call as a block; arguments that were cut, or are no object, are its text as ``arguments``."""
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):
        given = None
    given = given if isinstance(given, dict) else {"arguments": call.arguments}
    return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": call.name, "input": given}


def _stop(piece: Piece, called: bool) -> str:
    """OpenAI's API ends a call that the client named with ``stop``; here every call ends with ``tool_use``."""
    return "tool_use" if called and piece.finish != "length" else STOPS.get(piece.finish, "end_turn")


def _usage(piece: Piece) -> dict[str, int]:
    """The engine's counts; the API requires numbers, so 0 where the engine reports none."""
    return {"input_tokens": piece.prompt_tokens or 0, "output_tokens": piece.tokens or 0}
