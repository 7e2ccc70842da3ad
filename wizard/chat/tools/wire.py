"""Calls of tools in OpenAI's format: as messages of a request, and streamed in pieces
(platform.openai.com/docs/guides/function-calling).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from wizard.chat.ask import ToolCall
from wizard.chat.tools.called import Called, ended

MOST_CALLS = 128
LONGEST_ARGUMENTS = 2**20
"""Characters of the names and arguments of all calls in an answer."""
REFUSED = re.compile(r"\btools?\b|\btool[-_]?(?:call|choice)|function[- ]?call|has no functions", re.IGNORECASE)
"""In the error of a server that does not support tools: vLLM without a parser (``"auto" tool choice requires
--enable-auto-tool-choice``), llama-server without ``--jinja`` (``tools param requires --jinja flag``), Ollama (``does
not support tools``), and the wizard's own address.
"""


def messages(calls: Sequence[Called]) -> Iterator[dict[str, Any]]:
    """The messages for calls of an answer and their results, each round of calls in one message."""
    for _, group in groupby(ended(calls), key=lambda each: each.round):
        together = [*group]
        yield {
            "role": "assistant",
            "content": _utf8(together[0].before),
            "tool_calls": [
                {
                    "id": each.id,
                    "type": "function",
                    "function": {"name": each.name, "arguments": _utf8(each.arguments)},
                }
                for each in together
            ],
        }
        for each in together:
            yield {"role": "tool", "tool_call_id": each.id, "content": _utf8(each.result)}


def _utf8(text: str) -> str:
    return text.encode(errors="replace").decode()


class CallParts:
    """Assembles calls from the pieces in a stream."""

    def __init__(self) -> None:
        self._calls: dict[int, list[str]] = {}
        self._size = 0

    def take(self, pieces: Sequence[Mapping[str, Any]]) -> None:
        """Add the ``tool_calls`` of a delta.

        Raises:
            ValueError, TypeError, KeyError, AttributeError: They do not have this format, or are too many or too long.
        """
        for piece in pieces:
            index = piece.get("index")
            if index is None:  # some servers send whole calls, without a number
                index = len(self._calls)
            call = self._calls.setdefault(int(index), ["", "", ""])
            function = piece.get("function") or {}
            texts = [piece.get("id"), function.get("name"), function.get("arguments")]
            for at, text in enumerate(texts):
                if text and not (at == 0 and call[0]):
                    call[at] += str(text)
                    self._size += len(str(text))
            if len(self._calls) > MOST_CALLS or self._size > LONGEST_ARGUMENTS:
                raise ValueError("too many or too long tool calls")

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls so far, in their order."""
        return tuple(ToolCall(name, arguments, id) for _, (id, name, arguments) in sorted(self._calls.items()))
