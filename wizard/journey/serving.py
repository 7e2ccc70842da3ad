"""Stages 5 and 6: builds and servers, from the first step to what they leave behind."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Set
from contextlib import aclosing
from typing import TYPE_CHECKING

from wizard.workshop.progress import reported

if TYPE_CHECKING:
    import threading

    from wizard.kernel.paths import ServerFolder, Workspace
    from wizard.plan.plan import Plan
    from wizard.run.build import Build
    from wizard.run.clean import Image, Item
    from wizard.run.events import Event
    from wizard.serve.care import Care
    from wizard.serve.causes import Finding
    from wizard.serve.endpoint import Endpoint
    from wizard.serve.exposure import Exposure
    from wizard.serve.service import Service
    from wizard.serve.status import Status


async def run(
    plan: Plan,
    *,
    redo: Set[str] = frozenset(),
    skip: Set[str] = frozenset(),
    exposure: Exposure | None = None,
    keep: bool | None = None,
    leaving: threading.Event | None = None,
) -> AsyncGenerator[Event, None]:
    """Stage 5. Run the plan in a separate process. Closing the generator (or cancelling its task) stops the build.

    Steps with an ID in ``redo`` run again even if completed, with all steps that depend on them; those in ``skip`` are
    skipped. ``exposure`` is who can reach the OpenAI-compatible address (None: unchanged, or this machine only).
    ``keep``: restart the server when it fails (None: unchanged, or not). Without ``leaving``, the build ends with this
    process; with it, the build outlives this process, and closing the generator leaves it running once ``leaving`` is
    set.

    Raises:
        ModelError: TW-M80, as in `plan`: a saved plan has its own template.
        WizardError: See `wizard.run.build.run`.
    """
    import asyncio

    from wizard.chat.rendering import try_out
    from wizard.run.build import run as carry_out

    await asyncio.to_thread(try_out, plan.facts.ref, plan.facts.chat)
    events = carry_out(plan, redo=redo, skip=skip, exposure=exposure, keep=keep, leaving=leaving)
    async with aclosing(events):
        async for event in events:
            yield event


def building(workspace: Workspace) -> Build | None:
    """Stage 5. The build that is running, in whatever process; immediate."""
    from wizard.run.build import building as find

    return find(workspace)


def build(workspace: Workspace, name: str | None = None) -> Build:
    """Stage 5. The build of the server ``name``, running or not; by default the running one, else the last; immediate.

    Raises:
        UsageError: TW-R103 if there is none.
    """
    from wizard.run.build import find

    return find(workspace, name)


def attach(workspace: Workspace, name: str | None = None, *, leaving: threading.Event) -> AsyncGenerator[Event, None]:
    """Stage 5. The events of a build from its beginning, live while it is running; then its error, if it has one.

    Closing the generator stops the build, unless ``leaving`` is set. Without a name it is the running build, else the
    last one (TW-R103 if there is none).
    """
    from wizard.run.build import attach as follow

    return follow(workspace, name, leaving=leaving)


def cancel(workspace: Workspace, name: str | None = None) -> Build | None:
    """Stage 5. Stop the running build (of the server ``name``) and return it; None if there is none.

    It waits for the running step to stop (seconds). Do not call it in a running event loop: use a thread.

    Raises:
        WorkspaceError: TW-R104 if it cannot be stopped.
    """
    import asyncio

    from wizard.run.build import cancel as end

    return asyncio.run(end(workspace, name))


def statuses(workspace: Workspace) -> list[Status]:
    """Stage 6. Every server of the workspace, with whether it is being built, running and ready (≤ 2 s each)."""
    from wizard.run.build import building as find
    from wizard.serve.status import statuses as look

    build = find(workspace)  # before the servers: one that becomes ready meanwhile is shown as ready
    return look(workspace, build.name if build else None)


def verify(workspace: Workspace, name: str, progress: Callable[[float], None]) -> str:
    """Read all files of the model that the server ``name`` was set up with, and compare them with its manifest; return
    what they were compared with, empty if nothing is recorded. Minutes for a large model.

    Raises:
        ModelError: TW-M60 a file is damaged, TW-M61 it is missing, TW-M17 it is not readable.
    """
    from wizard.serve.proof import verify as read_all

    return read_all(workspace.server(name), progress)


def endpoint(workspace: Workspace, name: str | None = None) -> Endpoint:
    """The running server ``name``, or the only running one, with its OpenAI-compatible address."""
    from wizard.serve.find import endpoint as find
    from wizard.serve.gateway import with_address

    return with_address(workspace, find(workspace, name))


def care(workspace: Workspace, name: str) -> Care | None:
    """What keeps the server ``name`` running, or has given up; immediate."""
    from wizard.serve.care import shown

    return shown(workspace.server(name))


def service(workspace: Workspace, name: str | None = None) -> Service:
    """The systemd unit that starts the server ``name`` (the only one, if no name is given) with the machine (≤ 1 s).

    It is also found if the server's folder is gone.

    Raises:
        UsageError: TW-S09 if no server of the workspace has that name, TW-S08 if none is given and there are several.
    """
    from wizard.serve.service import service as look

    return look(_with_unit(workspace, name))


def install_service(workspace: Workspace, name: str | None = None) -> Service:
    """Let systemd start the server with the machine and keep it running; starts nothing now. See `service`.

    Raises:
        UsageError: TW-S32 if the server was never set up.
        HostError: TW-S31 if systemd does not manage this user's services.
    """
    from wizard.serve.service import install

    return install(_named(workspace, name))


def remove_service(workspace: Workspace, name: str | None = None) -> bool:
    """Remove the unit, whether there was one; a running server keeps running. See `service`."""
    from wizard.serve.service import remove

    return remove(_with_unit(workspace, name))


def _with_unit(workspace: Workspace, name: str | None) -> ServerFolder:
    """The server ``name``, or the only one; one with a unit needs no folder."""
    from wizard.serve.service import installed

    units = {server.name: server for server in installed(workspace)}
    name = name or (next(iter(units)) if len({*workspace.names(), *units}) == len(units) == 1 else None)
    return units.get(name or "") or _named(workspace, name)


def _named(workspace: Workspace, name: str | None) -> ServerFolder:
    from wizard.serve.find import known
    from wizard.serve.log import only

    known(workspace, name)
    return only(workspace, name)


@reported("down")
def stop(workspace: Workspace, name: str | None = None) -> Status:
    """Stop a server (the only one, if no name is given) and wait until its ports are free (a few seconds).

    Fails while another wizard runs a plan here, because that may be starting the same server. Do not call it in a
    running event loop: use a thread.

    Raises:
        UsageError: TW-S01 if the name is ambiguous, TW-S09 if no server of the workspace has it.
        ServerError: TW-S02 if no name is given and none is running, TW-S07 if it cannot be stopped.
        WorkspaceError: TW-K03, TW-K04 if the workspace cannot be locked.
    """
    import asyncio

    from wizard.kernel.lock import STOPPING, writing
    from wizard.run.engine import end_strays
    from wizard.serve import gateway
    from wizard.serve.find import endpoint as find
    from wizard.serve.find import known
    from wizard.serve.status import status
    from wizard.serve.stop import stop as end

    known(workspace, name)
    server = workspace.server(name or find(workspace).name)
    with writing(workspace, STOPPING):
        asyncio.run(end_strays(workspace))
        asyncio.run(end(server))
        gateway.stop_unused(workspace)
    return status(server)


@reported("down")
def stop_all(workspace: Workspace) -> list[Status]:
    """Stop every server and the OpenAI-compatible address (a few seconds each); returns those that were running.

    Servers are also found if their note was lost. If one cannot be stopped, the others are stopped first. See `stop`.

    Raises:
        ServerError: TW-S07 or TW-S10 for the first server that cannot be stopped.
        WorkspaceError: TW-K03, TW-K04 if the workspace cannot be locked.
    """
    import asyncio

    from wizard.kernel.lock import STOPPING, writing
    from wizard.run.engine import end_strays
    from wizard.serve import gateway, leftovers
    from wizard.serve.status import status
    from wizard.serve.stop import stop_all as end

    servers = leftovers.servers(workspace)
    if not servers:
        return []
    with writing(workspace, STOPPING):
        asyncio.run(end_strays(workspace))
        try:
            stopped = asyncio.run(end(servers))
        finally:
            gateway.stop_unused(workspace)
            leftovers.remove_shared_memory()
    return [status(server) for server in stopped]


def diagnose(log: str) -> list[Finding]:
    """Known causes of failure in any log, the best explanation first (a GB takes about a minute).

    Args:
        log: A file, or ``-`` for standard input.

    Raises:
        UsageError: TW-S17 if it cannot be read.
    """
    from wizard.serve.causes import in_log

    return in_log(log)


def logs(
    workspace: Workspace,
    name: str | None = None,
    *,
    lines: int = 100,
    step: str | None = None,
    raw: bool = False,
    times: bool = False,
) -> list[str]:
    """The last lines of a server's log, or of a step's; without ``raw``, Triton's noise is filtered.

    With ``times``, a step's lines begin with the time when they came.

    Raises:
        UsageError: TW-S09 if ``name`` is not a server of the workspace, TW-S08 if the log does not exist.
    """
    from wizard.serve.find import known
    from wizard.serve.log import view

    known(workspace, name)
    return view(workspace, name, lines=lines, step=step, raw=raw, times=times)


def made(workspace: Workspace) -> list[Item]:
    """Everything that the wizard created in the workspace, with sizes."""
    from wizard.run.clean import items

    return items(workspace)


def images(workspace: Workspace) -> list[Image]:
    """Images that the workspace's servers use (≤ 3 s); the wizard does not remove them."""
    from wizard.run.clean import images as look

    return look(workspace)


def clean(workspace: Workspace, items: list[Item]) -> None:
    """Remove the items; fails while a server is running."""
    from wizard.run.clean import remove

    remove(workspace, items)
