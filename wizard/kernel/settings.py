"""User preferences, kept between runs in ``settings.toml``: language, theme, keys.

A flag takes precedence over a setting, and a setting over the locale and the defaults. The file is written as a whole
and atomically; an unreadable file is never overwritten: it is renamed, and `change` returns the new path.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.files import private_folder
from wizard.kernel.language import LANGUAGES, mark, tr

THEME = "triton-wizard"
"""The default theme."""
_WORDS = {bool: mark("true or false"), str: mark("a string")}


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings that apply to every run."""

    language: str | None = None
    """Language code (`wizard.kernel.language.LANGUAGES`); None: the locale's language."""
    theme: str = THEME
    """Name of the full-screen wizard's theme; one of them has high contrast."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Binding ID → its keys, separated by commas, which replace the defaults."""
    explain: bool = False
    """Whether every stage of the full-screen wizard shows its explanation."""
    keep_chats: bool = True
    """Whether conversations are saved on this machine; they never leave it either way."""
    bundle: str = ""
    """Folder of a workshop's bundle, whose wheels are installed instead of those of a package index; empty: none."""
    workshop: str = ""
    """Shared folder of a workshop, in which this seat's progress is reported; empty: it is not reported."""
    seat: str = ""
    """This seat's name there."""


def path() -> Path:
    """The path of the settings file (XDG Base Directory Specification 0.8: a relative path is ignored)."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(config) if config.startswith("/") else Path.home() / ".config"
    return base / "triton-wizard" / "settings.toml"


def load() -> Settings:
    """The settings; the defaults if there is no file.

    Raises:
        UsageError: TW-K06 if the file is not readable or contains an unknown or invalid setting.
    """
    where = path()
    if not where.exists():
        return Settings()
    from wizard.kernel import toml  # only if there is such a file: `--help` must be fast

    try:
        data = toml.read(where)
    except (OSError, ValueError, RecursionError) as error:  # TOML's and UTF-8's errors are ValueErrors
        from wizard.kernel.reasons import unreadable

        raise _damaged(where, unreadable(error)) from error
    return _settings(where, data)


def change(**changes: Any) -> tuple[Settings, Path | None]:
    """Set some fields of `Settings` and keep all others as they are in the file.

    Returns:
        The current settings, and the path to which an unreadable file was moved; None if there was none.

    Raises:
        WorkspaceError: TW-K07 if they cannot be written.
    """
    where = path()
    try:
        present, damaged = load(), False
    except UsageError:
        present, damaged = Settings(), True
    changed = replace(present, **changes)
    temporary = ""
    try:
        private_folder(where.parent)
        aside = _put_aside(where) if damaged else None
        where = where.resolve()  # keep a symbolic link (common for dotfiles)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=where.parent, prefix=".new-", delete=False) as file:
            temporary = file.name
            file.write(_text(changed))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(where)
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise WorkspaceError(
            "TW-K07",
            tr("cannot save the settings to {path}: {reason}", path=where, reason=error.strerror or error),
            tr("They apply until you exit the wizard. To save them, free some space or fix the folder's permissions."),
        ) from error
    return changed, aside


def _settings(where: Path, data: Mapping[str, Any]) -> Settings:
    """The fields of the file, each validated (by hand: importing pydantic takes longer than ``--help`` may take)."""
    kinds = {each.name: type(each.default) for each in fields(Settings)} | {"language": str, "keys": dict}
    for name, value in data.items():
        if name not in kinds:
            raise _damaged(where, tr("unknown setting: {name!r}", name=name))
        if name != "keys" and type(value) is not kinds[name]:
            words = tr(_WORDS[kinds[name]])
            raise _damaged(where, tr("{name} must be {kind}, not {value!r}", name=name, kind=words, value=value))
    if (code := data.get("language", "en")) not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise _damaged(where, tr("unknown language {code!r}; available: {known}", code=code, known=known))
    keys = _flat(where, "", data.get("keys", {}))
    return Settings(**{**data, "keys": keys})


def _flat(where: Path, before: str, table: object) -> dict[str, str]:
    """Flatten ``build.stop = "s"`` under ``[keys]``, which TOML reads as a table in a table, into the binding's ID."""
    if isinstance(table, str) and before:
        return {before: table}
    if not isinstance(table, dict):
        name, kind = (f"keys.{before}", tr("a string")) if before else ("keys", tr("a table"))
        raise _damaged(where, tr("{name} must be {kind}, not {value!r}", name=name, kind=kind, value=table))
    keys: dict[str, str] = {}
    for name, value in table.items():
        keys |= _flat(where, f"{before}.{name}" if before else name, value)
    return keys


def _damaged(where: Path, reason: str) -> UsageError:
    return UsageError(
        "TW-K06",
        tr("cannot use the settings in {path}: {reason}", path=where, reason=reason),
        tr("Defaults apply until you fix or remove the file."),
    )


def _put_aside(where: Path) -> Path:
    """Rename the unreadable file and return its new path."""
    number, aside = 1, where.with_suffix(".damaged")
    while aside.exists():
        number += 1
        aside = where.with_suffix(f".damaged-{number}")
    where.rename(aside)
    return aside


def _text(settings: Settings) -> str:
    """The settings that differ from the defaults, as TOML."""
    from wizard.kernel.toml import scalar

    default = Settings()
    lines = [
        f"{each.name} = {scalar(getattr(settings, each.name))}"
        for each in fields(Settings)
        if each.name != "keys" and getattr(settings, each.name) != getattr(default, each.name)
    ]
    if settings.keys:
        lines += ["", "[keys]", *(f"{scalar(name)} = {scalar(keys)}" for name, keys in sorted(settings.keys.items()))]
    return "\n".join(["# Written by triton-wizard; every field is described in docs/terminal.md.", *lines, ""])
