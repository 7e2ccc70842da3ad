"""Conversations with which a chat template is tried before a server renders it: each kind may have its own branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MANY = 50
"""Questions of a long conversation; a template that needs more time per turn the more there are shows it."""
_HELLO = {"role": "user", "content": "Hello"}
_SYSTEM = {"role": "system", "content": "Answer briefly."}
_PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "A city"}},
    "required": ["city"],
}
_TOOLS = [
    {"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": _PARAMETERS}}
]
_CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": "call00001", "type": "function", "function": {"name": "weather", "arguments": {"city": "Bonn"}}}
    ],
}
_RESULT = {"role": "tool", "tool_call_id": "call00001", "name": "weather", "content": "Rain"}
_LONG = [_HELLO, {"role": "assistant", "content": "Good morning."}] * MANY

TRIAL: Sequence[Mapping[str, Any]] = (
    {"messages": [_HELLO]},
    {"messages": [_SYSTEM, _HELLO]},
    {"messages": [_HELLO], "tools": _TOOLS},
    {"messages": [_HELLO, _CALL, _RESULT], "tools": _TOOLS},
    {"messages": [*_LONG, _HELLO]},
    {"messages": [_SYSTEM, *_LONG, _HELLO, _CALL, _RESULT], "tools": _TOOLS},
)
"""Each has ``messages``, as OpenAI's, and further variables of the template. Without the system role, tools and long
conversations are tried, too: a template may reject that role before it reads anything else.
"""
