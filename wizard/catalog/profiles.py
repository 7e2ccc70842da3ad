"""Locate ``profiles/`` and read its files.

Searched in this order, the first that has the file wins: ``$TRITON_WIZARD_PROFILES`` (which ``--profiles DIR`` sets),
``$XDG_CONFIG_HOME/triton-wizard/profiles``, the wheel's own (``wizard/_profiles``), the checkout's (``profiles`` beside
the package; an editable install has no ``_profiles``), and those of other packages: their wheels' data files in
``share/triton-wizard/profiles`` of the Python's prefix.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.reasons import unreadable

T = TypeVar("T")
PROFILES_VARIABLE = "TRITON_WIZARD_PROFILES"
PACKAGE = Path(__file__).resolve().parent.parent


def user_folder() -> Path:
    """The user's own profiles; the folder may not exist."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    user = Path(config) if config.startswith("/") else Path.home() / ".config"
    return user / "triton-wizard" / "profiles"


def folders() -> tuple[Path, ...]:
    """All profile folders, the most specific first; some may not exist."""
    environment = os.environ.get
    return _folders(environment(PROFILES_VARIABLE), environment("XDG_CONFIG_HOME"), environment("HOME"))


@lru_cache(maxsize=16)
def _folders(chosen: str | None, *_user: str | None) -> tuple[Path, ...]:
    """Cached by the variables that it depends on: the advice looks up thousands of files."""
    return (
        *([Path(chosen).expanduser()] if chosen else []),
        user_folder(),
        PACKAGE / "_profiles",
        PACKAGE.parent / "profiles",
        Path(sys.prefix) / "share" / "triton-wizard" / "profiles",
    )


def find(relative: str) -> Path:
    """The first file or folder named ``relative`` in the profile folders, looked for once per process.

    Raises:
        UsageError: TW-D01 if it is not found.
    """
    path = _find(folders(), relative)
    if not path.exists():  # it was removed in the meantime
        _find.cache_clear()
        path = _find(folders(), relative)
    return path


@lru_cache(maxsize=256)
def _find(among: tuple[Path, ...], relative: str) -> Path:
    for folder in among:
        if (folder / relative).exists():
            return folder / relative
    raise UsageError(
        "TW-D01",
        tr("{file} was not found", file=f"profiles/{relative}"),
        tr(
            "Reinstall triton-wizard, and check {variable} if it is set. Run `triton-wizard recipes` to list the "
            "available recipes.",
            variable=f"${PROFILES_VARIABLE}",
        ),
    )


def files(kind: str) -> dict[str, Path]:
    """Name → path of every ``profiles/KIND/*.toml``; a file in a more specific folder hides its namesake."""
    paths: dict[str, Path] = {}
    for folder in folders():
        for path in sorted((folder / kind).glob("*.toml")):
            paths.setdefault(path.stem, path)
    return dict(sorted(paths.items()))


def load_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        UsageError: TW-D02 if it is not readable or is not TOML.
    """
    from wizard.kernel import toml  # not imported for `wizard.catalog.stacks.names`

    try:
        return toml.read(path)
    except OSError as error:
        message = tr("cannot read {path}: {error}", path=path, error=unreadable(error))
        raise UsageError("TW-D02", message, tr("Check the path and its read permissions.")) from error
    except (ValueError, RecursionError) as error:  # TOML's and UTF-8's errors are ValueErrors
        message = tr("cannot parse {path} as TOML: {error}", path=path, error=unreadable(error))
        raise UsageError("TW-D02", message, tr("Fix or remove the file.")) from error


def load(kind: type[T], path: Path) -> T:
    """Read a TOML file as a value of ``kind``.

    Raises:
        UsageError: TW-D02 if it is not TOML, TW-K01 if a field does not fit.
    """
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        changed = 0  # reading it reports the reason
    key: Any = kind  # a class is hashable, which mypy does not infer for type[T]
    value: T = _read(key, path, changed)
    return value


@lru_cache(maxsize=512)
def _read(kind: Any, path: Path, changed: int) -> Any:
    """Cached reading: values are immutable, so a file is read only once per modification."""
    from wizard.kernel.values import from_data

    del changed
    return from_data(kind, load_toml(path), where=str(path))
