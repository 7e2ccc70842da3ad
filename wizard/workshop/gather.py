"""Make a bundle: look at what it needs and has, then add what is lacking, and write the manifest last."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import wizard
from wizard.catalog.environments import pins
from wizard.catalog.profiles import PACKAGE
from wizard.catalog.wheels import Target
from wizard.kernel.errors import UsageError, WizardError, WorkspaceError
from wizard.kernel.language import tr
from wizard.kernel.units import size
from wizard.kernel.values import to_json
from wizard.model.facts import ModelFacts
from wizard.workshop import images, models, packages, starter
from wizard.workshop.bundle import (
    MODELS,
    NOTEBOOKS,
    PARTIAL,
    SEAT,
    STARTER,
    WHEELS,
    BundledImage,
    BundledModel,
    Entry,
    Manifest,
    Order,
    manifest,
    unwritable,
)
from wizard.workshop.images import WantedImage
from wizard.workshop.models import WantedModel
from wizard.workshop.packages import Packages

SPARE = 100 << 20
"""Bytes that stay free: the manifest, the wizard's wheel, notebooks, and what a file system needs itself."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is to be added.

    Attributes:
        order: What the bundle is to have, with what an earlier one had.
        packages: Packages by environment and Python.
        models: Models, also those that are there.
        images: Images that are not there.
        kept: Images that are.
        download: Bytes from the network, at most.
        copied: Bytes from this machine.
        free: Bytes that the disk has.
    """

    order: Order
    packages: tuple[Packages, ...]
    models: tuple[WantedModel, ...]
    images: tuple[WantedImage, ...]
    kept: tuple[BundledImage, ...]
    download: int
    copied: int
    free: int

    @property
    def unknown(self) -> bool:
        """Whether the size of something is not known before it is there."""
        by_size = [(bool(each.lacking), each.environment.download_bytes) for each in self.packages]
        return any(lacks and not known for lacks, known in by_size) or any(not each.size for each in self.models)


@dataclass(frozen=True, slots=True)
class Added:
    """What `gather` does next: a part (``wheels``, ``models``, …), its name, and how far it is, for packages."""

    part: str
    name: str
    done: int = 0
    total: int = 0


def look(order: Order, facts: list[ModelFacts], folder: Path) -> Outlook:
    """What a bundle in ``folder`` lacks (reads all that it has); creates the folder.

    Raises:
        UsageError: TW-B01 if something else is in ``folder``, TW-B02 if something cannot be bundled.
        WorkspaceError: TW-B03 if the disk is too small, TW-B05 if it cannot be written.
    """
    made = order.made()
    before = _begun(folder)
    try:
        targets = [Target(python, order.machine) for python in order.pythons]
        lists = tuple(packages.look(each, target, folder / WHEELS) for each in made for target in targets)
        chosen = tuple(each for each in map(models.wanted, facts) if each)
        all_images = images.wanted(order.stacks)
        kept = _kept(before, all_images, folder)
        to_load = tuple(each for each in all_images if each.image not in kept)
        present = {each.model.folder: _present(folder / each.model.folder) for each in chosen}
        left = [(each, max(each.size - present[each.model.folder], 0)) for each in chosen]
        # An upper bound: most wheels are the same for all Pythons.
        download = sum(each.to_download for each in lists) + sum(more for each, more in left if each.source is None)
        copied = sum(more for each, more in left if each.source) + sum(each.size for each in to_load)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise unwritable(error.filename or folder, error) from error
    if download + copied + SPARE > free:
        raise WorkspaceError(
            "TW-B03",
            tr(
                "{folder} has {free} free; the bundle needs up to {needed} more",
                folder=folder,
                free=size(free),
                needed=size(download + copied + SPARE),
            ),
            tr("Free some space, choose another folder with --out FOLDER, or bundle less."),
        )
    return Outlook(order, lists, chosen, to_load, kept, download, copied, free)


def _begun(folder: Path) -> Manifest | None:
    """The manifest of an earlier bundle in ``folder``, which is created and marked as incomplete."""
    try:
        before = manifest(folder) if (folder / starter.MANIFEST).exists() else None
        mine = before is not None or (folder / PARTIAL).is_dir()
        if folder.exists() and not mine and any(folder.iterdir()):
            message = tr("{folder} is not empty, and is not a bundle", folder=folder)
            raise UsageError("TW-B01", message, tr("Choose a new folder: --out FOLDER."))
        (folder / PARTIAL).mkdir(parents=True, exist_ok=True)
        (folder / WHEELS).mkdir(exist_ok=True)
    except NotADirectoryError as error:
        raise UsageError(
            "TW-B01", tr("{folder} is not a folder", folder=folder), tr("Choose a new folder: --out FOLDER.")
        ) from error
    except OSError as error:
        raise unwritable(folder, error) from error
    return before


def _kept(before: Manifest | None, now: list[WantedImage], folder: Path) -> tuple[BundledImage, ...]:
    """The images that the bundle has already, unchanged."""
    if before is None:
        return ()
    files = {file.path: file for file in before.files}
    same = [image for image in before.images if image in [each.image for each in now] and image.path in files]
    return tuple(image for image in same if not starter.state(folder / image.path, *_known(files[image.path])))


def _known(file: Entry) -> tuple[int, str]:
    return file.size, file.sha256


def _present(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0


def gather(outlook: Outlook, folder: Path) -> Iterator[Added | Manifest]:
    """Add what is lacking: yields what comes next, and the manifest last.

    Raises:
        NetworkError: TW-B04, TW-B07 if a download fails.
        HostError: TW-B06, TW-B08 if pip or the container engine does not work.
        WorkspaceError: TW-B05 if the folder cannot be written.
    """
    try:
        for each in outlook.packages:
            # What another environment or Python brought in the meantime is not downloaded again.
            now = packages.look(each.environment, each.target, folder / WHEELS) if each.lacking else each
            name, total = f"{each.environment.name}, {each.target}", len(now.lacking)
            if total:
                yield Added(WHEELS, name, 0, total)
                yield from (Added(WHEELS, name, done, total) for done in packages.download(now, folder / WHEELS))
        yield Added(WHEELS, "triton-wizard")
        wheel = packages.own_wheel(folder / WHEELS)
        for model in outlook.models:
            yield Added(MODELS, model.model.ref)
            models.fetch(model, folder)
        for image in outlook.images:
            yield Added("images", image.image.name)
            images.save(image, folder)
        yield from _notebooks(outlook.order, folder)
        yield Added("manifest", starter.MANIFEST)
        yield _finish(outlook, folder, wheel)
    except OSError as error:
        raise unwritable(error.filename or folder, error) from error


def notebooks_folder() -> Path | None:
    """The wizard's own notebooks: in the wheel, or in the checkout that it runs from."""
    places = (PACKAGE / "_notebooks", PACKAGE.parent / NOTEBOOKS)
    return next((place for place in places if place.is_dir()), None)


