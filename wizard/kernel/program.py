"""Commands that can be pasted: they run this very wizard in this very workspace."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from wizard.kernel.paths import Workspace


def command(*words: str, workspace: str | Workspace | None = None) -> str:
    """``triton-wizard WORDS``, with the program's path where it is not on PATH.

    Args:
        words: What is to be done.
        workspace: Where; as it was named, or the one that is used, which is named unless it is the usual one.
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

    The stages name commands without knowing where the wizard is and which workspace it was told to use.
    """
    mine = f"`{command(workspace=workspace)} "
    return text if mine in text else text.replace("`triton-wizard ", mine)
