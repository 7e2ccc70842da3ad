"""Check a bundle, and install it on a seat: models, images and notebooks, and where the wizard finds the wheels."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from wizard.kernel import settings
from wizard.kernel.errors import UsageError
from wizard.kernel.language import mark, tr
from wizard.workshop import images, models, starter
from wizard.workshop.bundle import NOTEBOOKS, Manifest, manifest, unusable, unwritable

KINDS = {
    starter.MISSING: mark("missing"),
    starter.CHANGED: mark("changed"),
    starter.EXTRA: mark("extra"),
    starter.LINK: mark("link"),
    starter.SPECIAL: mark("not a file"),
}
"""Kind of a problem → its words."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a file: ``missing``, ``changed``, ``extra``, ``link`` or ``special`` (a device, a socket)."""

    kind: str
    path: str


@dataclass(frozen=True, slots=True)
class Verified:
    """A bundle that was read to the end.

    Attributes:
        manifest: Its manifest.
        sha256: The manifest's hash. It stands for all files, so a class can compare it with the facilitator's.
        problems: What is wrong, or was added.
    """

    manifest: Manifest
    sha256: str
    problems: tuple[Problem, ...]

    @property
    def is_whole(self) -> bool:
        """Whether all its files are as they were bundled; extra ones are never used."""
        return all(problem.kind == starter.EXTRA for problem in self.problems)


@dataclass(frozen=True, slots=True)
class Installed:
    """What a seat has now.

    Attributes:
        folder: The bundle, whose wheels servers are installed from.
        notebooks: The folder of notebooks; empty if the bundle has none.
        models: What to serve them by: a reference of the Hub, or the path of the facilitator's own.
        images: Names of its images, loaded now or earlier.
        not_loaded: Names of images for which this machine has no container engine.
        kept: Files of the user's that differ from the bundle's and were not replaced.
    """

    folder: str
    notebooks: str
    models: tuple[str, ...]
    images: tuple[str, ...]
    not_loaded: tuple[str, ...]
    kept: tuple[str, ...]


Replace = Callable[[tuple[str, ...]], bool]
"""Asked with the notebooks that the user changed: whether the bundle's replace them."""


def verify(folder: Path) -> Verified:
    """Read every file of a bundle and compare it with the manifest.

    Raises:
        UsageError: TW-B10 if it is not a bundle, or one that the wizard did not write.
    """
    value = manifest(folder)
    try:
        _, files = starter.read(folder)
        differing = [*(problem for problem in starter.check(folder, files) if problem), *starter.extras(folder, files)]
    except starter.UnusableError as error:
        raise unusable(folder, error) from error
    problems = dict.fromkeys(
        Problem(problem.kind, problem.path) for problem in differing
    )  # a link may be extra as well
    return Verified(value, starter.digest(folder / starter.MANIFEST), tuple(problems))


def install(folder: Path, to: Path, replace: Replace) -> Installed:
    """Install a bundle for this user; what is there already stays. Writes nothing in ``folder``.

    Args:
        folder: The bundle. It must stay until the first server runs: its wheels are not copied.
        to: Where notebooks go, and models of the facilitator's own.
        replace: Asked before a notebook that differs is replaced.

    Raises:
        UsageError: TW-B10 if it is not a bundle, TW-B11 if a file is missing or changed.
        HostError: TW-B08 if an image cannot be loaded.
        WorkspaceError: TW-B05 if a file cannot be written; TW-K07 if the settings cannot.
    """
    folder = folder.resolve()
    verified = verify(folder)
    if not verified.is_whole:
        bad = [problem for problem in verified.problems if problem.kind != starter.EXTRA]
        message = tr(
            "{folder} is damaged: {kind}: {path}", folder=folder, kind=tr(KINDS[bad[0].kind]), path=bad[0].path
        )
        todo = tr("Run `triton-wizard bundle verify {folder}` for all files, and copy the bundle again.", folder=folder)
        raise UsageError("TW-B11", message, todo)
    value = verified.manifest
    try:
        kept = [
            name
            for model in value.models
            for name in models.put(model, _below(value, model.folder), folder, to / "models")
        ]
        notebooks = _below(value, NOTEBOOKS)
        kept += _notebooks(folder, notebooks, to, replace)
    except OSError as error:
        raise unwritable(error.filename or to, error) from error
    loaded = {image.name: images.load(image, folder) for image in value.images}
    settings.change(bundle=str(folder))
    return Installed(
        str(folder),
        str(to / NOTEBOOKS) if notebooks else "",
        tuple(model.ref if model.is_of_hub else _served_by(value, model.folder, to) for model in value.models),
        tuple(name for name, done in loaded.items() if done is not None),
        tuple(name for name, done in loaded.items() if done is None),
        tuple(kept),
    )


def _served_by(value: Manifest, folder: str, to: Path) -> str:
    """The path of a model of the facilitator's: its only file, or its folder."""
    paths = _below(value, folder)
    mine = to / "models" / Path(folder).name
    return str(mine / Path(paths[0]).relative_to(folder) if len(paths) == 1 else mine)


def _below(value: Manifest, folder: str) -> list[str]:
    return [file.path for file in value.files if file.path.startswith(f"{folder}/")]


def _notebooks(folder: Path, paths: list[str], to: Path, replace: Replace) -> Iterator[str]:
    """Copy the notebooks; yields those that the user keeps."""
    differ = [path for path in paths if _differs(folder / path, to / path)]
    keep = set(differ) if differ and not replace(tuple(str(to / path) for path in differ)) else set()
    for path in paths:
        if path in keep:
            yield str(to / path)
        elif path in differ or not (to / path).exists():
            (to / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / path, to / path)


def _differs(bundled: Path, mine: Path) -> bool:
    return mine.exists() and starter.digest(bundled) != starter.digest(mine)
