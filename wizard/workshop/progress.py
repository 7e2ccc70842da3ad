"""This seat's progress, one small file in the workshop's shared folder, if the user or facilitator asked for it.

It has the seat's name, the stage, its outcome, an error code and the time: no contents, no model, no host name.
Nothing is sent anywhere. A share that does not respond delays a stage by a second.
"""

from __future__ import annotations

import os
import platform
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from wizard.kernel import settings
from wizard.kernel.errors import UsageError, WizardError, WorkspaceError
from wizard.kernel.language import tr
from wizard.kernel.values import fingerprint, to_json

WORKSHOP, SEAT = "TRITON_WIZARD_WORKSHOP", "TRITON_WIZARD_SEAT"
"""Environment variables: a workshop file, or the shared folder; a seat's number."""
STAGES = ("join", "probe", "model", "advise", "plan", "run", "chat", "bench", "compare", "tune", "quality", "down")
PATIENCE = 1.0
"""Seconds to wait for the share."""
LONGEST_NAME = 40

T = TypeVar("T")
State = Literal["running", "done", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a seat is; ``time`` is seconds since 1970."""

    seat: str
    stage: str
    state: State
    step: str
    """ID of a plan's step, during ``run``."""
    code: str
    """Of the error, if it failed with one."""
    time: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where this seat reports: its name and file."""

    seat: str
    path: Path


def place() -> Place | None:
    """Where this seat reports; None if it does not."""
    try:
        chosen = settings.load()
    except WizardError:
        chosen = settings.Settings()
    named = os.environ.get(WORKSHOP, "")
    folder = named if is_folder(named) else chosen.workshop
    if not folder:
        return None
    return _place(Path(folder).expanduser(), chosen.seat or _default_name())


def is_folder(workshop: str) -> bool:
    """Whether ``workshop`` is written as a folder, and not as a workshop file or its name; the disk is not asked."""
    return "/" in workshop and not workshop.endswith(".toml")


def _place(folder: Path, seat: str) -> Place:
    mark = fingerprint([platform.node(), _read("/etc/machine-id"), str(settings.path())])[:8]
    return Place(seat, folder / f"{seat}.{mark}.json")


def _default_name() -> str:
    number = os.environ.get(SEAT, "")
    if number.isdecimal():
        return f"seat-{number[:8]}"
    return f"seat-{fingerprint([platform.node(), str(settings.path())])[:4]}"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def is_name(text: str) -> bool:
    """Whether ``text`` can be a seat's name, which is a part of its file's name."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and not set(text) & set("./\\") and text == text.strip()


def join(folder: Path, seat: str | None) -> Place:
    """Report in ``folder`` from now on, under a name; saved in the settings.

    Raises:
        UsageError: TW-B13 if the name is invalid or another seat's.
        WorkspaceError: TW-B14 if the folder is not writable; TW-K07 if the settings are not.
    """
    chosen = seat or _default_name()
    if not is_name(chosen):
        message = tr("{name!r} cannot be the name of a seat", name=chosen[:60])
        raise UsageError("TW-B13", message, tr("Use up to 40 letters, digits, spaces or hyphens."))
    folder = folder.expanduser().absolute()
    mine = _place(folder, chosen)
    try:
        others = [path for path in folder.glob("*.json") if path.name.rsplit(".", 2)[0].casefold() == chosen.casefold()]
        if any(path != mine.path for path in others):
            message = tr("another seat is named {name!r}", name=chosen)
            raise UsageError("TW-B13", message, tr("Choose another name with --name NAME."))
        _write(mine.path, Progress(chosen, "join", "done", "", "", time.time()))
    except OSError as error:
        raise WorkspaceError(
            "TW-B14",
            tr(
                "cannot write to the workshop's folder {folder}: {why}", folder=folder, why=error.strerror or str(error)
            ),
            tr("Check the path, and ask your facilitator to make it writable for all seats."),
        ) from error
    settings.change(workshop=str(folder), seat=chosen)
    return mine


def leave() -> bool:
    """Report no more, and remove this seat's file; False if it did not report."""
    here = place()
    if here is None:
        return False
    with suppress(OSError):
        here.path.unlink()
    settings.change(workshop="", seat="")
    return True


def _write(path: Path, progress: Progress) -> None:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=".new-", delete=False) as file:
        file.write(to_json(progress) + "\n")
    try:
        Path(file.name).chmod(0o644)
        Path(file.name).replace(path)
    except OSError:
        Path(file.name).unlink(missing_ok=True)
        raise


_running: list[str] = []
"""The stage that is reported now. Others meanwhile are not: a benchmark describes the machine, too."""
_last: list[tuple[Path, str, str, str, str]] = []
_writing: list[threading.Thread] = []


def report(here: Place, stage: str, state: State, *, step: str = "", code: str = "") -> None:
    """Write this seat's progress if it has changed; a failure to write is not an error."""
    now = (here.path, stage, state, step, code)
    if _last == [now] or any(thread.is_alive() for thread in _writing):
        return

    def write() -> None:
        with suppress(OSError):
            _write(here.path, Progress(here.seat, stage, state, step, code, time.time()))

    thread = threading.Thread(target=write, name="progress", daemon=True)
    _last[:], _writing[:] = [now], [thread]
    thread.start()
    thread.join(PATIENCE)


@contextmanager
def reported(stage: str) -> Iterator[Callable[[str], None]]:
    """The outcome of a block, or of a function that this decorates, is the progress of ``stage``.

    What it yields is called with the ID of each step that begins.
    """
    if _running:
        yield lambda _: None
        return
    _running.append(stage)
    here = place()

    def tell(state: State, *, step: str = "", code: str = "") -> None:
        if here:
            report(here, stage, state, step=step, code=code)

    tell("running")
    state: State = "done"
    code = ""
    try:
        yield lambda step: tell("running", step=step)
    except WizardError as error:
        state, code = "failed", error.code
        raise
    except Exception:
        state = "failed"
        raise
    except BaseException:  # Ctrl-C, a cancelled task, a closed generator
        state = "stopped"
        raise
    finally:
        _running.clear()
        tell(state, code=code)


async def followed(stage: str, items: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """``items``, whose end is the progress of ``stage``, as are the steps of a plan that begin meanwhile."""
    async with aclosing(items) as stream:
        with reported(stage) as begun:
            async for item in stream:
                if stage == "run" and isinstance(
                    step := getattr(item, "title", None) and getattr(item, "step", None), str
                ):
                    begun(step)
                yield item
