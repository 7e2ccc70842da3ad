"""Searching the Hub: models by a part of their name, and the GGUF files of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wizard.kernel.errors import NetworkError, WizardError
from wizard.kernel.language import tr
from wizard.model import gguf_files
from wizard.model.cache import endpoint
from wizard.model.facts import GgufFile
from wizard.model.hub.access import DEADLINE, REQUEST, licence_of, offline_variable, within
from wizard.model.untrusted import label

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result, with the Hub's metadata; None if it has none."""

    repo: str
    downloads: int | None
    """In the last 30 days."""
    licence: str | None
    gated: bool
    parameters: int | None
    gguf: bool
    """Whether it has GGUF files, which the CPU can serve."""


def search(text: str, *, offline: bool = False, limit: int = 20) -> list[Hit]:
    """Models for text generation whose name contains ``text``, the most downloaded first.

    Raises:
        NetworkError: TW-M13 the Hub does not respond in time, or offline mode is on; TW-M14 it responds with an error.
    """
    if offline or offline_variable():
        raise NetworkError(
            "TW-M13",
            tr("offline mode is on, so the Hub is not contacted"),
            tr("To search the Hub, go online: omit --offline and unset HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE."),
        )
    return within(DEADLINE, lambda: _search(text, limit), None)


def _search(text: str, limit: int) -> list[Hit]:
    """A single request: the client's own ``list_models`` retries for half a minute and prints messages to the
    terminal.
    """
    from huggingface_hub.hf_api import ModelInfo
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

    params: dict[str, Any] = {
        "search": text,
        "pipeline_tag": "text-generation",
        "sort": "downloads",
        "limit": limit,
        "expand": ["downloads", "gated", "gguf", "safetensors", "tags"],
    }
    response = get_session().get(
        f"{endpoint()}/api/models", params=params, headers=build_hf_headers(), timeout=REQUEST, follow_redirects=True
    )
    hf_raise_for_status(response)
    return [_hit(ModelInfo(**{"siblings": None, **item})) for item in response.json()[:limit]]


def _hit(info: ModelInfo) -> Hit:
    gguf: dict[str, Any] = info.gguf if isinstance(info.gguf, dict) else {}
    total = info.safetensors.total if info.safetensors else gguf.get("total")
    return Hit(
        repo=label(info.id, 200) or "",
        downloads=info.downloads if isinstance(info.downloads, int) else None,
        licence=licence_of(info),
        gated=bool(info.gated),
        parameters=total if isinstance(total, int) and total > 0 else None,
        gguf="gguf" in (info.tags or ()),
    )


def gguf_of(repo: str) -> tuple[GgufFile, ...]:
    """GGUF files to choose among of the model in ``repo``: of the catalog's repository, or the most downloaded one that
    states ``repo`` as its origin; empty if there is none, or the Hub does not respond (≤ `DEADLINE`).
    """
    if offline_variable():
        return ()
    try:
        return within(DEADLINE, lambda: _gguf_of(repo), None)
    except WizardError:
        return ()


def _gguf_of(repo: str) -> tuple[GgufFile, ...]:
    from huggingface_hub import HfApi

    known = gguf_files.of_catalog(repo)
    names = [known[0].repo] if known else _quantized(repo)
    api = HfApi(endpoint=endpoint())
    for name in names:
        info = api.model_info(name, files_metadata=True, timeout=REQUEST)
        if files := gguf_files.listed(name, {str(file.rfilename): file.size for file in info.siblings or ()}):
            return files
    return ()


def _quantized(repo: str) -> list[str]:
    """The repositories with GGUF files whose model card states ``repo`` as their origin, the most downloaded first."""
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

    params: dict[str, Any] = {
        "filter": [f"base_model:quantized:{repo}", "gguf"],
        "sort": "downloads",
        "limit": 3,
    }
    response = get_session().get(
        f"{endpoint()}/api/models", params=params, headers=build_hf_headers(), timeout=REQUEST, follow_redirects=True
    )
    hf_raise_for_status(response)
    return [name for item in response.json() if (name := label(item.get("id"), 200))]
