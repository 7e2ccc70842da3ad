"""Display names of stacks and formats. Pure; untrusted text is sanitized."""

from __future__ import annotations

from wizard.catalog import stacks
from wizard.kernel.text import one_line
from wizard.model.formats import FORMATS
from wizard.model.quantization import NONE


def stack_title(name: str) -> str:
    """The serving stack's name as its vendor writes it."""
    return stacks.title(name) or one_line(name)


def format_title(name: str | None, dtype: str | None = None) -> str:
    """Display name of a ``--quantization`` format: ``FP8``, ``Q8_0``; ``dtype`` if nothing is quantized."""
    if name in (None, "", NONE):
        return FORMATS[NONE].title if dtype is None else one_line(dtype)
    known = FORMATS.get(str(name))
    return known.title if known else one_line(str(name).removeprefix("gguf_").upper())
