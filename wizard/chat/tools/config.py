"""The MCP servers that the user configured, in the JSON format of other programs.

An object ``mcpServers`` maps each name to ``command``, ``args``, ``env``, ``cwd`` (a program that speaks MCP on its
standard streams) or to ``url``, ``headers``. Sources, read in November 2026:

- modelcontextprotocol.io/docs/develop/connect-local-servers: Claude Desktop's ``mcpServers``
- code.claude.com/docs/en/mcp: ``type`` (``stdio``, ``http``, ``sse``); ``${NAME}`` and ``${NAME:-DEFAULT}`` in
  ``command``, ``args``, ``env``, ``url`` and ``headers``
- cursor.com/docs/mcp: ``${env:NAME}``
- code.visualstudio.com/docs/copilot/reference/mcp-configuration: ``servers`` instead of ``mcpServers``
- docs.cline.bot/mcp: ``disabled``

Other fields are ignored, in particular those that allow tools in other programs (``autoApprove``, ``alwaysAllow``),
except ``envFile``, without which a server may lack what it needs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from wizard.kernel import bounded, regular_files, settings
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.reasons import misfit, unreadable
from wizard.kernel.text import plain

LARGEST_BYTES = 2**20
MOST_SERVERS = 32
LISTS = ("mcpServers", "servers")
HTTP_TYPES = ("http", "streamable-http", "streamableHttp", "sse")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_NAME = re.compile(r"(?:env:)?([A-Za-z_]\w*)(?::-(.*))?", re.DOTALL)
_SERVER = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")


@dataclass(frozen=True, slots=True)
class ToolServer:
    """An MCP server.

    Attributes:
        name: As the user named it.
        command: Program and arguments; empty if it has a URL.
        env: Environment variables to add.
        cwd: The working directory; None: the user's.
        url: Of a server over HTTP; empty if it is a program.
        headers: To send with every request.
        old: Whether it uses the HTTP transport with server-sent events, of the protocol's first version.
    """

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # may have secrets
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    old: bool = False


@dataclass(frozen=True, slots=True)
class ToolServers:
    """What a configuration file has.

    Attributes:
        path: The file.
        servers: Those that may be started.
        problems: Why others cannot be used.
    """

    path: Path
    servers: tuple[ToolServer, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    command: str | None = None
    args: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    type: str | None = None
    disabled: bool = False
    envFile: str | None = None  # noqa: N815 - as in the file


def path() -> Path:
    """The user's configuration file."""
    return settings.path().with_name("mcp.json")


def load(where: Path) -> ToolServers:
    """Read the configuration file ``where``.

    Raises:
        UsageError: TW-C40 if it cannot be read, or is not such a configuration.
    """
    try:
        with regular_files.opened(where) as file:
            text = file.read(LARGEST_BYTES + 1)
        if len(text) > LARGEST_BYTES:
            raise OSError(tr("it is too large"))
        data = bounded.loads(text.decode("utf-8-sig"))
    except regular_files.NotRegularError as error:
        raise _invalid(where, tr("it is not a regular file")) from error
    except (OSError, ValueError, RecursionError) as error:
        raise _invalid(where, unreadable(error)) from error
    entries = _entries(where, data)
    servers: list[ToolServer] = []
    problems: list[str] = []
    for name, entry in entries.items():
        if not entry.disabled:
            try:
                servers.append(_server(name, entry, where))
            except ValueError as error:
                problems.append(tr("The tool server {name} is not used: {why}.", name=name, why=error))
    return ToolServers(where, tuple(servers), tuple(problems))


def _entries(where: Path, data: Any) -> dict[str, _Entry]:
    """The servers in the file, by name."""
    from pydantic import TypeAdapter, ValidationError

    key = next((each for each in LISTS if isinstance(data, dict) and each in data), None)
    if key is None:
        raise _invalid(where, tr("the object {name} is missing", name=LISTS[0]))
    try:
        entries = TypeAdapter(dict[str, _Entry]).validate_python(data[key])
    except ValidationError as error:
        first: dict[str, Any] = {**error.errors()[0]}
        if {"env", "headers"} & {*first["loc"]}:
            first["input"] = "…"  # it may be a secret
        place = ".".join(map(str, (key, *first["loc"])))
        raise _invalid(where, f"{plain(place)}: {misfit(first)}") from error
    if len(entries) > MOST_SERVERS:
        raise _invalid(where, tr("it names more than {count} servers", count=MOST_SERVERS))
    for name, entry in entries.items():
        problem = _problem(name, entry)
        if problem:
            raise _invalid(where, f"{key}.{plain(name)[:80]}: {problem}")
    return entries


def _problem(name: str, entry: _Entry) -> str:
    """What is wrong with an entry; empty if nothing is."""
    texts = [entry.command or "", *entry.args, *entry.env, *entry.env.values(), entry.cwd or "", entry.url or ""]
    headers = [text for pair in entry.headers.items() for text in pair]
    checks = (
        (not _SERVER.fullmatch(name), tr("use up to 64 letters, digits, spaces, '.', '_' and '-' for the name")),
        (bool(entry.command) == bool(entry.url), tr("give either command or url")),
        (
            entry.type not in (None, *(HTTP_TYPES if entry.url else ("stdio",))),
            tr("unknown type: {name}", name=plain(entry.type or "")[:40]),
        ),
        (entry.envFile is not None, tr("envFile is not supported: list the variables under env")),
        (
            any("\0" in text for text in texts) or any("=" in key or not key for key in entry.env),
            tr("a value has characters that cannot be passed to a program"),
        ),
        (
            not all(text.isascii() and text.isprintable() for text in headers),
            tr("headers must consist of printable ASCII characters"),
        ),
    )
    return next((words for wrong, words in checks if wrong), "")


def _server(name: str, entry: _Entry, where: Path) -> ToolServer:
    """The server, with the values of variables; ValueError if one is not set, or the URL is not one."""
    cwd = entry.cwd and str(where.parent.absolute() / _home(_filled(entry.cwd)))
    url = _filled(entry.url or "")
    if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname or not url.isprintable()):
        raise ValueError(tr("{url} is not an HTTP URL", url=repr(url)))
    return ToolServer(
        name,
        (_home(_filled(entry.command)), *map(_filled, entry.args)) if entry.command else (),
        {key: _filled(value) for key, value in entry.env.items()},
        cwd,
        url,
        {key: _filled(value) for key, value in entry.headers.items()},
        old=entry.type == "sse",
    )


def _home(text: str) -> str:
    return os.path.expanduser(text) if text.startswith("~/") else text  # noqa: PTH111 - a command need not be a path


def _filled(text: str) -> str:
    """``text`` with environment variables replaced; ValueError if one is not set."""

    def value(match: re.Match[str]) -> str:
        name = _NAME.fullmatch(match[1])
        if name is None:
            raise ValueError(tr("{name} is not supported; use {example}", name=plain(match[0])[:60], example="${NAME}"))
        if (there := os.environ.get(name[1])) is not None:
            return there
        if name[2] is None:
            raise ValueError(tr("the environment variable {name} is not set", name=name[1]))
        return name[2]

    return _VARIABLE.sub(value, text)


def _invalid(where: Path, why: object) -> UsageError:
    return UsageError(
        "TW-C40",
        tr("cannot use the tool servers in {path}: {reason}", path=where, reason=why),
        tr("Fix the file, for example: {example}", example='{"mcpServers": {"time": {"command": "mcp-server-time"}}}'),
    )
