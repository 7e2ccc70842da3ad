"""Python interpreters on this machine, and whether Triton's Python backend can use them.

The stub process of the Python backend in nvidia-pytriton 0.7.0 embeds the interpreter: it loads ``libpython3.X.so.1.0``
and needs numpy < 2 (with 2.x the first string input kills it), which has wheels up to Python 3.12. The wizard's own
environments begin at 3.10. All three were measured with that release.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from wizard.kernel.language import tr
from wizard.probe.ask import Answer
from wizard.probe.host import Host, Interpreter

OLDEST, NEWEST = (3, 10), (3, 12)
"""Versions that the stub supports."""
_LISTED = (3, 8)
_NAMES = ("python3", "python", *(f"python3.{minor}" for minor in range(_LISTED[1], 20)))

_QUESTION = """
import sys
if sys.version_info >= (3, 8) and sys.implementation.name == "cpython":
    import sysconfig
    variable = sysconfig.get_config_var
    print("%d.%d.%d" % sys.version_info[:3])
    print(sys.base_prefix)
    print(variable("LIBDIR") or "")
    print(variable("MULTIARCH") or "")
    print(sysconfig.get_path("stdlib"))
"""
"""Prints five lines, or none for an interpreter of another kind. -I -S keeps site-packages out."""


def questions() -> dict[str, tuple[str, ...]]:
    """Path of each interpreter, the running one first, → the command to inspect it."""
    return {path: (path, "-I", "-S", "-c", _QUESTION) for path in dict.fromkeys(_paths())}


def _paths() -> Iterator[str]:
    """Interpreters with resolved links, so that a virtual environment counts as its base."""
    if running := getattr(sys, "_base_executable", None) or sys.executable:
        yield os.path.realpath(running)
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    pyenv = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python")
    folders = [Path(folder) for folder in os.get_exec_path() if folder.startswith("/")]
    folders += [Path("/usr/bin"), *pyenv.glob("versions/*/bin"), *uv.glob("*/bin")]
    for folder in folders:
        if folder == pyenv / "shims":
            continue  # scripts that start the versions under versions/
        for name in _NAMES:
            if os.access(folder / name, os.X_OK):
                yield os.path.realpath(folder / name)


def read(answers: Mapping[str, Answer]) -> tuple[tuple[Interpreter, ...], str | None]:
    """(interpreters; those that did not respond, with the reason). The running one first, then the newest first."""
    interpreters: dict[tuple[str, str], Interpreter] = {}  # installation and version → interpreter
    silent: list[str] = []
    for path, answer in answers.items():
        lines = answer.out.splitlines()
        if answer.status is None:
            silent.append(f"{path}: {answer.err}")
        elif answer.status == 0 and len(lines) == 5:
            interpreters.setdefault((lines[1], lines[0]), _interpreter(path, *lines))
    running = next(iter(answers), None)
    newest_first = sorted(interpreters.values(), key=lambda each: each.version, reverse=True)
    return tuple(sorted(newest_first, key=lambda each: each.path != running)), "; ".join(silent) or None


def _interpreter(path: str, version: str, prefix: str, libdir: str, multiarch: str, stdlib: str) -> Interpreter:
    major, minor, micro = (int(part) for part in version.split("."))
    folders = dict.fromkeys([libdir, str(Path(libdir) / multiarch), str(Path(prefix) / "lib")])
    library = f"libpython{major}.{minor}.so.1.0"
    libpython = next((folder for folder in folders if folder and (Path(folder) / library).is_file()), None)
    why_not = _why_not((major, minor), version, prefix, libpython)
    return Interpreter(
        path=path,
        version=(major, minor, micro),
        libpython=libpython,
        has_venv=all((Path(stdlib) / module).is_dir() for module in ("venv", "ensurepip")),
        usable=why_not is None,
        why_not=why_not,
    )


def _why_not(short: tuple[int, int], version: str, prefix: str, libpython: str | None) -> str | None:
    """Why Triton's stub cannot use an interpreter, with the remedy, or None if it can."""
    if short < OLDEST:
        return tr("too old: Python 3.10, 3.11 or 3.12 is required (`uv python install 3.12` installs one)")
    if short > NEWEST:
        return tr(
            "Triton's Python stub needs numpy < 2, which does not support Python {version}: use 3.10, 3.11 or 3.12 "
            "(`uv python install 3.12` installs one)",
            version=f"{short[0]}.{short[1]}",
        )
    if libpython is not None:
        return None
    if prefix == "/usr":
        remedy = tr("{command} on Debian or Ubuntu", command=f"`sudo apt install libpython{short[0]}.{short[1]}`")
    elif "pyenv" in prefix:
        remedy = f"`PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install --force {version}`"
    else:
        remedy = tr("{command} installs a Python that has it", command=f"`uv python install {short[0]}.{short[1]}`")
    library = f"libpython{short[0]}.{short[1]}.so.1.0"
    return tr("it lacks {library}, which Triton's Python stub loads: {remedy}", library=library, remedy=remedy)


def usable_interpreter(host: Host, only: tuple[str, ...] = ()) -> Interpreter | None:
    """The interpreter for creating server environments: the running one if usable, else the newest usable.

    An interpreter that can create virtual environments takes precedence over others (Debian without python3-venv).

    Args:
        host: The machine with the interpreters.
        only: Versions such as ``3.12``; empty: any.
    """
    usable = [each for each in host.interpreters if each.usable and (not only or short(each) in only)]
    return next((each for each in usable if each.has_venv), usable[0] if usable else None)


def short(interpreter: Interpreter) -> str:
    """Its version without the patch level: ``3.12``."""
    return "{}.{}".format(*interpreter.version)
