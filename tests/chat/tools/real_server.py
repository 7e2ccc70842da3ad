"""A real MCP server, written with the official package: NAME [TRANSPORT PORT]."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Literal

from mcp.server.mcpserver import Image, MCPServer

server = MCPServer(sys.argv[1] if len(sys.argv) > 1 else "real")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return f"{a + b}"


@server.tool()
def echo(text: str) -> str:
    """Return the text."""
    return text


@server.tool()
def environment() -> str:
    """The names of the environment variables."""
    return "\n".join(sorted(os.environ))


@server.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


@server.tool()
def folder() -> str:
    """The working directory."""
    return str(Path.cwd())


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=b"\x89PNG" * 500, format="png")


@server.tool()
def leave() -> str:
    """Exit without an answer."""
    print("out of cheese", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool()
async def wait(file: str) -> str:
    """Never return; says in a file that it was called, and that it was cancelled."""
    Path(file).write_text("called", encoding="utf-8")
    try:
        await asyncio.Event().wait()
    finally:
        Path(file).write_text("cancelled", encoding="utf-8")
    return ""


@server.tool()
def long(characters: int) -> str:
    """A long text."""
    return "x" * characters


@server.tool()
def weather(city: Literal["Oslo"]) -> str:
    """Now."""
    return f"rain in {city}"


if __name__ == "__main__":
    if len(sys.argv) > 2:
        server.run(sys.argv[2], host="127.0.0.1", port=int(sys.argv[3]))  # type: ignore[call-overload]
    else:
        server.run("stdio")
