"""The OpenAI-compatible address of a workspace: one process for all its servers, started and found again here.

The process finds the servers itself, as they come and go, and ends when the last one has ended. `up` starts it with a
keeper, which starts it again if it dies (`wizard.gateway.keeper`). If both have died, the next `up` does so, on the
same port and with the same options. A lock lets only one start or end at a time.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from urllib.parse import quote, urlsplit

from wizard import __version__
from wizard.kernel import http, proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.files import private_folder, write_whole
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.process import stop_group
from wizard.kernel.secrets import environment_for
from wizard.kernel.text import plain
from wizard.kernel.values import to_json
from wizard.probe.ports import choose
from wizard.serve import care, exposure, find
from wizard.serve.endpoint import Endpoint
from wizard.serve.exposure import Exposure

FIRST_PORT = 9000
"""Of the address; Triton's own ports are below."""
START_S = 60.0
"""Seconds until it must answer; it takes about one."""
LOCK_S = 10.0
"""Seconds to wait while another process starts it, or it ends."""
END = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
"""It gives running answers three seconds."""


@dataclass(frozen=True, slots=True)
class Address:
    """The process of a workspace's address.

    Attributes:
        url: Its base URL for this machine, ``http://127.0.0.1:PORT/v1``.
        pid: The process that `up` has started; the one that serves is a child of it.
        started: Its start time as the kernel counts it.
        exposure: Where it listens, and for whom.
        version: The wizard's, whose code it runs.
    """

    url: str
    pid: int
    started: str
    exposure: Exposure
    version: str


def note(workspace: Workspace) -> Address | None:
    """The last start, running or not; None if it has ended because no server was left."""
    try:
        data = json.loads(workspace.gateway.address.read_bytes())
        options = data["exposure"]
        where = Exposure(**{**options, "cors_origins": tuple(options["cors_origins"])})
        address = Address(str(data["url"]), int(data["pid"]), str(data["started"]), where, str(data["version"]))
        _ = address.exposure.beyond, urlsplit(address.url).port
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None  # a damaged file counts as missing; the process, if any, is found by its mark
    return address


def running(workspace: Workspace) -> Address | None:
    """The living process."""
    address = note(workspace)
    return address if address and proctable.lives(address.pid, address.started) else None


def with_address(workspace: Workspace, endpoint: Endpoint) -> Endpoint:
    """``endpoint`` with the OpenAI-compatible address, if there is one."""
    return _reachable(workspace, endpoint, running(workspace))


def _reachable(workspace: Workspace, endpoint: Endpoint, address: Address | None) -> Endpoint:
    key = str(workspace.gateway.key) if address and address.exposure.beyond else None
    return replace(endpoint, openai=address.url if address else None, openai_key=key)


def start(workspace: Workspace, wanted: Exposure | None = None) -> Address:
    """Start the process unless it runs; it answers about a second later. Blocks only if it must be restarted.

    Args:
        workspace: Of the servers; at least one must have been started, or the process ends.
        wanted: A process with other options is restarted, as is one of another version of the wizard. None: the
            options of the last start.

    Raises:
        ServerError: TW-S12 if it cannot be started.
        UsageError: TW-S16 if its key is not usable.
        HostError: TW-P09 if no port is free.
    """
    folder = workspace.gateway
    try:
        private_folder(folder.root)
        with locked(workspace):
            before, lives = note(workspace), running(workspace)
            options = wanted or (before.exposure if before else Exposure())
            if lives and (lives.exposure, lives.version) == (options, __version__):
                return lives
            _end(workspace)
            if options.beyond:
                exposure.key(folder)
            return _started(workspace, options, urlsplit(before.url).port if before else None)
    except OSError as error:
        raise _silent(workspace, str(error)) from error


def ensure(workspace: Workspace, endpoint: Endpoint, wanted: Exposure | None = None) -> Endpoint:
    """``endpoint`` with an OpenAI-compatible address that answers for its server; see `start`.

    Blocks for about a second if the process must be started.

    Raises:
        ServerError: TW-S12 if it does not answer.
        UsageError, HostError: See `start`.
    """
    address = start(workspace, wanted)
    try:
        reply = _asked(workspace, address, endpoint.name)
    except (OSError, http.NotHttpError) as error:
        _end(workspace)  # so that the next `up` starts another one
        raise _silent(workspace, str(error)) from error
    if reply.status != 200:
        raise _silent(workspace, reply.body.decode(errors="replace")[:500])
    return _reachable(workspace, endpoint, address)


