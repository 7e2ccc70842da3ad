"""The facts in a model's ``config.json``. Pure: JSON data in, facts out.

Field names are those of the ``transformers`` configurations (``LlamaConfig`` and similar ones, and the older names of
GPT-2). Parameters are counted for the families of `wizard.model.families`; for others the weights are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wizard.kernel.language import tr
from wizard.model import completion, families, parameters, quantization, task
from wizard.model.anatomy import Anatomy, Parts
from wizard.model.attention_layers import attention, unknown_kind
from wizard.model.facts import ModelFacts
from wizard.model.family import Family
from wizard.model.predictor import predictor
from wizard.model.untrusted import impossible, label, whole

_FIELDS: dict[str, tuple[tuple[str, ...], int]] = {
    "layers": (("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 10_000),
    "hidden_size": (("hidden_size", "n_embd", "n_embed", "d_model"), 1_000_000),
    "heads": (("num_attention_heads", "n_head", "n_heads"), 100_000),
    "kv_heads": (("num_key_value_heads",), 100_000),
    "head_dim": (("head_dim",), 100_000),
    "intermediate_size": (("intermediate_size", "n_inner", "ffn_dim"), 100_000_000),
    "vocabulary": (("vocab_size",), 100_000_000),
    "experts": (("num_local_experts", "num_experts", "n_routed_experts"), 100_000),
    "experts_per_token": (
        ("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "top_k_experts"),
        100_000,
    ),
    "max_context": (("max_position_embeddings", "n_positions", "max_seq_len", "seq_length"), 1_000_000_000),
}
"""Field of `ModelFacts` → its names in config.json, and its maximum plausible value."""

_OPTIONAL = ("experts", "experts_per_token")  # None means "dense", not "unknown"


def describe(facts: ModelFacts, config: Mapping[str, Any], where: str = "config.json") -> ModelFacts:
    """``facts`` completed from the config.

    Args:
        facts: The facts so far.
        config: The config's JSON object.
        where: Its name for error messages.

    Raises:
        ModelError: TW-M05 if a value is invalid.
    """
    text = _text_part(config, where)
    nested = text is not config
    architecture = _architecture(config)
    name, family = families.named(text.get("model_type"), architecture), None
    if name:
        family, text = completion.completed(name, text, nested=nested)
    numbers, unknown = _numbers(text, where)
    _check(numbers, family, text, where)
    if architecture is None:
        unknown["architecture"] = tr("config.json does not name an architecture")
    anatomy = parameters.anatomy(family or completion.guessed(text), numbers, text, where)
    if anatomy and family:
        anatomy = replace(anatomy, predictor=predictor(family, numbers, text, where))
    if anatomy is None:
        unknown["parameters"] = unknown["anatomy"] = (
            tr("config.json lacks a field needed to count the parameters")
            if family
            else tr(
                "the wizard cannot count the parameters of {architecture} from config.json alone",
                architecture=architecture or tr("an unnamed architecture"),
            )
        )
    elif family is None:
        unknown["anatomy"] = unknown["speed"] = tr(
            "the wizard does not know {architecture}: it estimates parameters and KV cache from config fields that "
            "most models have",
            architecture=architecture or tr("this architecture"),
        )
    elif strange := unknown_kind(text):
        unknown["anatomy"] = unknown["speed"] = tr(
            "the wizard does not know layers of type {kind}: it estimates their parameters and KV cache as those of "
            "full attention",
            kind=repr(strange[:40]),
        )
    elif nested or isinstance(config.get("vision_config"), dict):
        unknown["vision"] = tr(
            "config.json does not contain the vision encoder's parameter count, so the total excludes it"
        )
    return replace(
        facts,
        architecture=architecture,
        parameters=anatomy.parts.total if anatomy else None,
        anatomy=anatomy,
        **numbers,
        rope=_rope(text),
        dtype=_dtype(text) or _dtype(config),
        quantization=quantization.of_config(text) or quantization.of_config(config),
        needs_remote_code=bool(config.get("auto_map")),
        encoders=tuple(name for name in ("vision", "audio") if isinstance(config.get(f"{name}_config"), dict)),
        task=task.of_config(config),
        unknown={**facts.unknown, **unknown},
    )


def anatomy_of_headers(
    facts: ModelFacts, parts: Parts, config: Mapping[str, Any], where: str = "config.json"
) -> Anatomy | None:
    """The anatomy of a model of a family that the wizard does not know; None if not even its sizes are stated.

    Args:
        facts: The facts from ``config``.
        parts: Its parameters, from the headers of its weights.
        config: The config's JSON object.
        where: Its name for error messages.

    Raises:
        ModelError: TW-M05 if a value is invalid.
    """
    text = _text_part(config, where)
    n = {name: getattr(facts, name) for name in _FIELDS}
    if any(n[name] is None for name in parameters.NEEDED):
        return None
    width = whole(text, "moe_intermediate_size", 100_000_000, where) or n["intermediate_size"] or 0
    unknown = completion.guessed(text)
    return Anatomy(
        parts=parts,
        attention=attention(unknown, text, n=n, where=where),
        layers=n["layers"],
        hidden=n["hidden_size"],
        heads=n["heads"],
        intermediate=n["intermediate_size"] or 0,
        vocabulary=n["vocabulary"],
        experts=(n["experts"] or 0) if parts.experts and n["experts_per_token"] else 0,
        experts_per_token=(n["experts_per_token"] or 0) if parts.experts else 0,
        moe_layers=n["layers"] if parts.experts else 0,
        expert_intermediate=width if parts.experts else 0,
    )


def _text_part(config: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """The language model's fields: multimodal configs nest them (``text_config``; InternVL: ``llm_config``).

    Raises:
        ModelError: TW-M05 if they have such a part in turn, so that it is unclear which one describes the model.
    """
    for name in ("text_config", "llm_config"):
        if isinstance(inner := config.get(name), dict):
            if isinstance(inner.get(name), dict):
                raise impossible(where, name, tr("an object that contains another {name}", name=name))
            return {**config, **inner}
    return config


def _architecture(config: Mapping[str, Any]) -> str | None:
    names = config.get("architectures")
    return label(names[0] if isinstance(names, list) and names else names)


def _numbers(config: Mapping[str, Any], where: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Numeric fields of `ModelFacts`, and the reasons for those that are None."""
    numbers: dict[str, Any] = {}
    for field, (names, high) in _FIELDS.items():
        low = 0 if field in _OPTIONAL else 1
        values = (whole(config, name, high, where, low=low) for name in names)
        numbers[field] = next((value for value in values if value is not None), None)
    numbers["experts"] = numbers["experts"] or None
    numbers["experts_per_token"] = numbers["experts"] and numbers["experts_per_token"]
    heads, hidden = numbers["heads"], numbers["hidden_size"]
    if numbers["kv_heads"] is None and not config.get("multi_query"):
        numbers["kv_heads"] = heads  # configs from before grouped-query attention lack the field
    if numbers["head_dim"] is None and heads and hidden and hidden % heads == 0:
        numbers["head_dim"] = hidden // heads
    unknown = {
        field: tr("config.json does not contain {field}", field=_FIELDS[field][0][0])
        for field, value in numbers.items()
        if value is None and field not in _OPTIONAL
    }
    return numbers, unknown


