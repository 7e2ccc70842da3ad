"""Weight formats: the bytes of a model in each, and the operands of the tensor cores. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Literal

from wizard.catalog import gguf_types
from wizard.catalog.gguf_types import format_of
from wizard.kernel.language import mark, tr
from wizard.model.anatomy import Anatomy, Parts
from wizard.model.facts import ModelFacts
from wizard.model.quantization import NONE

UNKNOWN = "unknown"
ZERO_POINT = 4
"""Bits of a group's zero point, which AWQ and GPTQ always store, and compressed-tensors unless symmetric."""
SIXTEEN = 2
"""Bytes of a bfloat16 or float16 weight."""


@dataclass(frozen=True, slots=True)
class Format:
    """A storage format of the linear layers; everything else stays in 16 bits.

    Attributes:
        name: As in ``--quantization``.
        label: Display name in English.
        bits: Bits of a weight, without scales.
        scale_bits: Total bits of the scales (and zero points) of a group.
        group: Weights that share them; None: a single scale for a whole row or tensor, which is negligible.
        compute: Operand format of the tensor cores.
        experts_only: Whether only routed experts are quantized (gpt-oss's MXFP4).
    """

    name: str
    label: str
    bits: float
    compute: Literal["fp16", "fp8", "fp4", "int8"]
    scale_bits: int = 0
    group: int | None = None
    experts_only: bool = False

    @property
    def title(self) -> str:
        """Display name in the current language."""
        return tr(self.label)

    @property
    def bits_per_weight(self) -> float:
        """Bits of a weight, including scales."""
        return self.bits + (self.scale_bits / self.group if self.group else 0)


FORMATS = {
    item.name: item
    for item in (
        Format(NONE, mark("16 bits"), 16, "fp16"),
        Format("fp8", "FP8", 8, "fp8"),
        Format("fp8_block", mark("Blockwise FP8"), 8, "fp8", scale_bits=32, group=128 * 128),
        Format("int8_sq", mark("INT8 (weights and activations)"), 8, "int8"),
        Format("int8_wo", mark("INT8 weights"), 8, "fp16"),
        Format("int4_wo", mark("INT4 weights"), 4, "fp16"),
        Format("int4_awq", "INT4 AWQ", 4, "fp16", scale_bits=20, group=128),
        Format("int4_gptq", "INT4 GPTQ", 4, "fp16", scale_bits=20, group=128),
        Format("w4a8_awq", mark("INT4 AWQ with FP8 activations"), 4, "fp8", scale_bits=16, group=128),
        Format("nvfp4", "NVFP4", 4, "fp4", scale_bits=8, group=16),
        Format("mxfp4", "MXFP4", 4, "fp4", scale_bits=8, group=32, experts_only=True),
    )
}
"""Bits and scales: FP8 blocks have one float32 (DeepSeek-V3's config); AWQ and GPTQ a float16 scale and a 4-bit zero
point; ModelOpt's AWQ no zero point; NVFP4 an FP8 scale for 16; MXFP4 an 8-bit exponent for 32 (OCP MX 1.0, §5.2)."""


_SIXTEEN = ("16", "16bit", "16_bit", "16bits", "f16", "fp16", "float16", "bf16", "bfloat16", "half")
_SHORT = {"awq": "int4_awq", "gptq": "int4_gptq", **dict.fromkeys(_SIXTEEN, NONE)}
"""Other names of formats: engines' ``--quantization awq`` has 16-bit activations."""


def meanings(text: str) -> tuple[str, ...]:
    """Names of the formats that ``text`` can mean, in any case: itself, or what it is short for (``q4``, ``awq``,
    ``bf16``); several if it only states the bits (``int4``), none if it is unknown.
    """
    plain = text.strip().lower().replace("-", "_")
    files = {format_of(kind): kind for kind in gguf_types.bits()}
    if plain in FORMATS or plain.startswith("gguf_"):
        return (plain,)
    if plain in _SHORT:
        return (_SHORT[plain],)
    if re.fullmatch(r"i?q\d_\w+", plain):
        return (format_of(plain),)
    if re.fullmatch(r"q\d|gguf", plain):
        return tuple(name for name, kind in files.items() if plain == "gguf" or kind.lower().startswith(plain))
    if not (stated := re.fullmatch(r"(?P<kind>int|fp|)(?P<bits>[48])_?(?:bits?)?", plain)):
        return ()
    kind, bits = stated["kind"], stated["bits"]
    known = [item.name for item in FORMATS.values() if item.bits == int(bits) and kind in item.name]
    return (*known, *(name for name, each in files.items() if kind != "fp" and each[1] == bits))


