"""What the wizard has made on this machine, with sizes, and its removal."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.lock import writing
from wizard.kernel.paths import Workspace
from wizard.serve.find import running


@dataclass(frozen=True, slots=True)
class Item:
    """One thing in the workspace: ``server``, ``environment`` or ``model``; its size is what its own files take."""

    kind: str
    name: str
    path: str
    bytes: int


def _bytes(path: Path) -> int:
    """Size of a file or of all files in a folder; links count as nothing, for what they name is not ours."""
    if path.is_symlink():
        return 0
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file() and not each.is_symlink())


def items(workspace: Workspace) -> list[Item]:
    """Everything in the workspace that can be removed."""
    found: list[Item] = []
    for kind, folder in (
        ("server", workspace.servers),
        ("environment", workspace.environments),
        ("model", workspace.models),
    ):
        if folder.is_dir():
            paths = sorted(folder.iterdir())
            found += [Item(kind, path.name, str(path), _bytes(path)) for path in paths]
    return found


def remove(workspace: Workspace, chosen: Sequence[Item]) -> None:
    """Remove ``chosen``.

    Raises:
        UsageError: TW-R05 if a server is still running; nothing is removed then.
        WorkspaceError: TW-K03, TW-K04 if the workspace cannot be written; TW-R06 if something cannot be removed.
    """
    with writing(workspace):
        alive = [name for name in workspace.names() if running(workspace.server(name))]
        if alive:
            raise UsageError(
                "TW-R05", f"{', '.join(alive)} still running", "Stop it first: `triton-wizard down`; then clean again."
            )
        for item in chosen:
            path = Path(item.path)
            try:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
            except OSError as error:
                raise WorkspaceError(
                    "TW-R06", f"{path} cannot be removed: {error.strerror}", "Mend its rights and clean again."
                ) from error
