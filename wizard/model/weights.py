"""Add the facts in the headers of a model's weight files to those in its config.json. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wizard.kernel.errors import ModelError
from wizard.kernel.language import tr
from wizard.kernel.units import size
from wizard.model import config, safetensors, tensor_parts
from wizard.model.anatomy import Parts
from wizard.model.facts import ModelFacts

TOLERANCE = 0.0005
"""Difference between the counts from config.json and from the files above which it is reported."""
UNNAMED = 0.05
"""Share of bytes in unknown tensors above which the bytes read per token count as unknown."""
_PACKED = ("I32", "U32", "I8", "U8", "F8_E4M3", "F8_E5M2", "F4")
"""Dtypes of quantized weights, or of several weights in one element."""


def with_tensors(
    facts: ModelFacts, tensors: Sequence[safetensors.Tensor], settings: Mapping[str, Any], where: str
) -> ModelFacts:
    """``facts`` with bytes and parameters by part, and the quantization found in the files.

    The files take precedence over the config if the weights are not quantized.

    Args:
        facts: The facts from config.json.
        tensors: All tensors of all files.
        settings: config.json.
        where: Its name for error messages.

    Raises:
        ModelError: TW-M05 if a value in the config is invalid, TW-M19 if the files are those of another model.
    """
    tied = facts.anatomy is not None and not facts.anatomy.parts.head
    kept = tensor_parts.loaded(tensors, facts.layers, tied=tied)
    if not kept:
        return facts
    if "anatomy" in facts.unknown:  # the files say what the config could only suggest
        facts = replace(facts, unknown={field: why for field, why in facts.unknown.items() if field != "speed"})
    _check(facts, kept, where)
    predictor = tensor_parts.predictor(tensors, facts.layers)
    facts = replace(facts, quantization=facts.quantization or tensor_parts.quantization(kept))
    sizes = {"heads": facts.heads, "kv_heads": facts.kv_heads}
    counted = tensor_parts.parameters_by_part(kept, sizes, facts.quantization)
    facts = replace(
        _with_dtype(facts, safetensors.elements(kept)),
        stored=tensor_parts.bytes_by_part(kept, sizes, facts.quantization),
        stored_predictor=tensor_parts.bytes_by_part(predictor, sizes, facts.quantization) if predictor else None,
        weight_bytes=sum(tensor.bytes for tensor in kept),
    )
    return _with_counts(_with_unnamed(facts, tensor_parts.unnamed_bytes(kept)), counted, settings, where)


def _check(facts: ModelFacts, tensors: Sequence[safetensors.Tensor], where: str) -> None:
    """Check that the files have the layers and the width that the config states."""
    if facts.anatomy is None or facts.task or "anatomy" in facts.unknown:  # unknown, or guessed
        return
    if differs := tensor_parts.contradiction(tensors, facts.layers, facts.hidden_size):
        field, promised, actual = differs
        raise ModelError(
            "TW-M19",
            tr(
                "in {where}, {field} is {promised:,}, but the weight files have {found:,}",
                where=where,
                field=field,
                promised=promised,
                found=actual,
            ),
            tr("Download the model again: config.json and all weight files must be of the same model."),
        )


def _with_unnamed(facts: ModelFacts, unnamed: int) -> ModelFacts:
    """``facts``, with the reason why speed is unknown if too many weights have unknown names."""
    if unnamed <= UNNAMED * (facts.weight_bytes or 0):
        return facts
    why = tr(
        "{unnamed} of the weights ({total} total) are in tensors that the wizard does not recognize, so it "
        "cannot compute the bytes read per token",
        unnamed=size(unnamed),
        total=size(facts.weight_bytes or 0),
    )
    return replace(facts, unknown={**facts.unknown, "speed": why})


def _with_counts(facts: ModelFacts, counted: Parts, settings: Mapping[str, Any], where: str) -> ModelFacts:
    """Compare the files' count with the config's."""
    unknown = dict(facts.unknown)
    anatomy = facts.anatomy
    if anatomy is None or "anatomy" in unknown:  # unknown, or guessed from the config alone
        anatomy = config.anatomy_of_headers(facts, counted, settings, where)
        unknown.pop("parameters", None)
        if anatomy is not None:
            unknown["anatomy"] = tr(
                "the wizard does not know {architecture}: it counts the parameters in the file headers and "
                "computes the KV cache size from config fields that most models have",
                architecture=facts.architecture or tr("this architecture"),
            )
        return replace(facts, anatomy=anatomy, parameters=counted.total, unknown=unknown)
    vision = counted.other if unknown.pop("vision", None) else 0
    promised, total = anatomy.parts.total, counted.total - vision
    parts = replace(anatomy.parts, other=vision)
    if facts.quantization is None and total != promised:
        parts = counted
        if abs(total - promised) > TOLERANCE * promised:
            unknown["config"] = tr(
                "config.json implies {promised:,} parameters, but the weight files contain {found:,}; the files "
                "take precedence",
                promised=promised,
                found=total,
            )
    return replace(facts, anatomy=replace(anatomy, parts=parts), parameters=parts.total, unknown=unknown)


def with_elements(facts: ModelFacts, elements: Mapping[str, int]) -> ModelFacts:
    """``facts`` completed from the number of elements per dtype, without knowing their tensors.

    Args:
        facts: The facts from config.json.
        elements: Safetensors dtype → number of elements over all files.
    """
    if not elements:
        return facts
    facts = _with_dtype(facts, elements)
    if facts.quantization is not None or any(dtype in _PACKED for dtype in elements):
        return facts  # several weights may share a stored element
    unknown = {key: why for key, why in facts.unknown.items() if key not in ("parameters", "vision")}
    return replace(facts, parameters=sum(elements.values()), unknown=unknown)


def _with_dtype(facts: ModelFacts, elements: Mapping[str, int]) -> ModelFacts:
    main = max(elements, key=lambda dtype: elements[dtype])
    name = safetensors.DTYPES.get(main, main.lower())
    return replace(facts, dtype=(facts.dtype or name) if facts.quantization else name)
