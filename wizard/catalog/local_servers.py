"""Where other programs' servers listen on this machine: ``profiles/local_servers.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from wizard.catalog.profiles import find, load, load_toml
from wizard.catalog.rows import row


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A program with a server.

    Attributes:
        name: Its display name.
        ports: Those that it listens on by default.
        owners: Values of ``owned_by`` in its list of models that only it sends.
        source: Where this is stated.
        thinking_off: Its value of ``reasoning_effort`` that switches thinking off, if it ignores the variables of chat
            templates.
        thinking_budget: Its parameter for the number of tokens of a thought.
    """

    name: str
    ports: tuple[int, ...]
    owners: tuple[str, ...]
    source: str
    thinking_off: str = ""
    thinking_budget: str = ""


@dataclass(frozen=True, slots=True)
class LocalServers:
    """``profiles/local_servers.toml``."""

    servers: tuple[LocalServer, ...]

    @property
    def ports(self) -> tuple[int, ...]:
        """All ports, in the order of the file."""
        return tuple(dict.fromkeys(port for server in self.servers for port in server.ports))

    def of(self, owner: str) -> LocalServer | None:
        """The program that calls itself ``owner``; None if it is unknown."""
        return next((server for server in self.servers if owner in server.owners), None)


def local_servers() -> LocalServers:
    """The table.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the file is missing or damaged.
    """
    return _read(find("local_servers.toml"))


@cache
def _read(path: Path) -> LocalServers:
    data = load_toml(path)
    try:
        return LocalServers(tuple(row(LocalServer, each) for each in data["servers"]))
    except (TypeError, KeyError):
        return load(LocalServers, path)
