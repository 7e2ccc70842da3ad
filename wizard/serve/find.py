"""Find a server again, regardless of when and by what it was started: its endpoint file, checked against the process
table.
"""

from __future__ import annotations

import json
from dataclasses import astuple
from pathlib import Path
from typing import Any

from wizard.kernel import proctable
from wizard.kernel.errors import ServerError, UsageError
from wizard.kernel.files import write_whole
from wizard.kernel.language import mark, tr
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.values import to_json
from wizard.plan.ports import Ports
from wizard.serve.endpoint import Endpoint
from wizard.serve.log import tail

STUB = "triton_python_backend_stub"
ENDING = ("Signal (15) received", "Signal (2) received")
"""Lines of Triton 2.51.0 (``triton_signal.cc``)."""
ENDING_LINES = 300
"""From the end of the log, in which they are: it logs a line a second then, and what engines print at their end."""


def note(server: ServerFolder) -> Endpoint | None:
    """The endpoint file of the last start, running or not; None if the server was stopped or never started."""
    try:
        return _endpoint(json.loads(server.endpoint.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None  # a damaged file counts as missing; the process, if any, is found by its mark


def _endpoint(data: Any) -> Endpoint:
    """The reverse of `write`, checked by hand: pydantic would take a fifth of what a chat imports before it sends.

    Raises:
        TypeError, KeyError: If ``data`` is no endpoint.
    """
    endpoint = Endpoint(**{**data, "ports": Ports(**data["ports"]), "remove": tuple(data["remove"])})
    numbers = (endpoint.pid, *astuple(endpoint.ports))
    texts = (endpoint.name, endpoint.model, endpoint.host, endpoint.started, endpoint.log, endpoint.protocol)
    others = (endpoint.ref, endpoint.image, endpoint.image_id, *endpoint.remove)
    optional = (
        text for text in (endpoint.folder, endpoint.url, endpoint.openai, endpoint.openai_key) if text is not None
    )
    kinds = [{*map(type, values)} for values in (numbers, (*texts, *optional, *others), [data["remove"]])]
    if kinds != [{int}, {str}, {list}]:
        raise TypeError
    return endpoint


def write(server: ServerFolder, endpoint: Endpoint) -> None:
    """Write the endpoint file atomically."""
    write_whole(server.endpoint, to_json(endpoint, indent=2) + "\n")


def alive(endpoint: Endpoint) -> bool:
    """Whether the exact process of ``endpoint`` is alive (its pid alone may have been reused)."""
    return proctable.lives(endpoint.pid, endpoint.started)


def ending(endpoint: Endpoint) -> bool:
    """Whether the process of ``endpoint`` is alive, but about to exit.

    On SIGTERM Triton logs it, and gives running answers its ``--exit-timeout-secs``. Meanwhile its HTTP port may
    accept connections and close them at once, and its gRPC port answers as before (2.51.0, measured).
    """
    last = tail(Path(endpoint.log), ENDING_LINES) if endpoint.log else []
    return any(line.startswith(ENDING) for line in last) and alive(endpoint)


def model_process(endpoint: Endpoint) -> proctable.Process | None:
    """The process that computes the endpoint's answers, or None if it does not exist (any more).

    Triton's Python backend starts it in the server's process group as ``triton_python_backend_stub
    REPOSITORY/MODEL/VERSION/model.py …`` and, once the model is loaded, never restarts it (measured, 2.51.0).
    """
    for row in proctable.group_members(endpoint.pid):
        program, path, *_ = (*proctable.command(row.pid), "", "")
        if Path(program).name == STUB and Path(path).parts[-3:-2] == (endpoint.model,):
            return row
    return None


def running(server: ServerFolder) -> Endpoint | None:
    """The endpoint of the server if its process is alive."""
    endpoint = note(server)
    return endpoint if endpoint is not None and alive(endpoint) else None


def made_from(endpoint: Endpoint) -> str | None:
    """The fingerprint of the running process's plan, from its environment."""
    from wizard.plan.plan import MADE_FROM  # here, because a chat needs nothing else of a plan

    return proctable.environment(endpoint.pid).get(MADE_FROM)


def endpoint(workspace: Workspace, name: str | None = None) -> Endpoint:
    """The running server ``name``, or the only running one.

    Raises:
        UsageError: TW-S01 if there are several and no name is given.
        ServerError: TW-S02 if none is running.
    """
    known(workspace, name)
    names = [name] if name else workspace.names()
    servers = [server for server in (running(workspace.server(each)) for each in names) if server is not None]
    if len(servers) > 1:
        which = ", ".join(server.name for server in servers)
        raise UsageError("TW-S01", tr("several servers are running: {which}", which=which), tr("Choose one of them."))
    if not servers:
        message = (
            tr("the server {name} is not running in {folder}", name=name, folder=workspace.root)
            if name
            else tr("no server is running in {folder}", folder=workspace.root)
        )
        fix = mark("Start it: `triton-wizard up {name}`.") if name else mark("Start one: `triton-wizard up {name}`.")
        raise ServerError("TW-S02", message, tr(fix, name=next(iter(names), "demo")))
    return servers[0]


def known(workspace: Workspace, name: str | None) -> None:
    """Check that ``name``, if given, is a server of the workspace.

    Raises:
        UsageError: TW-S09 if it is not, TW-U01 if the name is invalid.
    """
    if name is not None and not workspace.server(name).root.is_dir():
        there = ", ".join(workspace.names())
        fix = (
            tr("Available: {there}.", there=there)
            if there
            else tr("Start one: `triton-wizard up {name}`.", name="demo")
        )
        raise UsageError(
            "TW-S09",
            tr("no server {name} in {root}", name=name, root=workspace.root),
            fix,
        )
