"""The quantization of a checkpoint's weights, from its config. Pure.

Fields and names: ``transformers/utils/quantization_config.py`` (``QuantizationMethod``), compressed-tensors'
``quantization/quant_args.py`` and ``config/base.py`` (``CompressionFormat``), and NVIDIA ModelOpt's
``hf_quant_config.json`` (``modelopt/torch/export``). The wizard's names of formats are those of
`wizard.model.facts.Quantization.format`.

Three conventions where the vocabularies differ. compressed-tensors does not state the algorithm that rounded 4-bit
weights: with zero points they are called ``int4_awq``, as AWQ has them, else ``int4_gptq``; engines read both with the
same kernels. bitsandbytes' formats are called ``int4_wo`` and ``int8_wo``, which have the same size; ``method``
determines what can load them. A checkpoint with mixed formats has the widest of them, so that its memory is not
underestimated where its headers were not read; with one that the wizard does not know among them it has None.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from wizard.kernel.language import tr
from wizard.model.facts import Quantization
from wizard.model.untrusted import label

_Row = tuple[str | None, int | None, int | None]
_NOTHING: _Row = (None, None, None)
_MODELOPT: dict[str, _Row] = {
    "FP8": ("fp8", 8, None),
    "FP8_PER_CHANNEL_PER_TOKEN": ("fp8", 8, None),
    "FP8_PB_WO": ("fp8_block", 8, 128),
    "FP8_PB_REAL": ("fp8_block", 8, 128),
    "NVFP4": ("nvfp4", 4, 16),
    "NVFP4_AWQ": ("nvfp4", 4, 16),
    "W4A16_NVFP4": ("nvfp4", 4, 16),
    "MXFP4": ("mxfp4", 4, 32),
    "W4A16_AWQ": ("int4_awq", 4, 128),
    "W4A8_AWQ": ("w4a8_awq", 4, 128),
    "W4A16": ("int4_wo", 4, None),
    "W8A16": ("int8_wo", 8, None),
    "INT8_SQ": ("int8_sq", 8, None),
    "W8A8_SQ_PER_CHANNEL": ("int8_sq", 8, None),
    "W8A8_SQ_PER_CHANNEL_PER_TOKEN_PLUGIN": ("int8_sq", 8, None),
    "MIXED_PRECISION": (None, None, None),
}
"""``quant_algo`` → the wizard's format, bits of a weight, weights of a group (TensorRT-LLM's ``QuantAlgo``)."""


def of_config(config: Mapping[str, Any]) -> Quantization | None:
    """The quantization in ``quantization_config``; None if the weights are not quantized.

    Args:
        config: The whole config, or the language model's part of it.
    """
    stored = config.get("quantization_config", config.get("compression_config"))
    if not isinstance(stored, dict) or not stored:
        return _mlx(config)
    if "quant_method" not in stored and (mlx := _mlx(config)):
        return mlx
    method = (label(stored.get("quant_method")) or _method(stored)).lower()
    algorithm = label(stored.get("quant_algo"))
    if algorithm and (method.startswith("modelopt") or algorithm.upper() == "MIXED_PRECISION"):
        return _modelopt(method, algorithm, stored, config.get("num_hidden_layers"))
    if _groups(stored) and method in ("compressed-tensors", "modelopt"):
        return _compressed(method, stored, config.get("num_hidden_layers"))
    name, bits = _simple(method, stored)
    group = _group_size(stored.get("group_size", stored.get("q_group_size")))
    if method == "bitsandbytes" and bits == 4:
        group = 64  # bitsandbytes' block size for 4 bits, which no config states
    if method in ("mxfp4", "nvfp4"):
        group = 32 if method == "mxfp4" else 16
    if name == "fp8_block":
        group = _block(stored)
    if stored.get("quant_method") is None and bits is None and method == "unknown":
        name = None
    return Quantization(
        method,
        bits,
        tr("group size {size}", size=group) if group and method in ("awq", "gptq") else _detail(stored, algorithm),
        format=name,
        group_size=group,
        desc_act=stored.get("desc_act") is True,
        parts=(("experts", "mxfp4"),) if "fp4" in (config.get("expert_dtype"), stored.get("expert_dtype")) else (),
        kv_dtype=_kv_dtype(stored),
    )


def _mlx(config: Mapping[str, Any]) -> Quantization | None:
    """The quantization that mlx-lm writes as ``quantization`` too, which only MLX reads."""
    stored = config.get("quantization")
    if not isinstance(stored, dict) or not (bits := _bits(stored.get("bits"))):
        return None
    return Quantization("mlx", bits, label(stored.get("mode")), group_size=_group_size(stored.get("group_size")))


def of_modelopt(config: Mapping[str, Any]) -> Quantization | None:
    """The quantization in ``hf_quant_config.json``, which NVIDIA ModelOpt writes beside config.json."""
    inner = config.get("quantization")
    algorithm = label(inner.get("quant_algo")) if isinstance(inner, dict) else None
    return _modelopt("modelopt", algorithm, inner) if algorithm and isinstance(inner, dict) else None


def _modelopt(method: str, algorithm: str, config: Mapping[str, Any], layers: object = None) -> Quantization:
    if algorithm.upper() == "MIXED_PRECISION":
        return _mixed(method, config)
    name, bits, group = _MODELOPT.get(algorithm.upper(), (None, None, None))
    if name == "fp8" and _block(config):
        name = "fp8_block"
    group_size = _group_size(config.get("group_size")) if group or name is None else None
    return Quantization(
        method,
        bits and float(bits),
        algorithm,
        format=name,
        group_size=group_size or group,
        parts=_kept(config.get("ignore") or config.get("exclude_modules"), layers)
        if name not in (None, "mxfp4")
        else (),
        kv_dtype=_kv_dtype(config),
    )


_PARTS = (
    *((".experts", "experts"), ("shared_expert", "shared"), ("lm_head", "head")),
    *(("k_proj", "key_value"), ("v_proj", "key_value"), ("attn", "attention"), (".mlp.", "mlp")),
)
"""Part of a module's name → part of the model; the first that is in it counts."""