def _notebooks(order: Order, folder: Path) -> Iterator[Added]:
    source = order.notebooks or notebooks_folder()
    if source is None:
        return
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source)
        if path.is_file() and not any(part.startswith((".", "__")) or part == "source" for part in name.parts):
            yield Added(NOTEBOOKS, name.as_posix())
            models.copy(path, folder / NOTEBOOKS / name)


def _finish(outlook: Outlook, folder: Path, wheel: Path) -> Manifest:
    """Write the starter, the pins and the manifest; remove what belongs to an earlier bundle."""
    (folder / starter.PINS).parent.mkdir(exist_ok=True)
    seat = next(each.environment for each in outlook.packages if each.environment.name == SEAT)
    shutil.copyfile(pins(seat), folder / starter.PINS)
    shutil.copyfile(starter.__file__, folder / STARTER)
    order, have = outlook.order, {wheel}
    for each in outlook.packages:
        have |= set(packages.whole(each, folder / WHEELS).there)
    bundled = tuple(each.model for each in outlook.models)
    pictures = (*outlook.kept, *(each.image for each in outlook.images))
    paths = [*have, folder / starter.PINS, folder / STARTER, *(folder / each.path for each in pictures)]
    paths += [path for path in (folder / NOTEBOOKS).rglob("*") if path.is_file()]
    for model in bundled:
        paths += _of_model(folder, model)
    for stray in {*(folder / WHEELS).iterdir(), *_of_earlier(folder)} - set(paths):
        stray.unlink(missing_ok=True)
    files = tuple(sorted((_entry(folder, path) for path in dict.fromkeys(paths)), key=lambda entry: entry.path))
    named = tuple(dict.fromkeys(each.environment.name for each in outlook.packages))
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    value = Manifest(
        starter.FORMAT,
        wizard.__version__,
        wheel.relative_to(folder).as_posix(),
        made,
        order.pythons,
        order.machine,
        order.stacks,
        named,
        bundled,
        pictures,
        files,
    )
    _write(folder / starter.MANIFEST, to_json(value, indent=1) + "\n")
    shutil.rmtree(folder / PARTIAL, ignore_errors=True)
    return value


def _of_earlier(folder: Path) -> list[Path]:
    return [folder / file.path for file in manifest(folder).files] if (folder / starter.MANIFEST).exists() else []


def _of_model(folder: Path, model: BundledModel) -> list[Path]:
    place = folder / model.folder
    ref = [place.parent.parent / "refs" / model.branch] if model.branch else []
    return [*ref, *(path for path in place.rglob("*") if path.is_file() and path.suffix != ".partial")]


def _entry(folder: Path, path: Path) -> Entry:
    return Entry(path.relative_to(folder).as_posix(), path.stat().st_size, packages.digest(path))


def _write(path: Path, text: str) -> None:
    """Replace a file atomically and durably."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=".new-", delete=False) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).chmod(0o644)
    Path(file.name).replace(path)


def grown(order: Order, folder: Path) -> Order:
    """``order`` with what an earlier bundle in ``folder`` has: a bundle grows, and loses nothing."""
    try:
        before = manifest(folder)
    except WizardError:  # `look` reports it
        return order
    together = [
        tuple(dict.fromkeys((*mine, *its)))
        for mine, its in (
            (before.pythons, order.pythons),
            (before.stacks, order.stacks),
            (before.environments, order.environments),
            (tuple(model.ref for model in before.models if model.is_of_hub), order.models),
        )
    ]
    pythons, stacks, environments, refs = together
    return replace(order, pythons=pythons, stacks=stacks, environments=environments, models=refs)
