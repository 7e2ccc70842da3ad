"""What a bundle has: the values that are asked for and written to its manifest."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from wizard.catalog.environments import Environment, environment, environment_of
from wizard.catalog.stacks import cpu_stacks, facts
from wizard.catalog.wheels import Target, supports
from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.language import join, tr
from wizard.kernel.values import from_data
from wizard.workshop import starter

SEAT, FRONT = "seat", "front"
"""Environments: the wizard's own, and Triton's for engines with an environment of their own."""
WHEELS, MODELS, IMAGES, NOTEBOOKS, PARTIAL = "wheels", "models", "images", "notebooks", ".partial"
"""Folders of a bundle; the last one exists until it is complete."""
STARTER = "install.py"


@dataclass(frozen=True, slots=True)
class Order:
    """What a bundle is to have; `machine` as the kernel names it."""

    pythons: tuple[str, ...]
    machine: str
    stacks: tuple[str, ...] = field(default_factory=cpu_stacks)
    environments: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    notebooks: Path | None = None

    def made(self) -> tuple[Environment, ...]:
        """The environments whose wheels it has, the wizard's own first.

        Raises:
            UsageError: TW-B02 if one cannot be bundled, or not for one of the Pythons; TW-D01 if it is unknown.
        """
        names = [SEAT]
        for stack in self.stacks:
            names += _environments(stack)
        environments = tuple(map(environment, dict.fromkeys((*names, *self.environments))))
        for each in environments:
            _check(each, [Target(python, self.machine) for python in self.pythons])
        return environments


def _environments(stack: str) -> list[str]:
    """The environments of ``stack`` without containers; none if it is served from images only."""
    if facts(stack).native is None:
        return []
    mine = environment_of(stack)
    return [mine.name] if mine.triton else [FRONT, mine.name]


def _check(wanted: Environment, targets: list[Target]) -> None:
    if not wanted.hashes or wanted.from_index:
        raise UsageError(
            "TW-B02",
            tr("{name} cannot be bundled: not all of its packages are pinned with hashes", name=wanted.name),
            tr("Use another --stack or --environment, or an image (docs/offline.md)."),
        )
    if unfit := [target for target in targets if not supports(wanted, target)]:
        pythons = wanted.pythons or (f"{wanted.python_min}–{wanted.python_max}",)
        raise UsageError(
            "TW-B02",
            tr("{name} has no packages for {target}", name=wanted.name, target=unfit[0]),
            tr(
                "It supports Python {pythons} on {machines}. Change --python, --machine or --stack.",
                pythons=", ".join(pythons),
                machines=", ".join(wanted.machines),
            ),
        )


@dataclass(frozen=True, slots=True)
class BundledModel:
    """A model. ``folder`` is its snapshot in the layout of the Hugging Face cache, or has the facilitator's files."""

    ref: str
    folder: str
    revision: str = ""
    """Empty for the user's own files."""
    branch: str = ""
    """The name that the revision was asked by: ``main``."""

    @property
    def is_of_hub(self) -> bool:
        """Whether it belongs into the Hugging Face cache."""
        return bool(self.revision)


@dataclass(frozen=True, slots=True)
class BundledImage:
    """An image as ``docker save`` writes it."""

    name: str
    id: str
    path: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A file: its relative path, bytes and hash."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """``bundle.json``."""

    format: int
    wizard: str
    """Version of the wizard in it."""
    wheel: str
    """Path of the wizard's own wheel."""
    made: str
    """When, in UTC."""
    pythons: tuple[str, ...]
    machine: str
    stacks: tuple[str, ...]
    environments: tuple[str, ...]
    models: tuple[BundledModel, ...]
    images: tuple[BundledImage, ...]
    files: tuple[Entry, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def manifest(folder: Path) -> Manifest:
    """The manifest of the bundle in ``folder``.

    Raises:
        UsageError: TW-B10 if it is not a bundle, or one that the wizard did not write.
    """
    try:
        data, _ = starter.read(folder)
        value = from_data(Manifest, data, where=starter.MANIFEST)
    except starter.UnusableError as error:
        raise unusable(folder, error) from error
    except UsageError as error:
        raise unusable(folder, starter.UnusableError(starter.DAMAGED, error.what)) from error
    named = [*(part for model in value.models for part in (model.folder, model.branch or "main")), value.wheel]
    named += [image.path for image in value.images]
    if outside := [path for path in named if not starter.is_inside(path)]:
        raise unusable(folder, starter.UnusableError(starter.OUTSIDE, outside[0]))
    return value


def unusable(folder: Path, error: starter.UnusableError) -> UsageError:
    """TW-B10 for a folder that is not a bundle."""
    reasons = {
        starter.NO_MANIFEST: tr("it is not complete")
        if (folder / PARTIAL).is_dir()
        else tr("it has no {file}", file=starter.MANIFEST),
        starter.DAMAGED: tr("{file} is damaged", file=starter.MANIFEST),
        starter.OUTSIDE: tr("it names a file outside of the folder"),
        starter.TOO_MANY: tr("it has more files than a bundle can have"),
    }
    reason = join("", reasons[error.reason], f": {error.detail}") if error.detail else reasons[error.reason]
    return UsageError(
        "TW-B10",
        tr("{folder} is not a usable bundle: {reason}", folder=folder, reason=reason),
        tr("Use a folder that `triton-wizard bundle --out FOLDER` completed. If it is damaged, copy it again."),
    )


def unwritable(path: object, error: OSError) -> WorkspaceError:
    """TW-B05 for a bundle, or a seat's file, that cannot be written."""
    return WorkspaceError(
        "TW-B05",
        tr("cannot write {path}: {why}", path=path, why=error.strerror or str(error)),
        tr("Free some space or choose another folder, and run the same command again. What is complete is kept."),
    )
