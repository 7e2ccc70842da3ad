"""Models with a bundled configuration, so that they can be planned for if the Hub does not respond."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from wizard.catalog import profiles
from wizard.catalog.models import curated
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.values import from_json
from wizard.model import formats, gguf_files
from wizard.model.config import describe
from wizard.model.facts import GgufFile, ModelFacts
from wizard.model.refs import HubRef


@dataclass(frozen=True, slots=True)
class ShippedModel:
    """A file of ``profiles/configs``: the relevant fields of a repository's config.json."""

    repo: str
    source: str
    config: dict[str, Any]
    licence: str | None = None
    gated: bool | None = None


def has_config(repo: str) -> bool:
    """Whether a configuration of ``repo`` is bundled."""
    try:
        return profiles.find(_path(repo)).is_file()
    except UsageError:
        return False


def _path(repo: str) -> str:
    return f"configs/{repo.replace('/', '--')}.json"


def shipped(ref: HubRef, why: str) -> ModelFacts | None:
    """The facts of ``ref`` from the bundled configuration, or None if there is none.

    Args:
        ref: The repository.
        why: Why the Hub was not used, as shown to the user.

    Raises:
        UsageError: TW-D02 or TW-K01 if the file is damaged.
    """
    files = gguf_files.of_catalog(ref.repo)
    if files and files[0].repo == ref.repo:
        return _shipped_file(ref, files, why)
    try:
        path = profiles.find(_path(ref.repo))
    except UsageError:
        return None
    shipped_model = from_json(ShippedModel, path.read_text(encoding="utf-8"), where=str(path))
    facts = ModelFacts(
        str(ref),
        "hub",
        ref.repo,
        ref.name,
        None,
        None,
        revision=ref.revision,
        licence=shipped_model.licence,
        gated=shipped_model.gated,
    )
    origin = tr("{why}; architecture and sizes are from the configuration bundled with the wizard", why=why)
    described = describe(replace(facts, unknown={"hub": origin}), shipped_model.config, str(path))
    return replace(described, weight_bytes=formats.loaded_bytes(described))


def _shipped_file(ref: HubRef, files: tuple[GgufFile, ...], why: str) -> ModelFacts | None:
    """The facts of a repository of GGUF files that the catalog names, or of one of them, from its model's config."""
    model = next(model for model in curated().values() if model.gguf == ref.repo)
    named = [file for file in files if ref.file in (None, file.file) and ref.type in (None, file.type)]
    facts = shipped(HubRef(model.repo), why)
    if facts is None or not named:
        return None
    facts = replace(gguf_files.as_file(facts, named[0]), ref=str(ref), name=ref.name, revision=ref.revision)
    return replace(facts, gguf=() if ref.file or ref.type else files)