def _check(numbers: Mapping[str, Any], family: Family | None, config: Mapping[str, Any], where: str) -> None:
    """Check that the numbers do not contradict each other.

    Raises:
        ModelError: TW-M05 if two of them do.
    """
    heads, shared, hidden = numbers["heads"], numbers["kv_heads"], numbers["hidden_size"]
    listed = any(
        isinstance(config.get(name), (list, tuple)) for field in ("heads", "kv_heads") for name in _FIELDS[field][0]
    )
    latent = family.latent if family else bool(config.get("kv_lora_rank"))
    if heads and shared and heads % shared and not listed and not latent:
        raise impossible(where, "num_key_value_heads", _divisor(shared, "num_attention_heads", heads))
    if (
        family
        and not (listed or latent or family.separate or numbers["head_dim"])
        and heads
        and hidden
        and hidden % heads
    ):
        raise impossible(where, "num_attention_heads", _divisor(heads, "hidden_size", hidden))
    experts, active = numbers["experts"], numbers["experts_per_token"]
    if experts and active and active > experts:
        text = tr("{number:,}; expected at most {name}, {of:,}", number=active, name="num_experts", of=experts)
        raise impossible(where, "num_experts_per_tok", text)


def _divisor(number: int, name: str, of: int) -> str:
    return tr("{number:,}; expected a divisor of {name}, {of:,}", number=number, name=name, of=of)


def _rope(config: Mapping[str, Any]) -> str | None:
    """``rope_type`` (``type`` in older configs) of ``rope_scaling``, or of transformers 5's ``rope_parameters``."""
    for name in ("rope_scaling", "rope_parameters"):
        if isinstance(scaling := config.get(name), dict):
            kind = label(scaling.get("rope_type")) or label(scaling.get("type"))
            return None if kind == "default" else kind
    return None


def _dtype(config: Mapping[str, Any]) -> str | None:
    """``dtype`` (transformers 5) or ``torch_dtype``, without the ``torch.`` prefix of some files."""
    name = label(config.get("dtype")) or label(config.get("torch_dtype"))
    return name.removeprefix("torch.") if name else None
