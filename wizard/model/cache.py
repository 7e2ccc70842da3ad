"""Data of earlier lookups and downloads on this disk, so that they work without the network.

Two places: the Hugging Face cache with its snapshots of repositories (huggingface_hub documentation, "Understand
caching"), and the wizard's own copy of the Hub's metadata of a repository (snapshots lack sizes and licenses).
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import replace
from pathlib import Path

from wizard.kernel.errors import WizardError
from wizard.kernel.files import write_whole
from wizard.kernel.language import tr
from wizard.kernel.values import from_json, to_json
from wizard.model import gguf_files, local
from wizard.model.facts import ModelFacts
from wizard.model.refs import HubRef
from wizard.model.shipped_configs import shipped


def endpoint() -> str:
    """The Hub's address: the current ``$HF_ENDPOINT``, or the public Hub."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def hub_cache() -> Path:
    """The Hugging Face cache according to the current environment (``huggingface_hub/constants.py`` for the order)."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if folder := os.environ.get(name):
            return Path(os.path.expandvars(folder)).expanduser()
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(os.path.expandvars(home)).expanduser() / "hub"


def snapshot(ref: HubRef) -> Path | None:
    """The folder of the cached snapshot of a repository's revision (``main`` by default)."""
    repo = hub_cache() / f"models--{ref.repo.replace('/', '--')}"
    revision = ref.revision or "main"
    try:
        if (repo / "refs" / revision).is_file():
            revision = (repo / "refs" / revision).read_text(encoding="utf-8", errors="replace").strip()
        folder = repo / "snapshots" / revision
        return folder if folder.parent == repo / "snapshots" and folder.is_dir() else None
    except OSError:
        return None


def repository(path: Path) -> str | None:
    """The repository whose cached snapshot ``path`` is in; None if it is not in the cache."""
    try:
        name = path.absolute().relative_to(hub_cache().absolute()).parts[0]
    except (ValueError, IndexError):
        return None
    return name.removeprefix("models--").replace("--", "/", 1) if name.startswith("models--") else None


def complete(ref: HubRef) -> ModelFacts | None:
    """Facts of a cached snapshot whose weights are all on disk and complete; None if there is none."""
    facts = _of_snapshot(ref)
    if facts is None or not facts.local:
        return None
    noted = _noted(ref)
    return replace(facts, licence=facts.licence or noted.licence, gated=noted.gated) if noted else facts


def kept(ref: HubRef, why: str) -> ModelFacts | None:
    """The best available facts without the Hub, with a bundled configuration as the last resort; None if there are
    none.

    Args:
        ref: The repository.
        why: Why the Hub's response is not used, for `ModelFacts.unknown`.
    """
    if noted := _noted(ref):
        day = time.strftime("%Y-%m-%d", time.gmtime(_note(ref).stat().st_mtime))
        return replace(
            noted, unknown={**noted.unknown, "hub": tr("{why}; using the response cached on {day}", why=why, day=day)}
        )
    bundled = shipped(ref, why)
    if facts := _of_snapshot(ref):
        facts = replace(facts, unknown={**facts.unknown, "hub": tr("{why}; using files from the cache", why=why)})
        return facts if facts.local else _to_download(facts, ref, bundled)
    return bundled


def keep(ref: HubRef, facts: ModelFacts) -> None:
    """Store the Hub's facts; a cache that is not writable is not an error."""
    path = _note(ref)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, to_json(facts))
    except OSError:
        return


def _to_download(facts: ModelFacts, ref: HubRef, bundled: ModelFacts | None) -> ModelFacts:
    """``facts`` of a snapshot without weights, which a lookup leaves: the repository is still to be downloaded."""
    facts = replace(facts, location=ref.repo)
    if bundled is None:
        return facts
    unknown = {name: why for name, why in facts.unknown.items() if name != "weight_bytes"}
    licence = facts.licence or bundled.licence
    return replace(facts, weight_bytes=bundled.weight_bytes, licence=licence, gated=bundled.gated, unknown=unknown)


def _of_snapshot(ref: HubRef) -> ModelFacts | None:
    folder = snapshot(ref)
    if folder is None:
        return None
    file = ref.file or (ref.type and gguf_files.of_type(_files(folder), ref.type))
    if ref.type and not file:
        return None
    try:
        facts = local.of_gguf(folder / file, str(ref)) if file else local.of_folder(folder, str(ref))
    except WizardError:  # incomplete or damaged: the Hub has the correct facts
        return None
    name = facts.name if facts.source == "gguf" else ref.name
    return replace(facts, source="hub", name=name, revision=folder.name)


def _files(folder: Path) -> list[str]:
    """The GGUF files of a snapshot, as their repository names them."""
    return [str(path.relative_to(folder)) for path in folder.rglob("*.gguf")]


def _note(ref: HubRef) -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    digest = hashlib.sha256(f"{endpoint()}\n{ref}".encode()).hexdigest()[:16]
    return base / "triton-wizard" / "hub" / f"{ref.repo.replace('/', '--')}-{digest}.json"


def _noted(ref: HubRef) -> ModelFacts | None:
    try:
        return from_json(ModelFacts, _note(ref).read_bytes(), where=str(_note(ref)))
    except (OSError, WizardError):
        return None
