"""Commands for copy and paste: they run this wizard installation in this workspace."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from wizard.kernel.paths import Workspace


def command(*words: str, workspace: str | Workspace | None = None) -> str:
    """``triton-wizard WORDS``, with the program's path if it is not on PATH.

    Args:
        words: The command's words.
        workspace: The workspace as the user named it, or the one in use, which is included unless it is the default.
    """
    mine = Path(sys.executable).parent / "triton-wizard"
    on_path = shutil.which("triton-wizard")
    program = "triton-wizard" if on_path and Path(on_path).resolve() == mine.resolve() else str(mine)
    if isinstance(workspace, Workspace):
        workspace = None if workspace == Workspace.at(None) else str(workspace.root)
    where = ("--workspace", workspace) if workspace else ()
    return shlex.join([program, *where, *words])


def pasteable(text: str, workspace: str | Workspace | None) -> str:
    """``text`` with its commands (```triton-wizard …```) as `command` writes them.

    The stages write commands without knowing the wizard's path and the workspace in use.
    """
    mine = f"`{command(workspace=workspace)} "
    return text if mine in text else text.replace("`triton-wizard ", mine)
