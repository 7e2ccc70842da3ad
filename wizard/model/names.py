"""What people type for a model → a reference: names and addresses of Ollama, addresses of the Hub, catalog titles."""

from __future__ import annotations

import difflib
import re

from wizard.catalog.models import CuratedModel, curated

_COMMAND = re.compile(r"^(?:ollama (?:run|pull)|hf download|huggingface-cli download) +", re.IGNORECASE)
_ADDRESS = re.compile(r"^(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/(?:models/)?", re.IGNORECASE)
_OLLAMA = re.compile(
    r"^(?:https?://)?(?:(?:www\.)?ollama\.com|registry\.ollama\.ai)/library/(?P<name>[^/?#]+)(?:[/?#].*)?$",
    re.IGNORECASE,
)
_PAGE = re.compile(r"/(?P<kind>tree|blob|resolve)/(?P<revision>[^/]+)(?:/(?P<file>.+\.gguf))?(?:/.*)?$")
_NOISE = re.compile(r"\b(?:instruct|latest|chat|it)\b|[^a-z0-9.]")
"""What names of one model differ in: separators, and words that say that it was trained for chat."""
_SIZE = re.compile(r"(?P<family>.+)-(?P<size>e?\d+(?:\.\d+)?[bm])(?:-a\d+(?:\.\d+)?b)?")
"""A name of the catalog that ends with its parameters, and those that a token uses."""
_PRECISION = re.compile(r"[-:](?:(?P<type>i?q\d_\w+)|b?fp?16)$", re.IGNORECASE)
"""The end of a name in Ollama that states the type of the GGUF file, or 16 bits."""
_SIMILAR, _FAMILY = 3, 8
"""Maximum number of names that a misspelling, and a family, is told."""
_CLOSED = re.compile(r"chatgpt|gpt[345](?!all)|claude|gemini")
"""Beginnings of the names of models whose weights are not published, as `key` leaves them."""
OPEN = ("gpt-oss-20b", "gemma-4-12b", "mistral-small-3.2-24b")
"""Open models of the catalog for the same use: general chat, code, tools."""
_DISTILLED = "deepseek-ai/DeepSeek-R1-Distill-"
"""DeepSeek-R1 itself has 671 billion parameters (recalled); its publisher distilled it into smaller models."""
_R1 = tuple(f"{_DISTILLED}{name}" for name in ("Qwen-1.5B", "Qwen-7B", "Llama-8B", "Qwen-14B", "Qwen-32B", "Llama-70B"))
_MAIN = "main"
_LATEST = ":latest"


def reference(text: str) -> str:
    """``text`` without a command and the address of the Hub: ``ORG/NAME``, with a revision or file of the address; the
    name in an address of Ollama's library.
    """
    bare = _COMMAND.sub("", text, count=1)
    if page := _OLLAMA.fullmatch(bare):
        return page["name"]
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


def keys(name: str, model: CuratedModel) -> set[str]:
    """What ``model`` is found by, also without the parameters that a token uses (``qwen3:30b``)."""
    sized = _SIZE.fullmatch(name)
    short = {key(sized["family"] + sized["size"])} if sized else set()
    return {key(name), key(model.title), key(model.repo.partition("/")[2])} | short


def named(name: str) -> str | None:
    """The repository of the catalog's model with this name, or of the only one of this family (``llama3.3``), with the
    type of a GGUF file if the name ends with one (``llama3.1:8b-instruct-q4_K_M``).

    None if there is no such model, if it has no GGUF files for the type, or if the name contains a ``/``.
    """
    end = _PRECISION.search(name)
    wanted = key(name[: end.start()] if end else name)
    if "/" in name or not wanted:
        return None
    models = curated()
    matches = [model for known, model in models.items() if wanted in keys(known, model)]
    if not matches:
        sized = {known: _SIZE.fullmatch(known) for known in models}
        matches = [models[known] for known, match in sized.items() if match and key(match["family"]) == wanted]
    if len(matches) != 1:
        return None
    if end is None or end["type"] is None:
        return matches[0].repo
    return f"{matches[0].repo}:{end['type'].upper()}" if matches[0].gguf else None


def is_closed(name: str) -> bool:
    """Whether ``name`` is that of a model whose weights are not published."""
    return "/" not in name and _CLOSED.match(key(name)) is not None


def similar(name: str, others: list[str]) -> list[str]:
    """Names of the catalog or among ``others`` that ``name`` may stand for: those that begin with it (the newest, by
    size), else at most three that it may be a misspelling of, nearest first. For DeepSeek-R1 its distilled models.
    """
    wanted, models = key(name.rpartition("/")[2]), curated()
    if wanted == "deepseekr1":
        return list(_R1)
    family = [known for known in models if wanted and key(known).startswith(wanted)]
    if family:
        newest = sorted(family, key=lambda known: models[known].date, reverse=True)[:_FAMILY]
        return sorted(newest, key=lambda known: models[known].parameters)
    by_key = {key(other): other for other in (*others, *models)}
    return [by_key[each] for each in difflib.get_close_matches(wanted, by_key, _SIMILAR, 0.75)]
