"""Reads the functions that a model calls from JSON while it is being written.

Both the engine programs, beside which the wizard copies this file, and the OpenAI-compatible address use it: it runs in
Python 3.9 or newer and imports only the standard library.
"""

from __future__ import annotations

import json


class CallPieces:
    """Finds calls, ``{"name": "f", "arguments": {...}}``, in a text that arrives in pieces.

    Only the beginning of a text whose brackets match is understood. A call whose arguments precede its name, or are no
    object, is not found.
    """

    def __init__(self, arguments: str, array: bool = False) -> None:
        """Start.

        Args:
            arguments: The member that has a call's arguments.
            array: Whether all calls are in an array; otherwise each is a text of its own, with anything between them.
        """
        self._arguments = arguments
        self._level = 2 if array else 1  # of a call's members
        self._depth = 0
        self._string = self._escaped = self._inside = False
        self._word = self._key = self._name = ""

    def take(self, text: str) -> list[tuple[str, str]]:
        """Name and the beginning of the arguments of each call; without a name, more arguments of the last call."""
        calls: list[tuple[str, str]] = []
        name, start = "", 0
        for place, char in enumerate(text):
            inside = self._inside
            if self._string:
                self._in_string(char)
            else:
                self._between(char)
            if self._inside and not inside:
                name, start = self._name, place
            elif inside and not self._inside:
                calls.append((name, text[start : place + 1]))
                name = ""
        if self._inside and text[start:]:
            calls.append((name, text[start:]))
        return calls

    def _in_string(self, char: str) -> None:
        if self._escaped:
            self._escaped = False
        elif char == "\\":
            self._escaped = True
        elif char == '"':
            self._string = False
            if self._depth == self._level and self._key == "name":
                self._name = _text(self._word)
            return
        if self._depth == self._level:
            self._word += char

    def _between(self, char: str) -> None:
        if char == '"' and self._depth:
            self._string, self._word = True, ""
        elif char in "{[":
            named = self._depth == self._level and self._key == self._arguments and self._name
            self._inside = self._inside or bool(named and char == "{")
            self._depth += 1
        elif char in "}]" and self._depth:
            self._depth -= 1
            if self._depth == self._level:
                self._inside = False
            elif self._depth < self._level:
                self._key = self._name = ""
        elif self._depth == self._level and char in ":,":
            self._key = self._word if char == ":" else ""


def _text(word: str) -> str:
    try:
        return str(json.loads(f'"{word}"'))
    except ValueError:
        return ""
