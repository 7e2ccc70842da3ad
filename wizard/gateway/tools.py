"""Functions that a model may call: ``tools`` and ``tool_choice`` (platform.openai.com/docs/guides/function-calling).

With ``auto`` the engine's own parser finds the calls in a free answer. A call that is required is an answer guided by a
schema, so that every engine with guided decoding can do it: the arguments of the named function, or an array of calls.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from wizard.chat.ask import Piece, ToolCall
from wizard.gateway.checked import Checked, Many
from wizard.gateway.faults import Fault
from wizard.gateway.guided import as_text
from wizard.repository.call_pieces import CallPieces

MOST_TOOLS = 128
"""OpenAI's limit."""
NO_PARAMETERS = {"type": "object", "properties": {}}
_Name = Annotated[str, Field(pattern=r"^[\w.:/-]{1,128}$")]


class _Function(Checked):
    name: _Name
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Tool(Checked):
    """A function that the model may call."""

    type: Literal["function"]
    function: _Function


class _Named(Checked):
    name: _Name


class NamedChoice(Checked):
    """The function that the model must call."""

    type: Literal["function"]
    function: _Named


class _Called(Checked):
    name: str
    arguments: str


class Call(Checked):
    """A call in an earlier answer."""

    id: str
    type: Literal["function"] = "function"
    function: _Called


GivenTools = Annotated[Many[Tool], Field(max_length=MOST_TOOLS)] | None
Choice = Literal["none", "auto", "required"] | NamedChoice | None


@dataclass(frozen=True, slots=True)
class Tools:
    """The functions of a request.

    Attributes:
        given: Each as templates and engines read it, in OpenAI's format.
        named: The name of the function that must be called; None if the model chooses which.
        parallel: Whether there may be several calls.
        schema: The JSON schema that the answer must match, as text; None if none must be called.
    """

    given: tuple[dict[str, Any], ...]
    named: str | None
    parallel: bool
    schema: str | None


def tools_of(given: GivenTools, choice: Choice, parallel: bool | None) -> Tools | None:
    """The functions; None if there are none, or none may be called.

    Raises:
        Fault: TW-G03 the choice contradicts them.
    """
    if not given and choice not in (None, "none", "auto"):
        raise Fault("TW-G03", 400, "tool_choice needs tools", "tool_choice")
    if not given or choice == "none":
        return None
    functions = [{"parameters": NO_PARAMETERS, **tool.function.model_dump(exclude_none=True)} for tool in given]
    several = parallel is not False
    schema = None
    if isinstance(choice, NamedChoice):
        named = [each for each in functions if each["name"] == choice.function.name]
        if not named:
            raise Fault("TW-G03", 400, "tool_choice names a function that is not in tools", "tool_choice")
        schema = as_text(named[0]["parameters"], "tools")
    elif choice == "required":
        schema = as_text(_array(functions, several), "tools")
    only = choice.function.name if isinstance(choice, NamedChoice) else None
    return Tools(tuple({"type": "function", "function": each} for each in functions), only, several, schema)


def _array(functions: Sequence[Mapping[str, Any]], several: bool) -> dict[str, Any]:
    """The schema of an array of calls; definitions that parameters refer to are at its root, where ``$ref`` looks."""
    definitions: dict[str, Any] = {}
    items = []
    for each in functions:
        parameters = dict(each["parameters"])
        for name, definition in parameters.pop("$defs", {}).items():
            if definitions.setdefault(name, definition) != definition:
                raise Fault("TW-G03", 400, f"two tools define $defs/{name[:100]} differently", "tools")
        properties = {"name": {"type": "string", "enum": [each["name"]]}, "parameters": parameters}
        items.append({"type": "object", "properties": properties, "required": ["name", "parameters"]})
    most = {} if several else {"maxItems": 1}
    defined = {"$defs": definitions} if definitions else {}
    return {"type": "array", "minItems": 1, **most, "items": {"anyOf": items}, **defined}


async def called(pieces: AsyncGenerator[Piece, None], tools: Tools) -> AsyncGenerator[Piece, None]:
    """``pieces`` with the calls as the client wants them; the text of a guided answer becomes calls."""
    calls = _Calls(tools)
    async with aclosing(pieces) as stream:
        async for piece in stream:
            yield calls.take(piece)


class _Calls:
    """The calls in an answer, as they come."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._required = CallPieces("parameters", array=True) if tools.schema and not tools.named else None
        self._held = ""  # of a guided answer in which no call has begun
        self._begun = 0

    def take(self, piece: Piece) -> Piece:
        """``piece`` with calls; an answer that was cut before its first one is a text."""
        if self._tools.schema is not None:
            piece = self._guided(piece)
        calls = []
        for call in piece.calls:
            self._begun += bool(call.name)
            if self._tools.parallel or self._begun <= 1:
                calls.append(call)
        # OpenAI reports `stop` for a function that the client named.
        ended = self._begun and piece.finish == "stop" and self._tools.named is None
        return replace(piece, calls=tuple(calls), finish="tool_calls" if ended else piece.finish)

    def _guided(self, piece: Piece) -> Piece:
        if self._required is None:  # the whole answer is the arguments of the function that the client named
            name = "" if self._begun else self._tools.named or ""
            sent = piece.text or (piece.finish and name)
            return replace(piece, text="", calls=(ToolCall(name, piece.text),) if sent else ())
        calls = tuple(ToolCall(*call) for call in self._required.take(piece.text))
        self._held = "" if calls or self._begun else self._held + piece.text
        return replace(piece, text=self._held if piece.finish else "", calls=calls)


def turn_call(call: Call) -> dict[str, Any]:
    """A call in an earlier answer as templates read it: with the arguments as an object.

    Raises:
        Fault: TW-G03 the arguments are not a JSON object.
    """
    try:
        arguments = json.loads(call.function.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise Fault("TW-G03", 400, "the arguments of a tool call must be a JSON object, as text", "messages")
    return {"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": arguments}}


def packed(tools: Tools, turns: Sequence[Mapping[str, Any]]) -> str:
    """The functions and the conversation for the engine, see `wizard.chat.ask.Ask.tools`."""
    return json.dumps({"tools": tools.given, "messages": [*map(_as_openai, turns)]})


def _as_openai(message: Mapping[str, Any]) -> dict[str, Any]:
    calls = [
        {**call, "function": {**call["function"], "arguments": json.dumps(call["function"]["arguments"])}}
        for call in message.get("tool_calls", ())
    ]
    return {**message, **({"tool_calls": calls} if calls else {})}