def _mixed(method: str, config: Mapping[str, Any]) -> Quantization:
    """ModelOpt's mixed precision: an algorithm for each module in ``quantized_layers``; a part has its widest."""
    modules = config.get("quantized_layers")
    rows = modules.items() if isinstance(modules, dict) else ()
    names = {str(module): label(row.get("quant_algo")) or "" for module, row in rows if isinstance(row, dict)}
    known = {module: _MODELOPT.get(algorithm.upper(), _NOTHING) for module, algorithm in names.items()}
    name, _, group = max(known.values(), key=_width, default=_NOTHING)
    unknown = any(row[0] is None for row in known.values())
    widest: dict[str, _Row] = {}
    for module, row in known.items():
        if part := next((part for mark, part in _PARTS if mark in module), None):
            widest[part] = max(widest.get(part, row), row, key=_width)
    return Quantization(
        method,
        None,
        tr("mixed precision"),
        format=None if unknown else name,
        group_size=group,
        parts=tuple((part, row[0]) for part, row in sorted(widest.items()) if row[0] and row[0] != name),
        kv_dtype=_kv_dtype(config),
    )


def _width(row: _Row) -> int:
    return row[1] or 0


def _method(config: Mapping[str, Any]) -> str:
    """For configs without ``quant_method``."""
    producer = config.get("producer")
    if isinstance(producer, dict) and producer.get("name") == "modelopt":
        return "modelopt"
    if config.get("load_in_4bit") is True or config.get("load_in_8bit") is True:
        return "bitsandbytes"
    return "compressed-tensors" if _groups(config) else "unknown"


def _simple(method: str, config: Mapping[str, Any]) -> tuple[str | None, float | None]:
    """Format and bits of methods with a single format."""
    bits = _bits(config.get("bits"), config.get("w_bit"))
    if method == "bitsandbytes":
        bits = 4.0 if config.get("load_in_4bit") is True else 8.0 if config.get("load_in_8bit") is True else bits
    if method in ("fp8", "fbgemm_fp8", "eetq"):
        bits = 8.0
    if method in ("mxfp4", "nvfp4"):
        return method, 4.0
    packing = str(config.get("packing_format", ""))
    names: dict[tuple[str, float | None], str] = {
        ("awq", 4): "int4_awq",
        ("gptq", 4): "int4_gptq",
        ("gptq_marlin", 4): "int4_gptq",
        ("gptq", 8): "int8_wo",
        ("gptq_marlin", 8): "int8_wo",
        ("auto-round", 4): "int4_awq" if "awq" in packing else "int4_gptq",
        ("fp8", 8): "fp8_block" if _block(config) else "fp8",
        ("fbgemm_fp8", 8): "fp8",
        ("eetq", 8): "int8_wo",
        ("bitsandbytes", 4): "int4_wo",
        ("bitsandbytes", 8): "int8_wo",
    }
    return names.get((method, bits)), bits


def _detail(config: Mapping[str, Any], algorithm: str | None) -> str | None:
    kind = config.get("bnb_4bit_quant_type") if config.get("load_in_4bit") is True else None
    return label(kind) or algorithm or label(config.get("format"))


# --- compressed-tensors ---------------------------------------------------------------------------------------------


