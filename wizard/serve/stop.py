"""Stop a server, wait until its ports and its GPU memory are free, and remove its shared memory."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence
from pathlib import Path

from wizard.kernel import proctable
from wizard.kernel.errors import ServerError
from wizard.kernel.language import tr
from wizard.kernel.paths import ServerFolder
from wizard.kernel.process import finish, stop_group
from wizard.kernel.secrets import environment_for
from wizard.plan.runtimes.native import shm_prefix
from wizard.plan.runtimes.runtime import EXIT_TIMEOUT_S
from wizard.serve import care, find
from wizard.serve.gpu_memory import freed, held

ASK = ((signal.SIGTERM, EXIT_TIMEOUT_S + 5.0),)
"""Triton finishes running requests on SIGTERM and then exits; it checks once per second. If its own timeout passes
before they end, it may abort, and hang in its handler of that signal (2.51.0: the handler allocates memory while the
thread that it interrupted holds the allocator's lock; seen with gdb).
"""
FORCE = ((signal.SIGKILL, 5.0),)
"""Its stubs have nothing left to do without it, and one that is still loading its model would take long."""


async def stop(server: ServerFolder, *, again: bool | None = False) -> bool:
    """Keep the server running no more, and stop every process of it; True if any was running.

    Args:
        server: The server.
        again: Whether the next start keeps it running again; None: if this one did.

    Raises:
        ServerError: See `stop_processes`.
        OSError: See `care.end`.
    """
    await care.end(server, again=again)  # first, or it would start the server again
    return await stop_processes(server)


async def stop_processes(server: ServerFolder) -> bool:
    """Stop every process of the server itself; True if any was running.

    Processes are also found by their mark, so that a server whose endpoint file was lost or never written is not
    missed. The processes of a container are not among them: its engine waits for their exit when it removes the
    container.

    Raises:
        ServerError: TW-S07 if a process outlives SIGKILL, TW-S10 if the driver does not free its GPU memory.
    """
    groups = _groups(server)
    if not groups:
        return await _stopped(server, groups)
    async with held({row.pid for group in groups for row in proctable.group_members(group)}) as memory:
        ended = await _stopped(server, groups)
        await freed(server.name, memory)
    return ended


async def stop_all(servers: Iterable[ServerFolder]) -> list[ServerFolder]:
    """Stop ``servers``; returns those that were running.

    Raises:
        ServerError: As `stop`, for the first that cannot be stopped, after the others.
    """
    stopped, errors = [], []
    for server in servers:
        try:
            stopped += [server] if await stop(server) else []
        except ServerError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return stopped


def _groups(server: ServerFolder) -> list[int]:
    """The server's process groups; Triton's first, because it stops its engine in order."""
    marked = {row.group for row in proctable.marked(proctable.SERVER_MARK, str(server.root))}
    first = [endpoint.pid] if (endpoint := find.running(server)) else []
    return [*first, *sorted(marked - set(first))]


async def _stopped(server: ServerFolder, groups: Sequence[int]) -> bool:
    """Stop ``groups`` and remove the server's leftovers; True if there were any."""
    noted = find.note(server)
    for group in groups:
        await stop_group(group, ASK, leader_only=True)
        if not await stop_group(group, FORCE):
            raise ServerError(
                "TW-S07",
                tr("cannot stop process group {group} of server {name}", group=group, name=server.name),
                tr("It may belong to another user; stop it manually and run `down` again."),
            )
    if noted and noted.remove:  # its client has exited; a container that was killed with it, or hangs, has not
        await finish(noted.remove, environment_for())
    server.endpoint.unlink(missing_ok=True)
    for leftover in Path("/dev/shm").glob(shm_prefix(server) + "*"):  # noqa: S108 -- the kernel's own path
        leftover.unlink(missing_ok=True)
    return bool(groups)
