"""From the user's model reference to `ModelFacts`: a recipe, a path, or a model ID, in this order. No code is run."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from wizard.catalog import profiles
from wizard.catalog.recipes import recipes
from wizard.kernel.errors import UsageError
from wizard.kernel.language import join, mark, tr
from wizard.model import gguf_files, local, names
from wizard.model.facts import ModelFacts
from wizard.model.hub import lookup, search
from wizard.model.refs import FORMS, parse_ref

_MAX_LENGTH = 1024
LISTED = mark("`triton-wizard advise` lists well-known models; others are found by their ID on the Hugging Face Hub.")


def find(ref: str, *, offline: bool = False) -> ModelFacts:
    """Describe the model ``ref``.

    Args:
        ref: Name of a recipe; a folder or ``.gguf`` file (whatever exists, and anything that begins with ``.``, ``/``
            or ``~``); a model ID ``org/name``, ``org/name@revision`` or ``org/name:FILE.gguf``, also as an
            address of the Hub; or a name of a well-known model, as in `wizard.model.names`.
        offline: Never use the network, only files on disk.

    Raises:
        UsageError: TW-M01 if ``ref`` has none of these forms; TW-D01 if a recipe's own model is not installed.
        ModelError: The model is missing, damaged or not accessible (TW-M02 … TW-M12, TW-M15 … TW-M17).
        WorkspaceError: TW-M18 if the Hub's cache is not writable.
        NetworkError: The Hub did not respond in time (TW-M13) or responded with an error (TW-M14).
    """
    if not ref or len(ref) > _MAX_LENGTH or not ref.isprintable() or ref != ref.strip():
        shown = f"{ref[:40]!r}" + (" …" if len(ref) > 40 else "")
        text = tr("{ref} ({length} characters) is not a model name", ref=shown, length=len(ref))
        raise UsageError("TW-M01", text, tr(FORMS))
    ref = names.reference(ref)
    for known in recipes():
        if known.name == ref:
            if not known.model_in_profiles:
                return replace(_outside(known.model, offline), ref=ref)
            return replace(local.of_path(profiles.find(known.model), ref), source="recipe")
    try:
        return _outside(ref if _as_path(ref) is not None else names.named(ref) or ref, offline)
    except UsageError as error:
        if error.code == "TW-M01" and names.is_closed(ref):
            closed = tr(
                "{name} is a closed model: its weights are not published, so it cannot be self-hosted", name=ref
            )
            instead = tr("Open models for similar use: {names}.", names=", ".join(names.OPEN))
            raise UsageError(error.code, closed, instead) from error
        near = names.similar(ref, [known.name for known in recipes()])
        server = ref.startswith(("http://", "https://"))
        if error.code != "TW-M01" or not (server or near or "/" not in ref):
            raise
        if server:
            meant = tr("To chat with a server there: `triton-wizard chat --url {url}`.", url=ref)
        else:
            # It is never taken for the nearest name: a command without a terminal must not serve another model.
            meant = tr("Did you mean {name}?", name=", ".join(near)) if near else tr(LISTED)
        raise UsageError(error.code, error.what, join(" ", meant, error.todo)) from error


def draft(ref: str, offline: bool) -> ModelFacts:
    """Describe a draft model as `find` does, one of the Hub once per process: what-ifs ask for it again and again."""
    return _of_hub(ref, offline) if _as_path(ref) is None else find(ref, offline=offline)  # files may change


@cache
def _of_hub(ref: str, offline: bool) -> ModelFacts:
    return find(ref, offline=offline)


def _outside(ref: str, offline: bool) -> ModelFacts:
    """Facts of a path or a model ID; a type of GGUF file is one of the catalog's repository, if that has the files."""
    if (path := _as_path(ref)) is not None:
        return local.of_path(path, ref)
    parsed = parse_ref(ref)
    files = gguf_files.of_catalog(parsed.repo) if parsed.type else ()
    return lookup.find(replace(parsed, repo=files[0].repo) if files else parsed, offline=offline)


def with_gguf(facts: ModelFacts) -> ModelFacts:
    """``facts`` with the GGUF files of the model that the Hub has, for a machine without GPUs (≤ 10 s)."""
    if facts.source != "hub" or facts.gguf or "@" in facts.ref or any(file.format == "gguf" for file in facts.weights):
        return facts
    return replace(facts, gguf=search.gguf_of(facts.location))


def _as_path(ref: str) -> Path | None:
    """``ref`` as a path if it looks like a path or exists."""
    path = Path(ref)
    if ref.startswith("~"):
        try:
            return path.expanduser()
        except RuntimeError:  # unknown user
            return path
    if ref.startswith(("/", "./", "../")) or ref in (".", ".."):
        return path
    try:
        return path if path.exists() else None
    except OSError:  # longer than a file name can be
        return None