def _groups(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The groups of modules with the same quantization of their weights."""
    groups = config.get("config_groups")
    values = groups.values() if isinstance(groups, dict) else ()
    return [group for group in values if isinstance(group, dict) and isinstance(group.get("weights"), dict)]


def _compressed(method: str, config: Mapping[str, Any], layers: object) -> Quantization:
    groups = _groups(config)
    names = {_scheme(group, config) for group in groups}
    weights = groups[0]["weights"]
    widths = {_scheme(group, config): _bits(group["weights"].get("num_bits")) or 0 for group in groups}
    name = None if None in widths else max(widths, key=lambda each: widths[each])
    group = _group_size(weights.get("group_size"))
    if name == "fp8_block":
        group = _block({"weight_block_size": weights.get("block_structure")})
    return Quantization(
        method,
        _bits(weights.get("num_bits"))
        if len({_bits(each["weights"].get("num_bits")) for each in groups}) == 1
        else None,
        tr("mixed precision") if len(names) > 1 else label(config.get("format")) or label(config.get("quant_algo")),
        format=name,
        group_size=group,
        desc_act=weights.get("actorder") in ("group", "dynamic", True),
        parts=_kept(config.get("ignore"), layers) if name not in (None, "mxfp4") else (),
        zero_points=weights.get("symmetric") is not True,
        kv_dtype=_kv_dtype(config),
    )


_KEPT: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"self_attn\W*$"), ("attention", "key_value", "latent")),
    (re.compile(r"shared_experts?\W*$"), ("shared",)),
    (re.compile(r"mlp\W+(?:gate|up|gate_up|down)(?:\|gate|\|up|\|gate_up|\|down)*\)?_proj\W*$"), ("mlp",)),
)
"""A pattern of modules of every layer, without backslashes → parts of the model."""
_MIXER = re.compile(r"layers\.(\d{1,5})(?:\.(?:self_attn|linear_attn)\W*|\W*)$")
"""A pattern of the whole attention of a layer, or of all of it."""
NONE = "none"
"""The format of weights that are not quantized."""


def _kept(patterns: object, layers: object) -> tuple[tuple[str, str], ...]:
    """Parts that ``patterns`` of modules leave in 16 bits in every layer, not in some layers or matrices alone.

    They are compared as text: a file from the Hub may hold a regular expression that takes forever.
    """
    listed = patterns[:10_000] if isinstance(patterns, list) else []
    named = [each[:200].replace("\\", "") for each in listed if isinstance(each, str)]
    general = [each for each in named if not re.search(r"\d", each)]
    mixers = {match[1] for each in named if (match := _MIXER.search(each))}
    if type(layers) is int and 0 < layers <= len(mixers):
        general.append("self_attn")
    return tuple((part, NONE) for mark, parts in _KEPT if any(mark.search(each) for each in general) for part in parts)


def _scheme(group: Mapping[str, Any], config: Mapping[str, Any]) -> str | None:
    """The wizard's format of a group."""
    weights, inputs = group["weights"], group.get("input_activations")
    bits, is_float = _bits(weights.get("num_bits")), weights.get("type") == "float"
    inputs = inputs if isinstance(inputs, dict) else None
    formats = f"{group.get('format')} {config.get('format')}"
    if bits == 8 and is_float:
        return "fp8_block" if weights.get("strategy") == "block" else "fp8"
    if bits == 8:
        return "int8_sq" if inputs or "int-quantized" in formats else "int8_wo"  # W8A16 is pack-quantized
    if bits == 4 and is_float:
        return "mxfp4" if "mxfp4" in formats or weights.get("group_size") == 32 else "nvfp4"
    if bits == 4 and inputs:
        return "w4a8_awq" if inputs.get("type") == "float" and _bits(inputs.get("num_bits")) == 8 else None
    if bits == 4:
        return "int4_awq" if weights.get("symmetric") is False else "int4_gptq"
    return None


# --- values ---------------------------------------------------------------------------------------------------------


def _kv_dtype(config: Mapping[str, Any]) -> str | None:
    """``fp8`` if the checkpoint has scales for an FP8 KV cache."""
    scheme = config.get("kv_cache_quant_algo") or config.get("kv_cache_scheme")
    if isinstance(scheme, dict):
        return "fp8" if _bits(scheme.get("num_bits")) == 8 and scheme.get("type") == "float" else None
    return "fp8" if isinstance(scheme, str) and scheme.upper() == "FP8" else None


def _block(config: Mapping[str, Any]) -> int | None:
    """Rows of a block of weights that share a scale; all blocks in use are square."""
    shape = config.get("weight_block_size")
    return _group_size(shape[0]) if isinstance(shape, (list, tuple)) and len(shape) == 2 else None


def _bits(*candidates: object) -> float | None:
    """The first plausible number of bits of a weight, without scales."""
    numbers = (float(b) for b in candidates if isinstance(b, (int, float)) and not isinstance(b, bool) and 0 < b <= 32)
    return next(numbers, None)


def _group_size(value: object) -> int | None:
    """A group size; None for -1, which means no groups, and for invalid values."""
    return value if type(value) is int and 0 < value < 1_000_000 else None
