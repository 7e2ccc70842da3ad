"""Where other programs' servers listen on this machine: ``profiles/local_servers.toml``."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.catalog.profiles import find, load


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A program with a server.

    Attributes:
        name: Its display name.
        ports: Those that it listens on by default.
        owners: Values of ``owned_by`` in its list of models that only it sends.
        source: Where this is stated.
    """

    name: str
    ports: tuple[int, ...]
    owners: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class LocalServers:
    """``profiles/local_servers.toml``."""

    servers: tuple[LocalServer, ...]

    @property
    def ports(self) -> tuple[int, ...]:
        """All ports, in the order of the file."""
        return tuple(dict.fromkeys(port for server in self.servers for port in server.ports))

    def named(self, owner: str) -> str:
        """The name of the program that calls itself ``owner``; empty if it is unknown."""
        return next((server.name for server in self.servers if owner in server.owners), "")


def local_servers() -> LocalServers:
    """The table.

    Raises:
        UsageError: TW-D01, TW-D02 or TW-K01 if the file is missing or damaged.
    """
    return load(LocalServers, find("local_servers.toml"))