def of(facts: ModelFacts, name: str) -> Format:
    """The format ``name`` for ``facts``: a stored format has its own group size."""
    stored = facts.quantization
    if name == UNKNOWN or name.startswith("gguf_"):
        return Format(name, name.removeprefix("gguf_").upper(), (stored and stored.bits) or 16, "fp16")
    known = FORMATS[name]
    if stored and stored.format == name and known.group and name in ("int4_awq", "int4_gptq"):
        return replace(
            known, group=stored.group_size, scale_bits=known.scale_bits - (0 if stored.zero_points else ZERO_POINT)
        )
    return known


def weight_bytes(facts: ModelFacts, anatomy: Anatomy, name: str) -> Parts:
    """Bytes by part that an engine loads, with the linear layers in the format ``name``.

    For the checkpoint's own format the headers are used if they were read, which is exact about unquantized parts.
    """
    if facts.stored is not None and name == own(facts):
        return facts.stored
    return _in_format(facts, anatomy.parts, name)


def predictor_bytes(facts: ModelFacts, anatomy: Anatomy, name: str) -> Parts:
    """The same of the layers for multi-token prediction, which engines load for speculative decoding only."""
    if facts.stored_predictor is not None and name == own(facts):
        return facts.stored_predictor
    return _in_format(facts, anatomy.predictor.parts, name) if anatomy.predictor else Parts()


def loaded_bytes(facts: ModelFacts) -> int | None:
    """Bytes that an engine loads of the checkpoint as it is; None if they cannot be counted."""
    if facts.stored is not None or facts.anatomy is None:
        return facts.stored.total if facts.stored else facts.weight_bytes
    return weight_bytes(facts, facts.anatomy, own(facts)).total


def disk_bytes(facts: ModelFacts) -> int | None:
    """Bytes of the checkpoint's weight files, with the layers that no engine loads unless it is told to.

    As listed; where the files are not known, counted from the config, without encoders of images and sounds.
    """
    sizes = [file.bytes for file in facts.weights]
    if sizes and None not in sizes:
        return sum(filter(None, sizes))
    if facts.weights or facts.anatomy is None or facts.anatomy.predictor is None or facts.weight_bytes is None:
        return facts.weight_bytes
    beside = predictor_bytes(facts, facts.anatomy, own(facts)).total
    return facts.weight_bytes + beside + SIXTEEN * facts.anatomy.predictor.copies


def own(facts: ModelFacts) -> str:
    """The name of the checkpoint's own format; `UNKNOWN` if it is none of the wizard's."""
    stored = facts.quantization
    return NONE if stored is None else stored.format or UNKNOWN


def _in_format(facts: ModelFacts, parts: Parts, name: str) -> Parts:
    stored = facts.quantization
    known = of(facts, name)
    quantised = ("experts",) if known.experts_only else _LINEARS
    bits = dict.fromkeys(quantised, known.bits_per_weight)
    if stored is not None and name == stored.format:
        bits |= {part: FORMATS[other].bits_per_weight for part, other in stored.parts}
    return _sized(parts, tuple(bits.items()))


@lru_cache(maxsize=256)
def _sized(parts: Parts, bits: tuple[tuple[str, float], ...]) -> Parts:
    """Bytes of ``parts``, which are numbers of weights: those of an answer are the same for all splits."""
    known = dict(bits)
    counts = ((field.name, getattr(parts, field.name)) for field in fields(Parts))
    return Parts(**{name: round(count * known.get(name, 8 * SIXTEEN) / 8) for name, count in counts})


_LINEARS = ("attention", "key_value", "latent", "mlp", "experts", "shared")
"""The parts of `Parts.linears`."""
