"""The wheels of a bundle: those that are there and right stay, pip downloads the others, compared with the pins."""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import wizard
from wizard.catalog.environments import Environment
from wizard.catalog.profiles import PACKAGE
from wizard.catalog.wheels import Pin, Target, needed, suiting
from wizard.kernel.errors import HostError, NetworkError
from wizard.kernel.language import tr
from wizard.kernel.secrets import redact
from wizard.kernel.text import plain
from wizard.workshop import starter
from wizard.workshop.bundle import unwritable
from wizard.workshop.tools import quiet

AT_ONCE = 8
"""Packages in one call of pip: an interruption costs these at most, and pip's cache has even most of them."""
_MISSING = re.compile(r"No matching distribution found for (\S+)")


@dataclass(frozen=True, slots=True)
class Packages:
    """The packages of an environment for a Python, and which of them a folder has."""

    environment: Environment
    target: Target
    there: tuple[Path, ...]
    lacking: tuple[Pin, ...]

    @property
    def to_download(self) -> int:
        """Bytes to download at most; 0 also if the environment's size is unknown."""
        have = sum(path.stat().st_size for path in self.there)
        return max(self.environment.download_bytes - have, 0) if self.lacking else 0


def look(environment: Environment, target: Target, folder: Path) -> Packages:
    """Which wheels of the environment are in ``folder``. A file with another hash is removed: it is not complete."""
    there: list[Path] = []
    lacking: list[Pin] = []
    files = sorted(folder.glob("*.whl"))
    for pin in needed(environment, target):
        whole = None
        for path in suiting(pin, files, environment, target):
            if digest(path) in pin.hashes:
                whole = path
            else:
                path.unlink()
        if whole:
            there.append(whole)
        else:
            lacking.append(pin)
    return Packages(environment, target, tuple(there), tuple(lacking))


def whole(packages: Packages, folder: Path) -> Packages:
    """All packages of ``packages``, after the download.

    Raises:
        NetworkError: TW-B04 if a wheel was removed or changed meanwhile.
    """
    now = look(packages.environment, packages.target, folder)
    if now.lacking:
        message = tr("{package} has no wheel for {target}", package=now.lacking[0].name, target=packages.target)
        raise NetworkError("TW-B04", message, tr("Run the same command again. What is complete is kept."))
    return now


def digest(path: Path) -> str:
    """The SHA-256 of a file, computed once unless it changes."""
    now = path.stat()
    return _digest(path, now.st_size, now.st_mtime_ns)


@cache
def _digest(path: Path, _size: int, _changed: int) -> str:
    return starter.digest(path)


def download(packages: Packages, folder: Path) -> Iterator[int]:
    """Download what is lacking; yields the number of packages after each part.

    Raises:
        NetworkError: TW-B04 if one has no wheel for the target, or the index does not respond.
        HostError: TW-B06 if there is no pip.
        WorkspaceError: TW-B05 if the disk is full.
    """
    done = 0
    while done < len(packages.lacking):
        part = packages.lacking[done : done + AT_ONCE]
        _download(packages, part, folder)
        done += len(part)
        yield done


def _download(packages: Packages, part: Sequence[Pin], folder: Path) -> None:
    target, glibc = packages.target, packages.environment.glibc
    with tempfile.TemporaryDirectory() as scratch:
        pins = Path(scratch, "pins.txt")
        pins.write_text("\n".join(pin.text for pin in part), encoding="utf-8")
        options = ["--no-deps", "--only-binary=:all:", "--require-hashes", "-r", str(pins), "-d", str(folder)]
        options += ["--implementation=cp", f"--python-version={target.python}", f"--abi={target.tag}"]
        options += [f"--platform={platform}" for platform in target.platforms(glibc)]
        _pip(options, folder, target)


def _pip(options: list[str], folder: Path, target: Target) -> None:
    command = [*installer(), "download", "--no-input", "--disable-pip-version-check", "--progress-bar=off", *options]
    done = quiet(command)
    if not done.returncode:
        return
    lines = [redact(plain(line)) for line in done.stderr.splitlines() if line.strip()]
    if any(os.strerror(errno.ENOSPC) in line for line in lines):
        raise unwritable(folder, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    missing = _MISSING.search("\n".join(lines))
    shown = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "")
    if missing:
        message = tr("{package} has no wheel for {target}", package=missing[1], target=target)
        # pip says the same if no index responds, with warnings before
        todo = tr(
            "Check the network and PIP_INDEX_URL, or change --python, --machine or --stack. pip: {line}", line=shown
        )
    else:
        message = tr("pip could not download the packages for {target}: {line}", target=target, line=shown)
        todo = tr("Check the network and PIP_INDEX_URL, and run the same command again. What is complete is kept.")
    raise NetworkError("TW-B04", message, todo)


def installer() -> list[str]:
    """The command of pip, which the wizard's environment lacks if uv created it.

    Raises:
        HostError: TW-B06 if there is none.
    """
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "--python", sys.executable, "pip"]
    raise HostError(
        "TW-B06",
        tr("pip is needed to download packages for other Pythons, and {python} has none", python=sys.executable),
        tr("Run `{python} -m ensurepip`, or put uv on PATH.", python=sys.executable),
    )


def own_wheel(folder: Path) -> Path:
    """The wizard's own wheel in ``folder``: built from the checkout that it runs from, else from the package index.

    Raises:
        NetworkError: TW-B04 if the index does not have it, or it cannot be built.
    """
    with tempfile.TemporaryDirectory() as scratch:
        if (PACKAGE.parent / "pyproject.toml").exists() and importlib.util.find_spec("hatchling"):
            build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", scratch]
            done = subprocess.run(
                build, cwd=PACKAGE.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
            if done.returncode:
                message = tr(
                    "the wizard's own wheel could not be built: {line}", line=done.stderr.strip().splitlines()[-1:]
                )
                raise NetworkError("TW-B04", message, tr("Run `make setup` in the checkout."))
        else:
            _pip(["--no-deps", f"triton-wizard=={wizard.__version__}", "-d", scratch], folder, Target("3", "any"))
        (built,) = Path(scratch).glob("*.whl")
        target = folder / built.name
        if not target.exists() or digest(target) != digest(built):
            shutil.copy(built, folder / f".{built.name}")
            (folder / f".{built.name}").replace(target)
        return target
