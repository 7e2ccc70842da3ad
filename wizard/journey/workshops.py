"""Workshops: bundles for a class without a network, and the progress of its seats."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.journey.planning import model

if TYPE_CHECKING:
    from wizard.workshop.bundle import Manifest, Order
    from wizard.workshop.gather import Added, Outlook
    from wizard.workshop.progress import Place
    from wizard.workshop.room import Room
    from wizard.workshop.seat import Installed, Replace, Verified


def bundle_outlook(order: Order, folder: Path, *, offline: bool = False) -> Outlook:
    """A workshop's bundle in ``folder``: what it lacks, and its size (the Hub: ≤ 10 s per model; reads what is there).

    An existing bundle is extended.

    Raises:
        UsageError: TW-B01 if something else is in ``folder``, TW-B02 if something cannot be bundled, TW-B10 if the
            bundle there is damaged.
        WorkspaceError: TW-B03 if the disk is too small, TW-B05 if it cannot be written.
        WizardError: As `model`.
    """
    from wizard.workshop.gather import grown, look

    whole = grown(order, folder)
    whole.made()  # reports what cannot be bundled before the Hub is asked
    return look(whole, [model(ref, offline=offline) for ref in whole.models], folder)


def bundle(outlook: Outlook, folder: Path) -> Iterator[Added | Manifest]:
    """Make a workshop's bundle: yields what is added next, and the manifest last. Run again, it resumes.

    Raises:
        NetworkError: TW-B04, TW-B07 if a download fails.
        HostError: TW-B06, TW-B08 if pip or the container engine does not work.
        WorkspaceError: TW-B05 if the folder cannot be written.
    """
    from wizard.workshop.gather import gather

    return gather(outlook, folder)


def bundle_verify(folder: Path) -> Verified:
    """Read every file of a workshop's bundle and compare it with the manifest.

    Raises:
        UsageError: TW-B10 if it is not a bundle.
    """
    from wizard.workshop.seat import verify

    return verify(folder)


def bundle_install(folder: Path, to: Path, replace: Replace) -> Installed:
    """Install a workshop's bundle for this user; ``replace`` is asked before a changed notebook is replaced.

    A seat that reports its progress has joined then.

    Raises:
        UsageError: TW-B10, TW-B11 if the bundle is not one or damaged.
        HostError: TW-B08 if an image cannot be loaded.
        WorkspaceError: TW-B05, TW-K07 if a file cannot be written.
    """
    from wizard.workshop.progress import reported
    from wizard.workshop.seat import install

    with reported("join"):
        return install(folder, to, replace)


def join(folder: Path, seat: str | None) -> Place:
    """Report this seat's progress in a workshop's shared folder.

    Raises:
        UsageError: TW-B13 if the name is invalid or another seat's.
        WorkspaceError: TW-B14, TW-K07 if the folder or the settings cannot be written.
    """
    from wizard.workshop.progress import join

    return join(folder, seat)


def leave() -> bool:
    """Report no more; False if this seat did not report.

    Raises:
        WorkspaceError: TW-K07 if the settings cannot be written.
    """
    from wizard.workshop.progress import leave

    return leave()


def room(folder: Path) -> Room:
    """The progress of all seats in a workshop's shared folder.

    Raises:
        UsageError: TW-B12 if it cannot be read.
    """
    from wizard.workshop.room import look

    return look(folder)
