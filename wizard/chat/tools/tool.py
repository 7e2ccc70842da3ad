"""The values of a server's tools and their results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wizard.chat.tools.config import ToolServer
from wizard.kernel.language import tr
from wizard.kernel.text import one_line, plain
from wizard.kernel.values import fingerprint

LONGEST_RESULT = 100_000
"""Characters of a result that are kept and sent to the model, which is some 25,000 tokens."""
LONGEST_DESCRIPTION = 4_000
"""Characters."""
LARGEST_SCHEMA = 2**16
"""Characters of a tool's schema as JSON."""
LONGEST_NAME = 128
OFFERED = 64
"""Characters of a function's name (OpenAI's limit)."""


class ToolServerError(Exception):
    """A server did not do what it was asked to; the text says why."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool.

    Attributes:
        server: Name of its server.
        name: Its name there.
        description: For the model.
        schema: The JSON schema of its arguments.
        identity: Changes with the server's program or address, the description and the schema.
        offered: Its name for the model, unique among all tools; see `offered`.
    """

    server: str
    name: str
    description: str
    schema: Mapping[str, Any]
    identity: str
    offered: str = ""

    @property
    def key(self) -> str:
        """What the user calls it."""
        return f"{self.server}/{self.name}"

    @property
    def definition(self) -> dict[str, Any]:
        """It as a function in OpenAI's format."""
        function = {"name": self.offered, "description": self.description, "parameters": self.schema}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool returned.

    Attributes:
        text: All of it, or its beginning.
        failed: Whether the tool reports an error.
    """

    text: str
    failed: bool = False

    def shortened(self, limit: int = LONGEST_RESULT) -> Result:
        """With at most about ``limit`` characters, and a remark for the model about the rest."""
        if len(self.text) <= limit:
            return self
        rest = len(self.text) - limit
        return replace(self, text=f"{self.text[:limit]}\n[{rest:,} more characters were left out]")


def listed(server: ToolServer, name: str, description: str, schema: Mapping[str, Any]) -> Tool | str:
    """A tool as its server describes it, or why it cannot be used."""
    shown = one_line(name)[:80]
    problem = ""
    if not name or name != one_line(name) or len(name) > LONGEST_NAME:
        problem = tr("its name is not valid")
    elif len(json.dumps(schema)) > LARGEST_SCHEMA:
        problem = tr("the description of its arguments is too long")
    if problem:
        return tr("The tool {name} of {server} is not used: {why}.", name=repr(shown), server=server.name, why=problem)
    text = plain(description)[:LONGEST_DESCRIPTION].strip()
    whole = {"properties": {}, **schema, "type": "object"}
    where = server.url or [*server.command, server.cwd]
    return Tool(server.name, name, text, whole, fingerprint([where, name, text, whole]))


def offered(tools: list[Tool]) -> list[Tool]:
    """``tools`` with names for the model: letters, digits, ``_`` and ``-``, each of them once.

    A tool keeps its own name if no other has it, because descriptions refer to it; otherwise its server's is before it.
    """
    names = [tool.name for tool in tools]
    taken: set[str] = set()
    named = []
    for tool in tools:
        wanted = tool.name if names.count(tool.name) == 1 else f"{tool.server}__{tool.name}"
        name = base = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in wanted)[-OFFERED:]
        number = 1
        while name in taken:
            number += 1
            name = f"{base[: OFFERED - 4]}_{number}"
        taken.add(name)
        named.append(replace(tool, offered=name))
    return named
