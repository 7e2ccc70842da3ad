"""The GGUF files of a model, in its own repository or another one, and the facts of each. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import fields, replace

from wizard.catalog import gguf_types
from wizard.catalog.models import curated
from wizard.model import gguf_layers
from wizard.model.anatomy import Parts
from wizard.model.facts import GgufFile, ModelFacts, Quantization, WeightFile
from wizard.model.gguf_parts import missing, parts, title

_OTHER = re.compile(r"(?:^|[-_./])(?:mmproj|imatrix|mtp)[-_.]", re.IGNORECASE)
"""Names of files that are not a model: projectors, importance matrices, draft layers."""
_TYPE = re.compile(r"(?<![a-z0-9])(i?q\d_[a-z0-9_]+|mxfp4|nvfp4|bf16|f16|f32)\.gguf$", re.IGNORECASE)


def type_of(name: str) -> str | None:
    """The file type that the name of a GGUF file ends in: ``Q4_K_M``; None if it does not state one."""
    match = _TYPE.search(title(name))
    return match[1].upper() if match else None


def whole(names: Collection[str]) -> list[str]:
    """The files among ``names`` that are a model: whole ones, and the first parts of split ones that have all parts."""
    files = [name for name in names if name.lower().endswith(".gguf") and not _OTHER.search(name)]
    return sorted(name for name in files if name == parts(name)[0] and not missing(name, names))


def absent(names: Collection[str], kind: str | None = None) -> tuple[str, ...]:
    """The missing parts of an incomplete split file of the type ``kind`` or any; empty if there is none."""
    split = (name for name in sorted(names) if kind in (None, type_of(name)))
    return next(filter(None, (missing(name, names) for name in split if parts(name) != (name,))), ())


def bytes_of(name: str, sizes: Mapping[str, int | None]) -> int | None:
    """Size of the file ``name`` with all its parts; None if that of any is unknown."""
    each = [sizes.get(part) for part in parts(name)]
    return None if None in each else sum(size or 0 for size in each)


def preferred(names: Collection[str]) -> str | None:
    """The default file among a repository's GGUF files: Q8_0, else Q4_K_M, else the only one.

    On two CPU cores Q8_0 answers like the full-precision model and is hardly slower than 4 bits at these sizes;
    if it is missing, Q4_K_M is the usual compromise.
    """
    models = whole(names)
    for kind in ("Q8_0", "Q4_K_M"):
        if fit := [name for name in models if type_of(name) == kind]:
            return min(fit, key=len)
    return models[0] if len(models) == 1 else None


def listed(repo: str, sizes: Mapping[str, int | None]) -> tuple[GgufFile, ...]:
    """The files to choose among in ``repo``: one per type, the most precise first; a split one is its first part.

    Args:
        repo: The repository.
        sizes: Its files, and their bytes.
    """
    by_type: dict[str, str] = {}
    for name in sorted(whole(sizes), key=lambda name: (len(parts(name)) > 1, len(name))):
        if kind := type_of(name):
            by_type.setdefault(kind, name)
    return tuple(
        GgufFile(repo, by_type[kind], kind, bytes_of(by_type[kind], sizes))
        for kind in gguf_types.bits()
        if kind in by_type
    )


def of_catalog(repo: str) -> tuple[GgufFile, ...]:
    """The GGUF files that the catalog names for the model whose weights or GGUF files are in ``repo``."""
    folded = repo.casefold()
    for model in curated().values():
        if model.gguf and folded in (model.repo.casefold(), model.gguf.casefold()):
            return listed(model.gguf, dict.fromkeys(model.files))
    return ()


def of_type(names: Collection[str], kind: str) -> str | None:
    """The shortest of ``names`` with a whole model of the type ``kind``."""
    return min((name for name in whole(names) if type_of(name) == kind.upper()), key=len, default=None)


def choices(facts: ModelFacts) -> tuple[GgufFile, ...]:
    """The GGUF files that ``facts`` can be served from; empty if its own files were named, or none are known."""
    own = any(file.format == "gguf" for file in facts.weights)
    if (own and facts.local) or facts.source != "hub" or ":" in facts.ref:
        return ()
    return facts.gguf if own or facts.gguf or "@" in facts.ref else of_catalog(facts.location)


def as_file(facts: ModelFacts, file: GgufFile) -> ModelFacts:
    """``facts`` of the same model in ``file``; sizes that are not known are estimated by the bits of its type."""
    if (file.repo, file.file) in ((facts.location, each.name) for each in facts.weights):
        return facts  # from its own header
    known = gguf_types.bits().get(file.type)
    size = file.bytes or (round(facts.parameters * known / 8) if facts.parameters and known else None)
    bits = round(size * 8 / facts.parameters, 2) if size and facts.parameters else None
    other = file.repo != facts.location
    return replace(
        facts,
        location=file.repo,
        dtype=file.type,
        weight_bytes=size,
        weights=weight_files(file.file, {} if len(parts(file.file)) > 1 else {file.file: size}),
        stored=_stored(facts, size),
        gguf_layers=gguf_layers.estimated(facts.anatomy, size) if facts.anatomy and size else None,
        quantization=Quantization("gguf", bits, file.type, format=gguf_types.format_of(file.type)),
        revision=None if other else facts.revision,
        gated=None if other else facts.gated,
        needs_remote_code=False,
        local=False,
        gguf=(),
    )


def as_named(facts: ModelFacts, repo: str, name: str, size: int | None) -> ModelFacts:
    """``facts`` of the same model in the file ``name`` of ``repo``, of ``size`` bytes."""
    return as_file(facts, GgufFile(repo, name, type_of(name) or "", size))


def weight_files(name: str, sizes: Mapping[str, int | None]) -> tuple[WeightFile, ...]:
    """The file ``name``, or all parts of it, the first one first."""
    return tuple(WeightFile(part, sizes.get(part), "gguf") for part in parts(name))


def _stored(facts: ModelFacts, size: int | None) -> Parts | None:
    """Bytes per part if all parts had the same bits."""
    parts = facts.anatomy.parts if facts.anatomy else None
    if parts is None or size is None:
        return None
    return Parts(**{each.name: round(getattr(parts, each.name) * size / parts.total) for each in fields(Parts)})
