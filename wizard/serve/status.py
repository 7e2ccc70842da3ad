"""The data of `triton-wizard status`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from wizard.advise.advice import Memory
from wizard.advise.calibration import Calibration, actual, summary
from wizard.kernel.language import join, mark, tr
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.program import command
from wizard.kernel.values import to_data
from wizard.serve import calibration, care, causes, find, gateway, health, proof, replicas
from wizard.serve.care import Care
from wizard.serve.endpoint import Endpoint

STATES = {
    "ready": mark("ready"),
    "starting": mark("starting"),
    "stopping": mark("stopping"),
    "stopped": mark("stopped"),
    "building": mark("building"),
    "dead": mark("dead"),
}
"""State of a server → display word."""


@dataclass(frozen=True, slots=True)
class Status:
    """A server of the workspace."""

    name: str
    state: Literal["ready", "starting", "stopping", "stopped", "building", "dead"]
    """``stopping``: its process is about to exit.

    ``building``: it is not running, and a build sets it up.

    ``dead``: it was started, not stopped, and cannot respond: one of its processes exited.
    """
    endpoint: Endpoint | None
    detail: str
    trouble: str = ""
    """What some of its replicas lack, in words; empty if all serve, or if it has none."""
    predicted: Memory | None = None
    """The predicted memory breakdown, and the measured one; None if it was not measured."""
    actual: Memory | None = None
    why: str = ""
    """Why it is ``dead``, in words."""
    care: Care | None = None
    """What keeps it running, or has given up; None if nothing does."""
    proof: str = ""
    """What the files of its model were compared with, in words; empty if that is unknown."""

    @property
    def url(self) -> str | None:
        """Base HTTP URL, for ``URL/v2/…`` or an OpenAI client; None if it is not running."""
        return self.endpoint.http if self.endpoint and self.state in ("ready", "starting") else None


def status_data(status: Status) -> dict[str, Any]:
    """The status as JSON data: its fields and its URL."""
    return {**to_data(status), "url": status.url}


def status(server: ServerFolder) -> Status:
    """The current status of a server; `statuses` knows more of it."""
    endpoint = find.note(server)
    if endpoint is None:
        return Status(server.name, "stopped", None, tr("start it with {command}", command=_up(server)))
    if not find.alive(endpoint):
        return _dead(server, endpoint, tr("its process {pid} exited", pid=endpoint.pid))
    if find.ending(endpoint):
        return Status(server.name, "stopping", endpoint, tr("process {pid} is shutting down", pid=endpoint.pid))
    if not health.is_ready(endpoint):
        return Status(
            server.name,
            "starting",
            endpoint,
            tr("process {pid} is running, but the model is not ready", pid=endpoint.pid),
        )
    contained = bool(endpoint.remove)  # a container's processes cannot be distinguished from outside
    if not contained and find.model_process(endpoint) is None:
        return _dead(server, endpoint, tr("the model process exited; the server is not responding"))
    return _serving(server, endpoint)


def _serving(server: ServerFolder, endpoint: Endpoint) -> Status:
    """The status of a server whose model is loaded, by its engines."""
    engines = replicas.replicas(endpoint)
    lacking, best = replicas.trouble(engines), max((engine.state for engine in engines), default=1)
    if best < 0:
        return _dead(server, endpoint, lacking)
    if best < 1:
        return Status(server.name, "starting", endpoint, lacking, lacking)
    where = tr("{http} (gRPC {grpc}), process {pid}", http=endpoint.http, grpc=endpoint.grpc, pid=endpoint.pid)
    endpoint = gateway.with_address(server.workspace, endpoint)
    if endpoint.openai:
        openai = tr("OpenAI-compatible: {url}", url=endpoint.openai)
    else:
        openai = tr("no OpenAI-compatible address; start it: {command}", command=_up(server))
    return Status(server.name, "ready", endpoint, join("; ", where, lacking, openai), lacking)


def _dead(server: ServerFolder, endpoint: Endpoint, why: str) -> Status:
    if known := causes.in_file(Path(endpoint.log)):
        why = tr("{why} ({title}: {fix})", why=why, title=known.title, fix=known.fix)
    again = tr("restart it: {command}", command=_up(server))
    detail = tr("{why}; {again}; log: {log}", why=why, again=again, log=endpoint.log)
    return Status(server.name, "dead", endpoint, detail, why=why)


def _up(server: ServerFolder) -> str:
    return command("up", server.name, workspace=server.workspace)


def statuses(workspace: Workspace, building: str | None = None) -> list[Status]:
    """Every server of the workspace, by name; ``building`` is the one that is being built."""
    past = calibration.kept(workspace)
    servers = [workspace.server(name) for name in workspace.names()]
    return [
        _proven(_measured(_cared(_built(status(server), server, building), server), past), proof.proof(server))
        for server in servers
    ]


def _built(status: Status, server: ServerFolder, building: str | None) -> Status:
    """A server that is off is building if a build sets it up; one that runs can be used until it is replaced."""
    if server.name != building or status.state not in ("stopped", "dead"):
        return status
    return Status(
        server.name,
        "building",
        None,
        tr("watch it with {command}", command=command("attach", workspace=server.workspace)),
    )


def _cared(status: Status, server: ServerFolder) -> Status:
    """With what keeps it running; a dead server that is being restarted is starting."""
    now = care.shown(server)
    if now is None:
        return status
    if status.state == "dead" and now.state == "restarting":
        status = replace(status, state="starting", detail=status.why)
    return replace(status, detail=join("; ", status.detail, care.words(now)), care=now)


def _proven(status: Status, words: str) -> Status:
    detail = join("; ", status.detail, words) if words and status.state == "ready" else status.detail
    return replace(status, detail=detail, proof=words)


def _measured(status: Status, past: Calibration) -> Status:
    """A ready server, with the measurement of its last start."""
    measurement = past.latest_of(status.name)
    if status.state != "ready" or measurement is None:
        return status
    detail = join("; ", status.detail, summary(measurement))
    return replace(status, detail=detail, predicted=measurement.choice.memory, actual=actual(measurement))