def stop_unused(workspace: Workspace) -> None:
    """Stop the process if no server is left; it would end by itself a second later. Blocks until it has ended.

    Raises:
        ServerError: TW-S12 if another process starts it for too long.
    """
    if workspace.gateway.root.is_dir() and not any_server(workspace):  # its note goes before the process does
        with locked(workspace):
            if not any_server(workspace):
                _end(workspace)
                workspace.gateway.address.unlink(missing_ok=True)


def any_server(workspace: Workspace) -> bool:
    """Whether a server of the workspace is running, or being restarted."""
    servers = [workspace.server(name) for name in workspace.names()]
    return any(find.running(server) or care.running(server) for server in servers)


@contextmanager
def locked(workspace: Workspace, seconds: float = LOCK_S) -> Iterator[None]:
    """Alone start or end the process.

    Raises:
        ServerError: TW-S12 if another process does so for longer than ``seconds``.
        OSError: The lock's file is not writable.
    """
    until = time.monotonic() + seconds
    with workspace.gateway.lock.open("a") as handle:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if time.monotonic() >= until:
                raise _silent(workspace, tr("another process is starting or stopping it"))
            time.sleep(0.02)
        yield


def _end(workspace: Workspace) -> None:
    """End every such process of the workspace, also one whose note was lost."""
    for row in proctable.marked(proctable.GATEWAY_MARK, str(workspace.root)):
        asyncio.run(stop_group(row.group, END))


def _started(workspace: Workspace, options: Exposure, port: int | None) -> Address:
    """The process, noted before it answers, so that a wizard that is killed meanwhile leaves no second one."""
    with _listener(workspace, options, port) as listener:
        url = options.url(listener.getsockname()[1])
        process = _process(workspace, options, listener)
    return _noted(workspace, Address(url, process.pid, "", options, __version__))


def _noted(workspace: Workspace, address: Address) -> Address:
    address = replace(address, started=proctable.start_time(address.pid))
    write_whole(workspace.gateway.address, to_json(address, indent=2) + "\n")
    return address


def inherit(workspace: Workspace, pid: int) -> bool:
    """Note this process instead of ``pid``, which was killed; False if another address is noted, or none.

    Raises:
        ServerError, OSError: See `locked`.
    """
    with locked(workspace):
        address = note(workspace)
        if address is None or address.pid != pid:
            return False
        _noted(workspace, replace(address, pid=os.getpid()))
        return True


def _listener(workspace: Workspace, options: Exposure, old: int | None) -> socket.socket:
    """A socket on the old port, or on the first free one; the process inherits it, so that nobody takes it between."""
    notes = (find.note(workspace.server(name)) for name in workspace.names())
    taken = {port for each in notes if each for port in astuple(each.ports)}
    while True:
        port = choose(old or FIRST_PORT, options.host, taken)
        try:
            return exposure.listener(options, port)
        except OSError:  # taken since
            taken.add(port)


def _process(workspace: Workspace, options: Exposure, listener: socket.socket) -> subprocess.Popen[bytes]:
    environment = environment_for() | {proctable.GATEWAY_MARK: str(workspace.root)}
    for mark in (proctable.STEP_MARK, proctable.OWNER_MARK, proctable.KEEPER_MARK):
        environment.pop(mark, None)
    with workspace.gateway.log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "wizard.gateway", str(workspace.root), str(listener.fileno()), to_json(options)],
            pass_fds=(listener.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
            cwd="/",  # so that no file of the current folder is imported
        )


def _asked(workspace: Workspace, address: Address, name: str) -> http.Reply:
    """What it replies about the server ``name``. Its socket listens from the beginning, so this waits until it can.

    Raises:
        OSError, http.NotHttpError: See `http.get`.
    """
    options, headers = address.exposure, dict[str, str]()
    if options.beyond:
        headers["Authorization"] = f"Bearer {exposure.key(workspace.gateway)[0]}"
    url = f"{address.url}/models/{quote(name)}"
    return http.get(url, timeout_s=START_S, headers=headers, trusted=options.trusted())


def _silent(workspace: Workspace, why: str) -> ServerError:
    return ServerError(
        "TW-S12",
        tr("the OpenAI-compatible address does not respond: {why}", why=plain(why)),
        tr("The model itself is served. Check {log}, then run `up` again.", log=workspace.gateway.log),
    )
