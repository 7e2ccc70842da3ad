"""What servers of this workspace left behind that no file names: processes and shared memory."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path

from wizard.kernel import proctable
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.plan.runtimes.native import SHM_PREFIX
from wizard.serve import find

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 -- the kernel's own path
NEW_S = 60.0
"""Seconds for which shared memory that no process uses may belong to a server that is just starting."""


def servers(workspace: Workspace) -> list[ServerFolder]:
    """All servers of the workspace by name, with those whose folder is gone and whose processes live."""
    rows = (proctable.environment(row.pid).get(proctable.SERVER_MARK, "") for row in proctable.processes())
    marked = {Path(root).name for root in rows if root and Path(root).parent == workspace.servers}
    return [workspace.server(name) for name in sorted(marked | set(workspace.names()))]


def groups(workspace: Workspace) -> dict[int, str]:
    """Process groups of servers that are not noted as running, and of steps whose wizard has ended → a name."""
    left = {row.group: workspace.root.name for row in proctable.orphans(workspace.root)}
    for server in servers(workspace):
        if find.running(server) is None:
            left |= {row.group: server.name for row in proctable.marked(proctable.SERVER_MARK, str(server.root))}
    left.pop(os.getpgrp(), None)
    return left


def shared_memory() -> list[Path]:
    """Files of Triton's Python backend that a server of the wizard, in any workspace, left: no process uses them."""
    left = []
    for path in SHARED_MEMORY.glob(f"{SHM_PREFIX}*"):
        with suppress(OSError):
            state = path.stat()
            if state.st_uid == os.getuid() and time.time() - state.st_ctime > NEW_S:
                left.append(path)
    used = _mapped() if left else set()
    return sorted(path for path in left if str(path) not in used)


def _mapped() -> set[str]:
    """The shared memory that processes of this user have mapped (proc_pid_maps(5))."""
    pattern, used = re.compile(rf"{SHARED_MEMORY}/{SHM_PREFIX}\S*"), set[str]()
    for row in proctable.processes():
        with suppress(OSError):
            used |= set(pattern.findall(Path(f"/proc/{row.pid}/maps").read_text(errors="replace")))
    return used


def remove_shared_memory() -> None:
    """Remove what `shared_memory` finds."""
    for path in shared_memory():
        with suppress(OSError):
            path.unlink()
