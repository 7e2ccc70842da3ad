"""What a user likes, kept between runs in ``settings.toml``: language, colours, keys.

A flag goes before a setting, and a setting before the locale and the defaults. The file is written whole and
atomically; one that cannot be read is never written over: it is put aside, and whoever writes is told where.
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
from wizard.kernel.language import LANGUAGES, mark, tr

THEME = "triton-wizard"
"""The theme of someone who has not chosen one."""
_WORDS = {bool: mark("true or false"), str: mark("a string")}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set once for all runs."""

    language: str | None = None
    """Code of the language of everything that is said (`wizard.kernel.language.LANGUAGES`); None: the locale's."""
    theme: str = THEME
    """Name of the full-screen wizard's theme; the high contrast is one of them."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Id of a binding → its keys, separated by commas, instead of those that it has by default."""
    explain: bool = False
    """Whether every stage of the full-screen wizard shows its explanation."""
    keep_chats: bool = True
    """Whether conversations are kept on this machine; they never leave it either way."""


def path() -> Path:
    """Where the settings lie (XDG Base Directory Specification 0.8: a relative path is ignored)."""
    config = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(config) if config.startswith("/") else Path.home() / ".config"
    return base / "triton-wizard" / "settings.toml"


def load() -> Settings:
    """The settings; the defaults where there is no file.

    Raises:
        UsageError: TW-K06 if the file cannot be read or holds what is no setting.
    """
    where = path()
    if not where.exists():
        return Settings()
    from wizard.kernel import toml  # only for who has such a file: `--help` is to be quick

    try:
        data = toml.loads(where.read_bytes().decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # TOML's and UTF-8's errors are ValueErrors
        from wizard.kernel.reasons import unreadable

        raise _damaged(where, unreadable(error)) from error
    return _settings(where, data)


def change(**changes: Any) -> tuple[Settings, Path | None]:
    """Set some fields of `Settings` and keep all others as the file has them now.

    Returns:
        The settings as they are now, and where a file was put that could not be read; None if there was none.

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
        where.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        aside = _put_aside(where) if damaged else None
        where = where.resolve()  # a link, as some keep their dotfiles, stays one
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
    """The fields of the file, each checked (by hand: pydantic takes longer to import than ``--help`` may take)."""
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
    """``build.stop = "s"`` under ``[keys]`` is a table in a table in TOML; the id is meant."""
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
    """Give the file that could not be read a name of its own, and say which."""
    number, aside = 1, where.with_suffix(".damaged")
    while aside.exists():
        number += 1
        aside = where.with_suffix(f".damaged-{number}")
    where.rename(aside)
    return aside


def _text(settings: Settings) -> str:
    """What differs from the defaults, as TOML."""
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
