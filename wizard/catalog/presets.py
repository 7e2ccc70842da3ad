"""Chat presets: a named system prompt with settings; bundled ones and the user's own.

A preset is a TOML file in a ``presets`` folder of the profiles, so a user's preset hides a bundled one with its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wizard.catalog.profiles import files, load_toml, user_folder
from wizard.kernel import toml
from wizard.kernel.errors import UsageError
from wizard.kernel.files import write_whole
from wizard.kernel.language import tr
from wizard.kernel.values import from_data

_NAME = re.compile(r"[\w-]{1,40}")


@dataclass(frozen=True, slots=True)
class Preset:
    """A system prompt and settings.

    Attributes:
        name: The file's name without ``.toml``, which the user types.
        about: One sentence for a list.
        system: System prompt; empty for none.
        sampling: Setting → value, the fields of `wizard.chat.conversation.Sampling`; the others keep their defaults.
        own: Whether the user saved it and can remove it.
    """

    name: str
    about: str = ""
    system: str = ""
    sampling: Mapping[str, float | int | str | tuple[str, ...]] = field(default_factory=dict)
    own: bool = False


def presets() -> list[Preset]:
    """All presets, the user's own first.

    Raises:
        UsageError: TW-D02 or TW-K01 if a file is not readable or does not fit.
    """
    mine = _folder()
    known = [
        from_data(Preset, {**load_toml(path), "name": name, "own": path.parent == mine}, where=str(path))
        for name, path in files("presets").items()
    ]
    return sorted(known, key=lambda preset: (not preset.own, preset.name))


def preset(name: str) -> Preset:
    """The preset ``name``.

    Raises:
        UsageError: TW-D10 if it is unknown.
    """
    known = {item.name: item for item in presets()}
    if name not in known:
        raise UsageError(
            "TW-D10",
            tr("unknown preset: {name}", name=repr(name[:60])),
            tr("Available: {names}.", names=", ".join(known)),
        )
    return known[name]


def save(preset: Preset) -> Path:
    """Save a user's preset in the config folder, replacing one with its name; returns the file.

    Raises:
        UsageError: TW-D11 if the name is not usable, TW-D12 if the file cannot be written.
    """
    if not _NAME.fullmatch(preset.name):
        raise UsageError(
            "TW-D11",
            tr("invalid preset name: {name}", name=repr(preset.name[:60])),
            tr("Use letters, digits, '_' and '-', up to 40 characters."),
        )
    path = _folder() / f"{preset.name}.toml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, _text(preset))
    except (OSError, UnicodeError) as error:
        raise UsageError(
            "TW-D12", tr("cannot write {path}: {why}", path=path, why=error), tr("Check the folder's permissions.")
        ) from error
    return path


def remove(name: str) -> None:
    """Remove a user's preset.

    Raises:
        UsageError: TW-D10 if it is unknown, TW-D12 if it cannot be removed or is bundled with the wizard.
    """
    if not preset(name).own:
        raise UsageError(
            "TW-D12",
            tr("the preset {name} is built in", name=repr(name)),
            tr("You can remove only your own presets. To hide a built-in preset, save one with the same name."),
        )
    path = _folder() / f"{name}.toml"
    try:
        path.unlink()
    except OSError as error:
        raise UsageError(
            "TW-D12", tr("cannot remove {path}: {why}", path=path, why=error), tr("Check the folder's permissions.")
        ) from error


def _folder() -> Path:
    return user_folder() / "presets"


def _text(preset: Preset) -> str:
    lines = [
        f"{key} = {toml.scalar(value)}" for key, value in (("about", preset.about), ("system", preset.system)) if value
    ]
    lines += ["", "[sampling]", *(f"{name} = {_value(value)}" for name, value in preset.sampling.items())]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    return f"[{', '.join(map(toml.scalar, value))}]" if isinstance(value, (list, tuple)) else toml.scalar(value)
