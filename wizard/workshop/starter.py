"""Installs a seat of a workshop from the bundle that this file is in: ``python3 FOLDER/install.py``.

It needs Python 3.8 and the standard library alone, because the wizard is in every bundle as ``install.py``. It creates
a virtual environment from the bundle's wheels, compared with their hashes, and continues with its own
``triton-wizard bundle install``. Nothing is downloaded. The wizard reads and checks bundles with the functions here.
"""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import os
import platform
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

MANIFEST, FORMAT = "bundle.json", 1
PINS = "pins/seat.txt"
LARGEST_MANIFEST = 32 << 20
MOST_FILES = 20_000
"""A model has some hundred files at most, an environment some hundred wheels."""
LONGEST_PATH = 1000
LINK, SPECIAL, MISSING, CHANGED, EXTRA = "link", "special", "missing", "changed", "extra"
"""Kinds of `Problem`."""
NO_MANIFEST, DAMAGED, OUTSIDE, TOO_MANY = "no manifest", "damaged manifest", "path outside", "too many files"
"""Reasons of `UnusableError`."""
STAMP = ".made-from"
"""Beside a seat's environment: what it was made from; empty while it is being made."""


class UnusableError(Exception):
    """The folder is not a bundle, or one that no wizard wrote; ``detail`` is the value that shows it."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail[:200]!r}" if detail else reason)
        self.reason, self.detail = reason, detail[:200]


class File(NamedTuple):
    """A file of a bundle; its path is relative, with ``/``."""

    path: str
    size: int
    sha256: str


class Problem(NamedTuple):
    """What is wrong with a file of a bundle."""

    kind: str
    path: str


class SetupError(Exception):
    """Why a seat cannot be installed, and what to do, one line each."""

    def __init__(self, problem: str, *fixes: str) -> None:
        super().__init__(problem)
        self.fixes = fixes


def read(folder: Path) -> tuple[dict[str, Any], list[File]]:
    """The manifest of the bundle in ``folder``, and its files: all are inside of it, none is named twice.

    Raises:
        UnusableError: It is missing, too large, or not written by `triton-wizard bundle`.
    """
    try:
        manifest = json.loads(_manifest(folder).decode("utf-8"))
        if manifest["format"] != FORMAT:
            raise UnusableError(DAMAGED, "format {}".format(manifest["format"]))
        if len(manifest["files"]) > MOST_FILES:
            raise UnusableError(TOO_MANY, str(len(manifest["files"])))
        files = [File(row["path"], row["size"], row["sha256"]) for row in manifest["files"]]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UnusableError(DAMAGED, str(error)) from error
    for each in files:
        if not (isinstance(each.path, str) and type(each.size) is int and isinstance(each.sha256, str)):
            raise UnusableError(DAMAGED, str(each))
        if not is_inside(each.path):
            raise UnusableError(OUTSIDE, each.path)
    if len({each.path for each in files}) < len(files):
        raise UnusableError(DAMAGED, "a file is named twice")
    return manifest, files


def _manifest(folder: Path) -> bytes:
    """The manifest's text; a link, a pipe or a device is not read."""
    try:
        with os.fdopen(os.open(str(folder / MANIFEST), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UnusableError(DAMAGED, MANIFEST)
            text = file.read(LARGEST_MANIFEST + 1)
    except OSError as error:
        raise UnusableError(NO_MANIFEST, str(error.strerror)) from error
    if len(text) > LARGEST_MANIFEST:
        raise UnusableError(TOO_MANY)
    return text


def is_inside(path: str) -> bool:
    """Whether a relative path stays in its folder, and is written in the only way that it can be."""
    parts = path.split("/")
    return (
        len(path) <= LONGEST_PATH and path.isprintable() and not {"", ".", ".."} & set(parts) and parts[0] != MANIFEST
    )


def check(folder: Path, files: list[File]) -> Iterator[Problem | None]:
    """What is wrong with each of ``files``; None for one that is as it was bundled. Reads every byte.

    Raises:
        UnusableError: The folder holds more files than a bundle can.
    """
    links = {path for path, kind in walk(folder) if kind == LINK}
    for each in files:
        above = each.path.split("/")
        if any("/".join(above[:count]) in links for count in range(1, len(above) + 1)):
            yield Problem(LINK, each.path)
            continue
        kind = state(folder / each.path, each.size, each.sha256)
        yield Problem(kind, each.path) if kind else None


def extras(folder: Path, files: list[File]) -> list[Problem]:
    """What else is in the folder: files, links (also to folders), devices."""
    known = {each.path for each in files} | {MANIFEST}
    return [Problem(kind or EXTRA, path) for path, kind in walk(folder) if path not in known]


def walk(folder: Path) -> Iterator[tuple[str, str]]:
    """Every path below ``folder`` that is not a folder, with `LINK`, `SPECIAL` or nothing; links are not followed.

    Raises:
        UnusableError: There are more than a bundle can have.
    """
    count = 0
    for root, folders, names in os.walk(str(folder)):
        for name in [*folders, *names]:
            path = Path(root, name)
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                continue
            count += 1
            if count > 2 * MOST_FILES:
                raise UnusableError(TOO_MANY, str(count))
            kind = "" if stat.S_ISREG(mode) else LINK if stat.S_ISLNK(mode) else SPECIAL
            yield path.relative_to(folder).as_posix(), kind


def state(path: Path, size: int, sha256: str) -> str:
    """`MISSING` or `CHANGED`; empty if the file has that size and hash."""
    try:
        if not path.is_file():
            return MISSING
        return "" if path.stat().st_size == size and digest(path) == sha256 else CHANGED
    except OSError:  # a read error of a damaged medium
        return CHANGED


def digest(path: Path) -> str:
    """The SHA-256 of a file, as hexadecimal digits."""
    sha = hashlib.sha256()
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            sha.update(chunk)
    return sha.hexdigest()


def say(text: str) -> None:
    """Print a message for the user."""
    print(text, file=sys.stderr, flush=True)


def python_for(pythons: list[str], machine: str) -> str:
    """The path of an interpreter that the bundle has wheels for, the running one first.

    Raises:
        SetupError: There is none.
    """
    here = platform.machine()
    if here != machine:
        raise SetupError(
            f"the bundle is for {machine}, this machine is {here}", "Ask for a bundle made for this machine."
        )
    names = [sys.executable, *("python" + version for version in pythons), "python3"]
    for path in dict.fromkeys(filter(None, map(shutil.which, names))):
        try:
            code = "import sys, venv; print(sys.implementation.name, '%d.%d' % sys.version_info[:2])"
            answer = subprocess.run([path, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        if answer.stdout.decode("ascii", "replace").split() in [["cpython", version] for version in pythons]:
            return path
    raise SetupError(
        "the bundle has packages for Python {}; none of them is on PATH".format(", ".join(pythons)),
        "Install one of them, or pass its path: --python PATH.",
        "Or ask for a bundle with --python {}.{}.".format(*sys.version_info[:2]),
    )


def make(folder: Path, to: Path, python: str, wizard: File) -> None:
    """Create the seat's environment ``to/venv``, unless it is there, complete and made from the same packages.

    Raises:
        SetupError: Something else is there, or a command fails.
    """
    environment, stamp, log = to / "venv", to / STAMP, to / "install.log"
    made_from = digest(folder / PINS) + wizard.sha256
    if environment.exists():
        if not stamp.exists():
            raise SetupError(f"{environment} exists and is not a workshop's", "Choose another folder: --to DIR.")
        if stamp.read_text(encoding="utf-8") == made_from and (environment / "bin" / "triton-wizard").exists():
            return
    to.mkdir(parents=True, exist_ok=True)
    stamp.write_text("", encoding="utf-8")
    pins = to / "packages.txt"
    own = f"triton-wizard @ {(folder / wizard.path).as_uri()} --hash=sha256:{wizard.sha256}"
    pins.write_text((folder / PINS).read_text(encoding="utf-8") + own + "\n", encoding="utf-8")
    # The bundle's own pip: Debian's Python may have none. No setting of the user's changes what is installed.
    (pip,) = (folder / "wheels").glob("pip-*-py3-none-any.whl")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    variables.update({"PYTHONPATH": str(pip), "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    options = [
        "--no-index",
        "--no-deps",
        "--no-cache-dir",
        "--no-compile",
        "--find-links",
        (folder / "wheels").as_uri(),
    ]
    install = [
        str(environment / "bin" / "python"),
        "-m",
        "pip",
        "install",
        *options,
        "--require-hashes",
        "-r",
        str(pins),
    ]
    with log.open("wb") as output:
        for title, command in (
            (f"Creating {environment}", [python, "-m", "venv", "--clear", "--without-pip", str(environment)]),
            ("Installing the wizard, up to a minute", install),
        ):
            say(f"{title} …")
            done = subprocess.run(
                command, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
            )
            if done.returncode:
                text = log.read_text("utf-8", "replace")
                if os.strerror(errno.ENOSPC) in text or os.strerror(errno.EDQUOT) in text:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(to))
                say("\n".join("    " + line for line in text.splitlines()[-8:]))
                raise SetupError(f"a command failed with status {done.returncode}", f"Full output: {log}")
    pins.unlink()
    stamp.write_text(made_from, encoding="utf-8")


def install(folder: Path, to: Path, python: str | None) -> None:
    """Create the environment of a seat in ``to``.

    Raises:
        SetupError: It cannot be created.
        UnusableError: The folder is not a bundle.
    """
    manifest, files = read(folder)
    mine = [each for each in files if each.path.startswith(("wheels/", "pins/"))]
    bad = [problem for problem in check(folder, mine) if problem]
    if bad:
        shown = "\n".join("    {}: {}".format(*problem) for problem in bad[:20])
        raise SetupError(f"the bundle is damaged:\n{shown}", "Copy it again, or ask your facilitator.")
    try:
        pythons, machine = [str(version) for version in manifest["pythons"]], str(manifest["machine"])
        wizard = next(each for each in mine if each.path == manifest["wheel"])
    except (KeyError, TypeError, StopIteration) as error:
        raise UnusableError(DAMAGED, str(error)) from error
    if python and shutil.which(python) is None:
        raise SetupError(f"there is no program {python}", "Pass the path of a Python: --python PATH.")
    make(folder, to, python or python_for(pythons, machine), wizard)


def main(argv: list[str]) -> int:
    """Install this seat; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="install.py", description="Install this seat of a workshop, without a network."
    )
    parser.add_argument("--to", metavar="DIR", default="~/triton-workshop", help="where (default: ~/triton-workshop)")
    parser.add_argument("--python", metavar="PATH", help="the Python to use (default: one that the bundle is for)")
    parser.add_argument("--yes", action="store_true", help="ask nothing; your own files are kept")
    options = parser.parse_args(argv)
    folder, to = Path(__file__).resolve().parent, Path(options.to).expanduser().resolve()
    try:
        install(folder, to, options.python)
    except SetupError as error:
        say("\n".join([f"\nSetup failed: {error}", *(f"  → {fix}" for fix in error.fixes)]))
        return 3
    except UnusableError as error:
        say(f"\nSetup failed: {folder} is not a usable bundle ({error})\n  → Copy it again, or ask your facilitator.")
        return 2
    except OSError as error:
        reason = f"{error.strerror}: {error.filename}" if error.filename else str(error)
        say(f"\nSetup failed: {reason}\n  → Free some space or choose another folder: --to DIR. Then run this again.")
        return 6
    except KeyboardInterrupt:
        say("\nStopped. Run the same command to continue.")
        return 130
    script = str(to / "venv" / "bin" / "triton-wizard")
    rest = ["bundle", "install", str(folder), "--to", str(to), *(["--yes"] if options.yes else [])]
    return os.execv(script, [script, *rest])  # noqa: S606 - it becomes the wizard


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
