"""What ``config.json`` says of a model. Pure: JSON data in, facts out.

Field names are those of the ``transformers`` configurations (``LlamaConfig`` and its kin, and the older names of
GPT-2's time). Parameters are counted for the families of `wizard.model.families`; others are left to the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wizard.model import families, parameters
from wizard.model.checked import label, whole
from wizard.model.facts import ModelFacts, Quantization

_FIELDS: dict[str, tuple[tuple[str, ...], int]] = {
    "layers": (("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 10_000),
    "hidden_size": (("hidden_size", "n_embd", "n_embed", "d_model"), 1_000_000),
    "heads": (("num_attention_heads", "n_head", "n_heads"), 100_000),
    "kv_heads": (("num_key_value_heads",), 100_000),
    "head_dim": (("head_dim",), 100_000),
    "intermediate_size": (("intermediate_size", "n_inner", "ffn_dim"), 100_000_000),
    "vocabulary": (("vocab_size",), 100_000_000),
    "experts": (("num_local_experts", "num_experts", "n_routed_experts"), 100_000),
    "experts_per_token": (("num_experts_per_tok", "num_experts_per_token", "experts_per_token"), 100_000),
    "max_context": (("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"), 1_000_000_000),
}
"""Field of `ModelFacts` → its names in config.json, and the largest value that is not nonsense."""

_OPTIONAL = ("experts", "experts_per_token")  # None says "dense", not "unknown"


def describe(facts: ModelFacts, config: Mapping[str, Any], where: str = "config.json") -> ModelFacts:
    """``facts`` with everything that the config says.

    Args:
        facts: What is known so far.
        config: The config's JSON object.
        where: Its name for error messages.

    Raises:
        ModelError: TW-M05 if a value cannot be true.
    """
    text = _text_part(config)
    architecture = _architecture(config)
    family = families.named(text.get("model_type"), architecture)
    if family:
        text = families.completed(family, text, nested=text is not config)
    numbers, unknown = _numbers(text, where)
    if architecture is None:
        unknown["architecture"] = "config.json names no architecture"
    anatomy = parameters.anatomy(family, numbers, text, where) if family else None
    if anatomy is None:
        unknown["parameters"] = unknown["anatomy"] = (
            "config.json lacks a field that is needed to count them"
            if family
            else f"the wizard cannot count {architecture or 'an unnamed architecture'} from its config.json alone"
        )
    elif isinstance(config.get("vision_config"), dict):
        unknown["vision"] = "config.json does not say how many parameters the vision part has: they are not counted"
    return replace(
        facts,
        architecture=architecture,
        parameters=anatomy.parts.total if anatomy else None,
        anatomy=anatomy,
        **numbers,
        dtype=_dtype(text) or _dtype(config),
        quantization=quantization(text) or quantization(config),
        needs_remote_code=bool(config.get("auto_map")),
        unknown={**facts.unknown, **unknown},
    )


def _text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The language model's fields: multimodal configs nest them (``text_config``; InternVL: ``llm_config``)."""
    for name in ("text_config", "llm_config"):
        if isinstance(inner := config.get(name), dict):
            return {**config, **inner}
    return config


def _architecture(config: Mapping[str, Any]) -> str | None:
    names = config.get("architectures")
    return label(names[0] if isinstance(names, list) and names else names)


def _numbers(config: Mapping[str, Any], where: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Numeric fields of `ModelFacts`, and why some are None."""
    found: dict[str, Any] = {}
    for field, (names, high) in _FIELDS.items():
        low = 0 if field in _OPTIONAL else 1
        values = (whole(config, name, high, where, low=low) for name in names)
        found[field] = next((value for value in values if value is not None), None)
    found["experts"] = found["experts"] or None
    found["experts_per_token"] = found["experts"] and found["experts_per_token"]
    heads, hidden = found["heads"], found["hidden_size"]
    if found["kv_heads"] is None and not config.get("multi_query"):
        found["kv_heads"] = heads  # configs from before grouped-query attention do not have the field
    if found["head_dim"] is None and heads and hidden and hidden % heads == 0:
        found["head_dim"] = hidden // heads
    unknown = {
        field: f"config.json does not say {_FIELDS[field][0][0]}"
        for field, value in found.items()
        if value is None and field not in _OPTIONAL
    }
    return found, unknown


def _dtype(config: Mapping[str, Any]) -> str | None:
    """``dtype`` (transformers 5) or ``torch_dtype``, without the ``torch.`` that some files have before it."""
    name = label(config.get("dtype")) or label(config.get("torch_dtype"))
    return name.removeprefix("torch.") if name else None


def quantization(config: Mapping[str, Any]) -> Quantization | None:
    """How the weights are quantised, from ``quantization_config`` (transformers' ``QuantizationMethod`` names)."""
    found = config.get("quantization_config")
    if not isinstance(found, dict):
        return None
    method = label(found.get("quant_method")) or ("bitsandbytes" if "load_in_4bit" in found else "unknown")
    group = found.get("group_size", found.get("q_group_size"))
    algorithm = label(found.get("quant_algo")) or label(found.get("format"))
    detail = f"group size {group}" if isinstance(group, int) and 0 < group < 1_000_000 else algorithm
    return Quantization(method.lower(), _bits(method.lower(), found), detail)


def _bits(method: str, found: Mapping[str, Any]) -> float | None:
    """Bits of a quantised weight, without scales."""
    groups = found.get("config_groups")  # compressed-tensors and modelopt
    first = next(iter(groups.values()), None) if isinstance(groups, dict) else None
    weights = first.get("weights") if isinstance(first, dict) else None
    candidates = (
        found.get("bits"),
        found.get("w_bit"),
        weights.get("num_bits") if isinstance(weights, dict) else None,
        4 if found.get("load_in_4bit") is True else None,
        8 if found.get("load_in_8bit") is True else None,
        {"fp8": 8, "fbgemm_fp8": 8, "mxfp4": 4}.get(method),
    )
    return next((float(b) for b in candidates if isinstance(b, (int, float)) and 0 < b <= 32), None)


def modelopt(found: Mapping[str, Any]) -> Quantization | None:
    """What ``hf_quant_config.json`` says, the file that NVIDIA ModelOpt writes beside config.json."""
    inner = found.get("quantization")
    algorithm = label(inner.get("quant_algo")) if isinstance(inner, dict) else None
    if algorithm is None:
        return None
    bits = next((b for name, b in (("FP8", 8.0), ("FP4", 4.0), ("W4A", 4.0), ("INT8", 8.0)) if name in algorithm), None)
    return Quantization("modelopt", bits, algorithm)
