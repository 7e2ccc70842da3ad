"""What people type for a model → a reference: names as in Ollama, addresses of the Hub, catalog titles."""

from __future__ import annotations

import difflib
import re

from wizard.catalog.models import CuratedModel, curated

_COMMAND = re.compile(r"^(?:ollama (?:run|pull)|hf download|huggingface-cli download) +", re.IGNORECASE)
_ADDRESS = re.compile(r"^(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/(?:models/)?", re.IGNORECASE)
_PAGE = re.compile(r"/(?P<kind>tree|blob|resolve)/(?P<revision>[^/]+)(?:/(?P<file>.+\.gguf))?(?:/.*)?$")
_NOISE = re.compile(r"\b(?:instruct|latest|chat|it)\b|[^a-z0-9.]")
"""What names of one model differ in: separators, and words that say that it was trained for chat."""
_MAIN = "main"
_LATEST = ":latest"


def reference(text: str) -> str:
    """``text`` without a command and the address of the Hub: ``ORG/NAME``, with a revision or file of the address."""
    bare = _COMMAND.sub("", text, count=1)
    inside = _ADDRESS.sub("", bare, count=1)
    if inside == bare:
        return bare
    path = inside.split("?")[0].split("#")[0].rstrip("/").removesuffix(_LATEST)
    if not (page := _PAGE.search(path)):
        return path
    revision = "" if page["revision"] == _MAIN else f"@{page['revision']}"
    return path[: page.start()] + revision + (f":{page['file']}" if page["file"] else "")


def key(name: str) -> str:
    """What is left of a name to compare it by: ``llama3.1:8b`` and ``Llama 3.1 8B Instruct`` are the same."""
    return _NOISE.sub("", name.lower().replace("_", "-"))


def _keys(name: str, model: CuratedModel) -> tuple[str, ...]:
    return key(name), key(model.title), key(model.repo.partition("/")[2])


def named(name: str) -> str | None:
    """The repository of the catalog's model with this name; None if it has none, or if it contains a ``/``."""
    wanted = key(name)
    if "/" in name or not wanted:
        return None
    return next((model.repo for known, model in curated().items() if wanted in _keys(known, model)), None)


def similar(name: str, others: list[str]) -> list[str]:
    """At most three names of the catalog or among ``others`` that ``name`` may be a misspelling of, nearest first."""
    by_key = {key(other): other for other in (*others, *curated())}
    return [by_key[each] for each in difflib.get_close_matches(key(name.rpartition("/")[2]), by_key, 3, 0.75)]
