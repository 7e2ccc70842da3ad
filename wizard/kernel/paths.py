"""Where things lie: the workspace and what is in it.

::

    WORKSPACE/                      $TRITON_WIZARD_HOME, $XDG_DATA_HOME/triton-wizard or ~/.local/share/triton-wizard;
                                    /var/tmp/triton-wizard-UID where Triton cannot be given the latter two
      lock                          one writer at a time
      journal.jsonl                 what was done, one event a line, only appended to
      calibration.jsonl             what servers on this machine really took, one start a line, only appended to
      environments/NAME-FINGERPRINT server environments, shared by all servers
      models/REPO/FILE              downloaded weights, shared by all servers
      servers/NAME/                 one served model
        plan.json  endpoint.json  logs/STEP.log  logs/triton.log  repository/
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.language import tr

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_UNSAFE = re.compile(r"[^\w./+@%=,-]")
SHARED = Path("/var/tmp")  # noqa: S108
"""For everybody, and kept when the machine starts again (Filesystem Hierarchy Standard 3.0, 5.15)."""


def default_workspace() -> Path:
    """The workspace when no ``--workspace`` is given (XDG Base Directory Specification 0.8 for the fallback).

    Raises:
        WorkspaceError: TW-K03 if it would be in `SHARED` and somebody else has made it there.
    """
    if home := os.environ.get("TRITON_WIZARD_HOME"):
        return Path(home).expanduser()
    data = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data) if data.startswith("/") else Path.home() / ".local" / "share"
    return _elsewhere() if unsafe(base.resolve()) else base / "triton-wizard"


def unsafe(path: Path) -> list[str]:
    """The characters of ``path`` because of which Triton cannot be given it, sorted.

    Its Python backend starts the stub by ``bash -c "exec STUB …"`` without quotes (2.51.0, seen in its log). And a
    colon ends a folder in ``PATH`` and ``LD_LIBRARY_PATH``; ``python -m venv`` makes no environment there.
    """
    return sorted(set(_UNSAFE.findall(str(path))))


def _elsewhere() -> Path:
    """The workspace of a user in whose home Triton cannot work."""
    folder = SHARED / f"triton-wizard-{os.getuid()}"
    try:
        owner = folder.lstat().st_uid
    except OSError:
        return folder
    if owner != os.getuid():  # what is noted there is run: how a server is stopped
        what = tr(
            "cannot write to the workspace {folder}: {error}", folder=folder, error=tr("it belongs to another user")
        )
        raise WorkspaceError("TW-K03", what, tr("Choose another folder with --workspace DIR."))
    return folder


def server_name(name: str) -> str:
    """Return ``name`` if it is fit for a folder and for a Triton model.

    Raises:
        UsageError: TW-U01 if it is not (lower-case letters, digits, ``.``, ``_``, ``-``; at most 63).
    """
    if not _NAME.fullmatch(name) or ".." in name:
        raise UsageError(
            "TW-U01",
            tr("invalid server name: {name}", name=f"{name[:60]!r}{' …' if len(name) > 60 else ''}"),
            tr(
                "Use lowercase letters, digits, '.', '_' and '-', starting with a letter or digit, up to 63 characters."
            ),
        )
    return name


def suggest_name(text: str) -> str:
    """A usable server name made from any text, such as a repository id or a file name."""
    tail = text.rstrip("/").rsplit("/", 1)[-1].lower().removesuffix(".gguf")
    name = re.sub(r"[^a-z0-9_-]+", "-", tail).strip("-_.")[:48].strip("-_.")
    return name if _NAME.fullmatch(name) else "model"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder that holds everything the wizard makes; its properties only name paths, they create nothing."""

    root: Path

    @classmethod
    def at(cls, root: str | os.PathLike[str] | None) -> Workspace:
        """The workspace at ``root``, or the default one; one spelling for one folder, links followed.

        Raises:
            UsageError: TW-K05 if the path is not text.
        """
        path = (Path(root).expanduser() if root else default_workspace()).resolve()
        try:
            str(path).encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                "TW-K05",
                tr("the workspace path {folder!r} is not valid UTF-8", folder=str(path)),
                tr("Choose another folder with --workspace DIR."),
            ) from error
        return cls(path)

    @property
    def lock(self) -> Path:
        """The file whose lock marks the one writer."""
        return self.root / "lock"

    @property
    def journal(self) -> Path:
        """The journal: one event a line, only appended to; shared, because environments and weights are."""
        return self.root / "journal.jsonl"

    @property
    def calibration(self) -> Path:
        """What servers on this machine really took: one start a line, only appended to."""
        return self.root / "calibration.jsonl"

    @property
    def environments(self) -> Path:
        """Server environments (virtual environments), one folder each."""
        return self.root / "environments"

    @property
    def models(self) -> Path:
        """Downloaded weights."""
        return self.root / "models"

    @property
    def servers(self) -> Path:
        """One folder for each served model."""
        return self.root / "servers"

    def server(self, name: str) -> ServerFolder:
        """The folder of the server ``name``."""
        return ServerFolder(self.servers / server_name(name))

    def names(self) -> list[str]:
        """Names of all servers that have a folder here, sorted."""
        if not self.servers.is_dir():
            return []
        return sorted(entry.name for entry in self.servers.iterdir() if entry.is_dir() and _NAME.fullmatch(entry.name))

    def make(self) -> None:
        """Create the workspace's folder and check that it can be written.

        Raises:
            WorkspaceError: TW-K03 if it cannot be created or written.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            probe = self.root / f".write-test-{os.getpid()}"
            try:
                probe.write_bytes(b"x")
            finally:
                probe.unlink(missing_ok=True)
        except OSError as error:
            raise WorkspaceError(
                "TW-K03",
                tr("cannot write to the workspace {folder}: {error}", folder=self.root, error=error.strerror or error),
                tr("Free some space, fix the permissions, or choose another folder with --workspace DIR."),
            ) from error


@dataclass(frozen=True, slots=True)
class ServerFolder:
    """Paths of one server inside the workspace."""

    root: Path

    @property
    def name(self) -> str:
        """The server's name."""
        return self.root.name

    @property
    def plan(self) -> Path:
        """The accepted plan."""
        return self.root / "plan.json"

    @property
    def endpoint(self) -> Path:
        """Where the running server answers."""
        return self.root / "endpoint.json"

    @property
    def logs(self) -> Path:
        """Full logs, one file for each step and ``triton.log`` for the server."""
        return self.root / "logs"

    @property
    def repository(self) -> Path:
        """The Triton model repository."""
        return self.root / "repository"
