"""File locations: the workspace and its contents.

::

    WORKSPACE/                      $TRITON_WIZARD_HOME, $XDG_DATA_HOME/triton-wizard or ~/.local/share/triton-wizard;
                                    /var/tmp/triton-wizard-UID where Triton does not support the latter two
      lock                          one writer at a time
      journal.jsonl                 completed steps, one event per line, append-only
      calibration.jsonl             measured memory of servers on this machine, one start per line, append-only
      speeds.jsonl                  speeds that benchmarks measured on this machine, one level per line, append-only
      chats/                        saved conversations
      tools.json                    which tools of MCP servers the user allows always, or never
      cpu.json                      memory bandwidth of this machine's processor, measured on request
      environments/NAME-FINGERPRINT server environments, shared by all servers
      models/REPO/FILE              downloaded weights, shared by all servers
      servers/NAME/                 one served model
        plan.json  endpoint.json  logs/STEP.log  repository/
        logs/triton-N.log  logs/triton.log      the log of start N; the newest of them
        care.json  keeper.log                   the process that keeps it running
        build.jsonl  build.log      the last build: its process and events, what the process itself printed
      gateway/                      the OpenAI-compatible address of all servers
        gateway.json  gateway.log  key  lock
      bench/SERVER-TIME/            a benchmark: report.json and the files of its runs
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.files import private_folder
from wizard.kernel.language import tr
from wizard.kernel.reasons import unwritten

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_UNSAFE = re.compile(r"[^\w./+@%=,-]")
SHARED = Path("/var/tmp")  # noqa: S108
"""Shared by all users, and kept across reboots (Filesystem Hierarchy Standard 3.0, 5.15)."""


def default_workspace() -> Path:
    """The workspace when no ``--workspace`` is given (XDG Base Directory Specification 0.8 for the fallback).

    Raises:
        WorkspaceError: TW-K03 if it would be in `SHARED` and another user owns it there.
    """
    if home := os.environ.get("TRITON_WIZARD_HOME"):
        return Path(home).expanduser()
    data = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data) if data.startswith("/") else Path.home() / ".local" / "share"
    return _elsewhere() if unsafe(base.resolve()) else base / "triton-wizard"


def unsafe(path: Path) -> list[str]:
    """The characters in ``path`` that Triton does not support, sorted.

    Its Python backend starts the stub with ``bash -c "exec STUB …"``, unquoted (2.51.0, seen in its log). A colon
    separates folders in ``PATH`` and ``LD_LIBRARY_PATH``; ``python -m venv`` does not create an environment there.
    """
    return sorted(set(_UNSAFE.findall(str(path))))


def _elsewhere() -> Path:
    """The workspace of a user whose home directory Triton does not support."""
    folder = SHARED / f"triton-wizard-{os.getuid()}"
    try:
        owner = folder.lstat().st_uid
    except OSError:
        return folder
    if owner != os.getuid():  # its notes are executed: how to stop a server
        message = tr(
            "cannot write to the workspace {folder}: {error}", folder=folder, error=tr("it belongs to another user")
        )
        raise WorkspaceError("TW-K03", message, tr("Choose another folder with --workspace DIR."))
    return folder


def server_name(name: str) -> str:
    """Return ``name`` if it is valid as a folder and as a Triton model name.

    Raises:
        UsageError: TW-U01 if it is not (lowercase letters, digits, ``.``, ``_``, ``-``; at most 63).
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
    """A valid server name derived from any text, such as a repository ID or a file name."""
    tail = text.rstrip("/").rsplit("/", 1)[-1].lower().removesuffix(".gguf")
    name = re.sub(r"[^a-z0-9_-]+", "-", tail).strip("-_.")[:48].strip("-_.")
    return name if _NAME.fullmatch(name) else "model"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder for everything that the wizard creates; its properties only name paths, they create nothing."""

    root: Path

    @classmethod
    def at(cls, root: str | os.PathLike[str] | None) -> Workspace:
        """The workspace at ``root``, or the default one; the path is resolved, links included.

        Raises:
            UsageError: TW-K05 if the path is not valid text.
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
        """The file whose lock marks the only writer."""
        return self.root / "lock"

    @property
    def journal(self) -> Path:
        """The journal: one event per line, append-only; shared, because environments and weights are."""
        return self.root / "journal.jsonl"

    @property
    def speeds(self) -> Path:
        """Measured speeds of this machine's servers."""
        return self.root / "speeds.jsonl"

    @property
    def calibration(self) -> Path:
        """Measured memory of servers on this machine: one start per line, append-only."""
        return self.root / "calibration.jsonl"

    @property
    def cpu_rates(self) -> Path:
        """The measured rates of this machine's processor."""
        return self.root / "cpu.json"

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

    @property
    def bench(self) -> Path:
        """Benchmarks, one folder each."""
        return self.root / "bench"

    @property
    def chats(self) -> Path:
        """The folder of the saved conversations."""
        return self.root / "chats"

    @property
    def tools(self) -> Path:
        """What the user decided about tools of MCP servers."""
        return self.root / "tools.json"

    @property
    def gateway(self) -> GatewayFolder:
        """The folder of the OpenAI-compatible address."""
        return GatewayFolder(self.root / "gateway")

    def server(self, name: str) -> ServerFolder:
        """The folder of the server ``name``."""
        return ServerFolder(self.servers / server_name(name))

    def names(self) -> list[str]:
        """Names of all servers with a folder here, sorted."""
        if not self.servers.is_dir():
            return []
        return sorted(entry.name for entry in self.servers.iterdir() if entry.is_dir() and _NAME.fullmatch(entry.name))

    def make(self) -> None:
        """Create the workspace's folder and check that it is writable.

        Raises:
            WorkspaceError: TW-K03 if it cannot be created or is not writable.
        """
        try:
            private_folder(self.root)
            probe = self.root / f".write-test-{os.getpid()}"
            try:
                probe.write_bytes(b"x")
            finally:
                probe.unlink(missing_ok=True)
        except OSError as error:
            why = unwritten(error, self.root)
            raise WorkspaceError(
                "TW-K03",
                tr("cannot write to the workspace {folder}: {error}", folder=self.root, error=why),
                tr("Remove files you do not need, fix the permissions, or choose another folder with --workspace DIR."),
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
    def workspace(self) -> Workspace:
        """The workspace that it is in."""
        return Workspace(self.root.parent.parent)

    @property
    def plan(self) -> Path:
        """The accepted plan."""
        return self.root / "plan.json"

    @property
    def build(self) -> Path:
        """The record of the last build: its process, then its events, one per line."""
        return self.root / "build.jsonl"

    @property
    def build_log(self) -> Path:
        """What the process of that build printed itself, such as a bug's traceback."""
        return self.root / "build.log"

    @property
    def endpoint(self) -> Path:
        """The address of the running server."""
        return self.root / "endpoint.json"

    @property
    def logs(self) -> Path:
        """Full logs, one file for each step and for each of the server's last starts."""
        return self.root / "logs"

    @property
    def newest_log(self) -> Path:
        """A link to the log of the server's newest start."""
        return self.logs / "triton.log"

    @property
    def care(self) -> Path:
        """The process that keeps the server running, and what it has restarted."""
        return self.root / "care.json"

    @property
    def keeper_log(self) -> Path:
        """The log of this process."""
        return self.root / "keeper.log"

    @property
    def repository(self) -> Path:
        """The Triton model repository."""
        return self.root / "repository"


@dataclass(frozen=True, slots=True)
class GatewayFolder:
    """Paths of the process with the OpenAI-compatible address of a workspace's servers."""

    root: Path

    @property
    def address(self) -> Path:
        """Where it listens, and its process."""
        return self.root / "gateway.json"

    @property
    def log(self) -> Path:
        """Its log."""
        return self.root / "gateway.log"

    @property
    def key(self) -> Path:
        """The API key that it requires beyond this machine; only its owner may read it."""
        return self.root / "key"

    @property
    def lock(self) -> Path:
        """Locked while it is started or ends."""
        return self.root / "lock"
