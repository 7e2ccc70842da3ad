"""Texts of notes about encoders of images and sounds: code → message."""

from __future__ import annotations

from collections.abc import Mapping

from wizard.advise.reasons import Param
from wizard.kernel.language import join, mark, tr
from wizard.texts.table import Fields, Text

_INPUTS = {"vision": mark("image"), "audio": mark("audio")}
"""What an encoder reads, by its name among `ModelFacts.encoders`."""


def _names(params: Mapping[str, Param]) -> str:
    names = params["encoders"]
    return join(tr(" and "), *(tr(_INPUTS[str(name)]) for name in (names if isinstance(names, tuple) else ())))


def _text_only(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    return (
        tr(
            "The model is served for text only ({argument}): its {encoders} encoder is not loaded.",
            argument=fields["argument"],
            encoders=_names(params),
        ),
    )


def _encoders(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    names = {"stack": fields["stack"], "encoders": _names(params)}
    return (tr(_LOADED[str(params["work"]), bool(params["counted"])], **names),)


_LOADED = {
    ("profiled", True): mark(
        "{stack} also loads the model's {encoders} encoder. Its weights are counted; the memory that it works in is "
        "not."
    ),
    ("profiled", False): mark(
        "{stack} also loads the model's {encoders} encoder. Neither its weights nor the memory that it works in "
        "are counted."
    ),
    ("reserved", True): mark(
        "{stack} also loads the model's {encoders} encoder. Its weights are counted; the memory that {stack} keeps "
        "free for the encoder is not, so the KV cache may be smaller than estimated."
    ),
    ("reserved", False): mark(
        "{stack} also loads the model's {encoders} encoder. Neither its weights nor the memory that {stack} keeps free "
        "for the encoder are counted, so the KV cache may be smaller than estimated."
    ),
    ("idle", True): mark(
        "{stack} also loads the model's {encoders} encoder. Its weights are counted; text does not run it."
    ),
    ("idle", False): mark(
        "{stack} also loads the model's {encoders} encoder. Its weights are not counted; text does not run it."
    ),
}


NOTES: dict[str, Text] = {"text-only": _text_only, "encoders": _encoders}
"""Notes by code."""
