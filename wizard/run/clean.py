"""The files that the wizard created on this machine, with sizes, and their removal."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.language import tr
from wizard.kernel.lock import writing
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.secrets import redact
from wizard.kernel.text import plain
from wizard.kernel.values import from_json
from wizard.model import manifest
from wizard.plan.plan import Container, Plan, Start
from wizard.plan.runtimes.docker import LABEL, mark
from wizard.probe.ask import asking
from wizard.serve import care, leftovers, service
from wizard.serve.find import running

REMOVAL_SECONDS = 60.0
"""A container that does not exit is killed by its engine after 10 s."""


@dataclass(frozen=True, slots=True)
class Item:
    """A removable item: ``server``, ``environment``, ``model``, ``benchmark``, ``record``, ``service``,
    ``container``, ``process`` or ``memory``.

    Attributes:
        kind: One of these.
        name: Its name.
        path: Its path; empty for a container and a process.
        bytes: Size of its own files; 0 for a container, whose data is in its server's folder, and for a process.
        remove: Program and arguments that remove it, if it is not a file.
    """

    kind: str
    name: str
    path: str
    bytes: int
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Image:
    """An image that servers of the workspace use. It may be in use elsewhere, and a pull takes long, so the wizard
    never removes it.

    Attributes:
        name: With registry and tag.
        bytes: Size of its layers.
        remove: Program and arguments that remove it.
    """

    name: str
    bytes: int
    remove: tuple[str, ...]


def _bytes(path: Path) -> int:
    """Size of a file or of all files in a folder; links count as nothing, because their targets are not ours."""
    if path.is_symlink():
        return 0
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file() and not each.is_symlink())


def items(workspace: Workspace) -> list[Item]:
    """Everything in the workspace that can be removed."""
    items: list[Item] = []
    for kind, folder in (
        ("server", workspace.servers),
        ("environment", workspace.environments),
        ("model", workspace.models),
        ("benchmark", workspace.bench),
    ):
        if folder.is_dir():
            paths = [path for path in sorted(folder.iterdir()) if not _is_beside(path)]
            items += [Item(kind, path.name, str(path), _bytes(path)) for path in paths]
    items += [Item("record", path.name, str(path), _bytes(path)) for path in _records(workspace)]
    units = {server.name: service.path_of(server) for server in service.installed(workspace)}
    items += [Item("service", name, str(path), _bytes(path)) for name, path in units.items()]
    kill = ("kill", "-s", "KILL", "--")
    left = sorted(leftovers.groups(workspace).items())
    items += [Item("process", f"{name} ({group})", "", 0, (*kill, f"-{group}")) for group, name in left]
    items += [Item("memory", path.name, str(path), _bytes(path)) for path in leftovers.shared_memory()]
    return [*items, *_left(workspace)]


def _records(workspace: Workspace) -> list[Path]:
    """What is beside the folders, by name; never a file of the user's own."""
    files = (
        workspace.journal,
        workspace.calibration,
        workspace.speeds,
        workspace.cpu_rates,
        workspace.tools,
        workspace.gateway.root,
    )
    return sorted(path for path in files if path.exists())


def _is_beside(path: Path) -> bool:
    """Whether it is the manifest of a model that is still there, with which it is removed."""
    return path.name.endswith(manifest.SUFFIX) and os.path.lexists(manifest.folder_of(path))


def images(workspace: Workspace) -> list[Image]:
    """Images of the workspace's servers that are on this machine; blocks for up to 3 s.

    Empty for a container engine that does not respond.
    """
    used = {(container.engine, container.image) for _, container in _containers(workspace)}
    questions = {image: (image[0], "image", "inspect", "--format", "{{.Size}}", image[1]) for image in sorted(used)}
    with asking(questions) as running:
        answers = {question: running[question].answer() for question in questions}
    return [
        Image(image, int(answer.out), (engine, "image", "rm", image))
        for (engine, image), answer in answers.items()
        if answer.status == 0
    ]


def _left(workspace: Workspace) -> list[Item]:
    """Containers of the workspace's servers, running or not; empty for an engine that does not respond."""
    marked = {
        (container.engine, server): f"--filter=label={LABEL}.server={mark(server)}"
        for server, container in _containers(workspace)
    }
    questions = {server: (server[0], "ps", "--all", "--format={{.Names}}", label) for server, label in marked.items()}
    with asking(questions) as running:
        names = [
            (engine, name) for engine, server in questions for name in running[engine, server].answer().out.split()
        ]
    return [Item("container", name, "", 0, (engine, "rm", "--force", name)) for engine, name in names]


def _containers(workspace: Workspace) -> Iterator[tuple[ServerFolder, Container]]:
    """The containers in the last plans of the workspace's servers."""
    for name in workspace.names():
        server = workspace.server(name)
        try:
            plan = from_json(Plan, server.plan.read_text(encoding="utf-8"), where=str(server.plan))
        except (OSError, UsageError):
            continue  # without a plan nothing was started
        actions = [action for step in plan.steps for action in step.actions]
        yield from ((server, action.container) for action in actions if isinstance(action, Start) and action.container)


def remove(workspace: Workspace, chosen: Sequence[Item]) -> None:
    """Remove ``chosen``.

    Raises:
        UsageError: TW-R05 if a server is still running; nothing is removed then.
        WorkspaceError: TW-K03, TW-K04 if the workspace is not writable; TW-R06 if an item cannot be removed.
    """
    with writing(workspace):
        servers = [workspace.server(name) for name in workspace.names()]
        alive = [server.name for server in servers if running(server) or care.running(server)]
        if alive:
            raise UsageError(
                "TW-R05",
                tr("still running: {names}", names=", ".join(alive)),
                tr("Stop running servers first (`triton-wizard down {name}`), then run `clean` again.", name=alive[0]),
            )
        for item in sorted(chosen, key=lambda item: not item.remove):  # a container may still use the files
            if item.remove:
                _remove(item)
                continue
            path = Path(item.path)
            try:
                if item.kind == "service":
                    service.remove(workspace.server(item.name))
                elif path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
                manifest.path_of(path).unlink(missing_ok=True)
            except OSError as error:
                raise WorkspaceError(
                    "TW-R06",
                    tr("cannot remove {path}: {why}", path=path, why=error.strerror),
                    tr("Fix its permissions and run `clean` again."),
                ) from error


def _remove(item: Item) -> None:
    with asking({item.name: item.remove}, REMOVAL_SECONDS) as running:
        answer = running[item.name].answer()
    if answer.status != 0 and item.kind != "process":  # which may have ended by itself
        raise WorkspaceError(
            "TW-R06",
            tr(
                "cannot remove the {kind} {name}: {why}",
                kind=item.kind,
                name=item.name,
                why=redact(plain(answer.err)).strip(),
            ),
            tr("Start the container engine and run `clean` again."),
        )
