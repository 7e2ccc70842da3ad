"""The OpenAI-compatible address of a ready server: start its process beside Triton's, and find it again.

It has the server's mark, so that `down` stops it, and it ends by itself when Triton has ended. It runs in the wizard's
own environment and listens on 127.0.0.1 only.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import astuple, replace
from pathlib import Path
from urllib.parse import urlsplit

from wizard.kernel import http, proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.language import tr
from wizard.kernel.paths import ServerFolder
from wizard.kernel.secrets import environment_for
from wizard.kernel.text import plain
from wizard.probe.ports import choose
from wizard.serve import find
from wizard.serve.endpoint import Endpoint

HOST = "127.0.0.1"
FIRST_PORT = 9000
"""Of the addresses; Triton's own ports are below."""
START_S = 60.0
"""Seconds until it must answer; it takes about one."""


def alive(endpoint: Endpoint) -> bool:
    """Whether the exact process of the endpoint's address is alive."""
    row = proctable.read(endpoint.gateway_pid) if endpoint.openai else None
    return row is not None and row.started == endpoint.gateway_started


def ensure(server: ServerFolder, endpoint: Endpoint) -> Endpoint:
    """The endpoint with an OpenAI-compatible address that answers; blocks for about a second if it must be started.

    A restarted one gets its old port if that is still free.

    Raises:
        ServerError: TW-S12 if it does not answer.
        HostError: TW-P09 if no port is free.
    """
    if alive(endpoint):
        return endpoint
    log = server.logs / "gateway.log"
    try:
        made, process = _started(server, endpoint, log)
        why = _problem(made.openai or "")
        if why:
            process.kill()
            process.wait()
            find.write(server, endpoint)
    except OSError as error:
        why = str(error)
    if why:
        raise ServerError(
            "TW-S12",
            tr("the OpenAI-compatible address does not respond: {why}", why=plain(why)),
            tr("The model itself is served. Check {log}, then run `up` again.", log=log),
        )
    return made


def _started(server: ServerFolder, endpoint: Endpoint, log: Path) -> tuple[Endpoint, subprocess.Popen[bytes]]:
    """The process, noted before it answers, so that a wizard that is killed meanwhile leaves no second one."""
    with _listener(endpoint) as listener:
        url = f"http://{HOST}:{listener.getsockname()[1]}/v1"
        process = _start(server, listener, log)
    row = proctable.read(process.pid)
    made = replace(endpoint, openai=url, gateway_pid=process.pid, gateway_started=row.started if row else "")
    find.write(server, made)
    return made, process


def _listener(endpoint: Endpoint) -> socket.socket:
    """A socket on the old port, or on the first free one; the process inherits it, so that nobody takes it between."""
    old = urlsplit(endpoint.openai or "").port
    taken = set(astuple(endpoint.ports))
    while True:
        port = choose(old or FIRST_PORT, HOST, taken)
        try:
            return socket.create_server((HOST, port))
        except OSError:  # taken since
            taken.add(port)


def _start(server: ServerFolder, listener: socket.socket, log: Path) -> subprocess.Popen[bytes]:
    environment = environment_for() | {proctable.SERVER_MARK: str(server.root)}
    environment.pop(proctable.STEP_MARK, None)
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "wizard.gateway", str(server.root), str(listener.fileno())],
            pass_fds=(listener.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
        )


def _problem(url: str) -> str:
    """Why it does not answer; empty if it does. Its socket listens already, so this waits until it can."""
    try:
        reply = http.get(f"{url}/models", timeout_s=START_S)
    except (OSError, http.NotHttpError) as error:
        return str(error)
    return "" if reply.status == 200 else reply.body.decode(errors="replace")[:500]
