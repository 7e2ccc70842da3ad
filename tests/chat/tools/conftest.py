"""A real MCP server, and tools of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wizard.chat.tools.config import ToolServer, ToolServers
from wizard.chat.tools.toolbox import Limits, Toolbox

REAL = Path(__file__).with_name("real_server.py")
LIMITS = Limits(start_s=60, call_s=60)


def real(name: str = "real", **more: object) -> ToolServer:
    return ToolServer(name, (sys.executable, str(REAL), name), **more)  # type: ignore[arg-type]


def scripted(behavior: str, name: str = "odd") -> ToolServer:
    return ToolServer(name, (sys.executable, str(REAL.with_name("fake_server.py")), behavior))


async def says(file: Path, word: str) -> None:
    """Wait until the real server's tool ``wait`` has written ``word``."""
    for _ in range(6000):
        if file.exists() and file.read_text(encoding="utf-8") == word:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(word)


@pytest.fixture
def toolbox() -> Iterator[Callable[..., Toolbox]]:
    """Makes toolboxes, which are closed at the end."""
    made: list[Toolbox] = []

    def make(*servers: ToolServer, limits: Limits = LIMITS) -> Toolbox:
        made.append(Toolbox(ToolServers(Path("mcp.json"), servers), limits))
        return made[-1]

    yield make
    for each in made:
        each.close()
