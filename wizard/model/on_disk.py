"""Models that are already on this disk, and path completion for models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wizard.kernel.errors import WizardError
from wizard.model import cache, gguf_files, gguf_parts
from wizard.model.refs import HubRef, parse_ref

MOST = 30
"""Maximum number of listed models, the most recent first: reading a header takes a moment each."""
ENTRIES = 200
"""Maximum number of listed entries of a folder."""


def stored_models(models: Path) -> list[str]:
    """References of all models whose complete weights are here: in the Hugging Face cache and in the folder ``models``.

    A model in the cache is named as on the Hub, one in the folder by its path.
    """
    places = [*_folders(cache.hub_cache(), "models--*"), *_folders(models, "*")]
    places.sort(key=_changed, reverse=True)
    return [ref for place in places[:MOST] for ref in _refs(place, cached=place.parent != models)]


def _folders(parent: Path, pattern: str) -> list[Path]:
    try:
        return [path for path in parent.glob(pattern) if path.is_dir()]
    except OSError:
        return []


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _refs(place: Path, *, cached: bool) -> Iterator[str]:
    if not cached:
        if (place / "config.json").is_file():
            yield str(place)
        else:
            yield from (str(file) for file in _gguf(place))
        return
    try:
        ref = parse_ref(place.name.removeprefix("models--").replace("--", "/", 1))
    except WizardError:  # a folder that the user created
        return
    folder = cache.snapshot(ref)
    if folder is None:
        return
    named = [HubRef(ref.repo, None, str(file.relative_to(folder))) for file in _gguf(folder)] or [ref]
    yield from (str(ref) for ref in named if cache.complete(ref) is not None)


def _gguf(folder: Path) -> list[Path]:
    """The GGUF models in ``folder`` and in the folders in it, where repositories often have split files."""
    try:
        names = [str(path.relative_to(folder)) for path in folder.rglob("*.gguf") if path.is_file()]
        return [folder / name for name in gguf_files.whole(names)]
    except OSError:
        return []


@dataclass(frozen=True, slots=True)
class Entry:
    """A possible completion of a path."""

    path: str
    """The text to type for it; a folder ends with a slash."""
    kind: Literal["folder", "model", "gguf"]
    """A ``model`` is a folder with a config.json."""


def browse(text: str) -> list[Entry]:
    """Folders and .gguf files that complete ``text``, the beginning of a path, those with models first.

    Empty if the folder is not readable; hidden ones only if ``text`` has the dot.
    """
    typed = f"{text}/" if text in ("~", ".", "..") else text
    parent, slash, begun = typed.rpartition("/")
    try:
        folder = Path(parent + slash or ".").expanduser()
        with os.scandir(folder) as entries:
            names = [entry for entry in entries if entry.name.startswith(begun) and entry.name.isprintable()]
            listed = [_entry(name, parent + slash) for name in names if begun or not name.name.startswith(".")]
    except (OSError, RuntimeError, ValueError):  # no permission, unknown user, a null character
        return []
    order = {"model": 0, "gguf": 1, "folder": 2}
    return sorted(filter(None, listed), key=lambda entry: (order[entry.kind], entry.path))[:ENTRIES]


def _entry(entry: os.DirEntry[str], parent: str) -> Entry | None:
    if entry.is_dir():
        kind: Literal["folder", "model"] = "model" if Path(entry.path, "config.json").is_file() else "folder"
        return Entry(f"{parent}{entry.name}/", kind)
    first = gguf_parts.parts(entry.name)[0] == entry.name
    return Entry(f"{parent}{entry.name}", "gguf") if first and entry.name.lower().endswith(".gguf") else None


def completed(text: str, entries: Sequence[Entry]) -> str:
    """``text`` extended by the common prefix of all ``entries``."""
    common = os.path.commonprefix([entry.path for entry in entries])  # noqa: RUF071 - what is typed ends anywhere
    return common if len(common) > len(text) else text
