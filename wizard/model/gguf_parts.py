"""The names of the parts of a split GGUF file: ``NAME-00001-of-00003.gguf``. Pure.

llama.cpp gets the first part and looks for the others beside it, under these names (``llama_split_path`` in
``src/llama.cpp`` and ``llama_model_loader`` of llama.cpp in xllamacpp 2026.10.11549).
"""

from __future__ import annotations

import re
from collections.abc import Collection

from wizard.kernel.errors import ModelError
from wizard.kernel.language import tr

_PART = re.compile(r"(?P<start>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")


def parts(name: str) -> tuple[str, ...]:
    """The names of all parts of the file that ``name`` is a part of, the first one first; ``name`` if it is whole."""
    match = _PART.fullmatch(name)
    if match is None or not 1 <= int(match["number"]) <= int(match["count"]):
        return (name,)
    start, count = match["start"], match["count"]
    return tuple(f"{start}-{number:05}-of-{count}.gguf" for number in range(1, int(count) + 1))


def title(name: str) -> str:
    """``name`` as if the file was whole: ``NAME.gguf``."""
    return f"{match['start']}.gguf" if (match := _PART.fullmatch(name)) else name


def missing(name: str, names: Collection[str]) -> tuple[str, ...]:
    """Parts of the file ``name`` that are not among ``names``."""
    return tuple(part for part in parts(name) if part not in names)


def incomplete(where: str, absent: Collection[str], total: int) -> ModelError:
    """The error for a split file of ``total`` parts without those in ``absent``."""
    shown = ", ".join(list(absent)[:3]) + (" …" if len(absent) > 3 else "")
    text = tr(
        "{where} needs all {total} parts of a split file; missing: {names}", where=where, total=total, names=shown
    )
    todo = tr("Get the missing parts and put them beside the others, or choose another file.")
    return ModelError("TW-M20", text, todo)
