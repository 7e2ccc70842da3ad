"""Which part of a model a tensor belongs to, by its name; bytes and parameters by part. Pure.

Names are those of the checkpoints of ``transformers`` (``models/*/modeling_*.py``) and of llama.cpp (gguf-py,
``TENSOR_NAMES``), and those of the scales that quantization methods add to a weight. Tensors that no engine loads do
not count: DeepSeek's and Qwen's layers for multi-token prediction, masks in GPT-2's checkpoints, a head that is tied to
the embedding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from wizard.model.anatomy import Parts
from wizard.model.facts import Quantization
from wizard.model.safetensors import Tensor

_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")
_MTP = re.compile(r"(?:^|\.)mtp\w*\.")
_ENDS = re.compile(r"(?:^|\.)(?:embed_tokens|shared_head\.head|lm_head)\.")
_UNUSED = re.compile(r"rotary_emb\.inv_freq$|(?:attn|attention)\.masked_bias$")
_MASK = re.compile(r"(?:attn|attention)\.bias$")

_VISION = re.compile(
    r"(?:^|\.)(?:vision\w*|visual|vit\w*|audio\w*|\w*projector|image\w*|patch_\w+|mlp1|embed_vision|embed_audio)\."
)
_EMBEDDING = (
    r"(?:^|\.)(?:embed|embed_tokens|embed_positions|embed_in|wte|wpe|word_embeddings|tok_embeddings|embeddings"
    r"|token_embd|position_embd)\."
)
_ROUTER = (
    r"(?:^|\.)(?:router|shared_expert_gate|ffn_gate_inp\w*|exp_probs_b|fc[12]_latent_proj)\.|e_score_correct"
    r"|(?:mlp|moe|feed_forward|ffn|mixer)\.gate\.|routed_expert_(?:down|up)_proj\."
)
_NORMS = (
    r"norm\w*\.|(?:^|\.)ln_\w+\.|_?bias$|rope_freqs|attn_sinks"
    r"|(?:sinks?|A_log|dt_bias|layer_scalar|\.D|\.ape)$|conv1d\.|\.conv\.conv\.|(?:^|\.)ssm_(?:a|d|dt)$"
    r"|\.act_fn\.|(?:^|\.)hc_\w+$|_hc\.|_res_proj\.|\.correct_output_scale$"
)
_PARTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("other", _VISION),
    ("layer_embedding", re.compile(r"(?:^|\.)(?:embed_tokens_per_layer|per_layer_token_embd)\.")),
    ("embedding", re.compile(_EMBEDDING)),
    (
        "latent",
        re.compile(
            r"(?:^|\.)(?:per_layer_(?:input_gate|projection|model_proj(?:ection)?)|altup_\w*projections)\."
            r"|^blk\.\d+\.(?:inp_gate|proj)\."
            r"|laurel\.linear_\w+\.|altup\.(?:correction_coefs|prediction_coefs|modality_router)\."
        ),
    ),
    ("router", re.compile(_ROUTER)),
    ("norms", re.compile(_NORMS)),
    ("head", re.compile(r"(?:^|\.)(?:lm_head|embed_out)\.|^(?:output|head)\.")),
    ("shared", re.compile(r"(?:^|\.)shared_(?:experts?|mlp)\.|_shexp\.")),
    ("experts", re.compile(r"(?:^|\.)experts\.|_exps\.")),
    (
        "latent",
        re.compile(
            r"(?:q_a_proj|kv_a_proj\w*|fused_qkv_a_proj|attn_q_a|attn_kv_a_mqa|indexer|compressor)\."
            r"|attn\.(?:kv_proj|wkv|wq_a)\."
        ),
    ),
    ("attention", re.compile(r"(?:^|\.)(?:linear_attn|mamba|conv)\.")),
    ("key_value", re.compile(r"(?:^|\.)(?:k_proj|v_proj|attn_[kv])\.")),
    ("fused", re.compile(r"(?:qkv_proj|query_key_value|c_attn|Wqkv|attn\.qkv|attn_qkv)\.")),
    ("mlp", re.compile(r"(?:^|\.)mixer\.(?:up|down)_proj\.")),
    ("attention", re.compile(r"(?:^|\.)(?:\w*attn\w*|\w*attention|mixer|ssm_\w+)\.")),
    (
        "mlp",
        re.compile(r"(?:^|\.)(?:mlp|feed_forward|ffn\w*)\.|(?:fc1|fc2|fc_in|fc_out|up_proj|down_proj|gate_proj)\."),
    ),
)
"""Part and its tensor names; the first match counts. ``fused`` is queries, keys and values combined."""

_VOCABULARY = re.compile(
    r"(?:(?:language_)?model\.|transformer\.|backbone\.|gpt_neox\.)*(?:embed_tokens|wte|embed_in)\.weight"
)
"""The embedding of the language model's tokens."""
_SCALE = re.compile(r"(?:scale\w*|scales|qzeros|g_idx|zero_point|weight_shape|absmax|quant_map|quant_state\S*|SCB)$")
_CONTAINER_BITS = {"I32": 32, "U32": 32, "U8": 8, "I8": 8}


def loaded(tensors: Iterable[Tensor], layers: int | None, *, tied: bool) -> list[Tensor]:
    """The tensors that an engine loads.

    Args:
        tensors: All tensors of the files.
        layers: The model's layers; layers after them are for multi-token prediction.
        tied: Whether the head is the embedding.
    """
    return [tensor for tensor in tensors if not _unused(tensor, layers, tied)]


def predictor(tensors: Iterable[Tensor], layers: int | None) -> list[Tensor]:
    """The tensors of layers for multi-token prediction, without their copies of the embedding and the head."""
    return [tensor for tensor in tensors if _predicts(tensor, layers) and not _ENDS.search(tensor.name)]


def contradiction(tensors: Iterable[Tensor], layers: int | None, hidden: int | None) -> tuple[str, int, int] | None:
    """A size that the tensors do not have: its field in config.json, the config's value and theirs.

    Args:
        tensors: All tensors that an engine loads, of a family that the wizard knows.
        layers: The config's number of layers.
        hidden: The config's width of the residual stream.
    """
    numbers: set[int] = set()
    for tensor in tensors:
        if _VISION.search(tensor.name):
            continue
        if (layer := _LAYER.search(tensor.name)) is not None:
            numbers.add(int(layer[1][:9]))
        if _VOCABULARY.fullmatch(tensor.name) and len(tensor.shape) == 2 and hidden and tensor.shape[1] != hidden:
            return "hidden_size", hidden, tensor.shape[1]
    return ("num_hidden_layers", layers, len(numbers)) if layers and numbers and len(numbers) < layers else None


def _unused(tensor: Tensor, layers: int | None, tied: bool) -> bool:
    mask = _MASK.search(tensor.name) is not None and len(tensor.shape) != 1
    return (
        _predicts(tensor, layers)
        or mask
        or bool(_UNUSED.search(tensor.name))
        or (tied and _part(tensor.name) == "head")
    )


def _predicts(tensor: Tensor, layers: int | None) -> bool:
    """Whether it is of a layer for multi-token prediction, by its name or because it is after the model's last one."""
    layer = _LAYER.search(tensor.name)
    late = layers is not None and layer is not None and int(layer[1][:9]) >= layers
    return bool(_MTP.search(tensor.name)) or (late and not _VISION.search(tensor.name))


def bytes_by_part(tensors: Iterable[Tensor], n: Mapping[str, Any], quantization: Quantization | None) -> Parts:
    """Bytes in the engine's memory: as stored, except that unquantized 32-bit weights count with 16 bits.

    Args:
        tensors: `loaded` ones.
        n: ``heads`` and ``kv_heads``, to split fused projections. quantization: Their quantization.
    """
    halved = ("F32", "F64") if quantization is None else ()
    return sums(((each.name, 2 * each.elements if each.dtype in halved else each.bytes) for each in tensors), n)


def parameters_by_part(tensors: Iterable[Tensor], n: Mapping[str, Any], quantization: Quantization | None) -> Parts:
    """Parameters, unpacked if several share an element; scales and zero points do not count."""
    bits = quantization.bits if quantization else None

    def parameters(tensor: Tensor) -> int:
        container = _CONTAINER_BITS.get(tensor.dtype)
        return int(tensor.elements * container / bits) if container and bits and bits < container else tensor.elements

    weights = [each for each in tensors if quantization is None or not _SCALE.search(each.name)]
    return sums(((each.name, parameters(each)) for each in weights), n)


def sums(amounts: Iterable[tuple[str, int]], n: Mapping[str, Any]) -> Parts:
    """Amounts by part.

    Args:
        amounts: Name of a tensor, and its amount.
        n: ``heads`` and ``kv_heads``, to split fused projections.
    """
    counts: Counter[str] = Counter()
    for name, amount in amounts:
        counts[_part(name)] += amount
    heads, kv_heads, fused = n.get("heads") or 1, n.get("kv_heads") or 0, counts.pop("fused", 0)
    keys = fused * 2 * kv_heads // (heads + 2 * kv_heads)
    counts["key_value"] += keys
    counts["attention"] += fused - keys
    return Parts(**counts)


def unnamed_bytes(tensors: Iterable[Tensor]) -> int:
    """Bytes of the tensors whose names belong to no part, not even the vision part."""
    return sum(tensor.bytes for tensor in tensors if _known_part(tensor.name) is None)


def _part(name: str) -> str:
    return _known_part(name) or "other"


def _known_part(name: str) -> str | None:
    return next((part for part, pattern in _PARTS if pattern.search(name)), None)


def quantization(tensors: Iterable[Tensor]) -> Quantization | None:
    """The quantization of the weights, inferred from names, dtypes and shapes alone; None if they are not quantized.

    How to distinguish the methods: AWQ packs eight columns into an I32 and GPTQ eight rows, so that GPTQ has as many
    columns of ``qweight`` as of ``scales`` and AWQ an eighth of them; NVFP4 has an FP8 scale per 16 weights, and U8
    weights, MXFP4 ``_blocks`` and ``_scales``, FP8 a scale with F8_E4M3 weights, in blocks if the scale is
    two-dimensional; bitsandbytes has ``absmax``, or ``SCB`` for 8 bits.
    """
    by_name = {tensor.name: tensor for tensor in tensors}
    for name, tensor in by_name.items():
        stem = name.rpartition(".")[0]
        if name.endswith(".qweight") and (scales := by_name.get(f"{stem}.scales")) is not None:
            return _packed(tensor, scales, by_name.get(f"{stem}.qzeros"), f"{stem}.g_idx" in by_name)
        if name.endswith("_blocks") and f"{name.removesuffix('_blocks')}_scales" in by_name:
            return Quantization("mxfp4", 4.0, format="mxfp4", group_size=32)
        if name.endswith(".weight.absmax"):
            return Quantization("bitsandbytes", 4.0, format="int4_wo", group_size=64)
        if name.endswith(".SCB"):
            return Quantization("bitsandbytes", 8.0, format="int8_wo")
        if name.endswith(".weight") and (scaled := _scaled(tensor, stem, by_name)) is not None:
            return scaled
    return None


def _packed(weight: Tensor, scales: Tensor, zeros: Tensor | None, has_index: bool) -> Quantization | None:
    """AWQ or GPTQ, its width and its group from the shapes; None if it is neither."""
    if len(weight.shape) != 2 or len(scales.shape) != 2 or not min(weight.shape) or not min(scales.shape):
        return None
    (rows, columns), (groups, outputs) = weight.shape, scales.shape
    if columns != outputs and not has_index:
        bits = 32 * columns // outputs
        return Quantization(
            "awq", float(bits) or None, format="int4_awq" if bits == 4 else None, group_size=_group(rows, groups)
        )
    if columns != outputs or zeros is None or len(zeros.shape) != 2:
        return None
    bits = 32 * zeros.shape[1] // outputs
    name = {4: "int4_gptq", 8: "int8_wo"}.get(bits)
    return Quantization("gptq", float(bits) or None, format=name, group_size=_group(rows * 32 // (bits or 32), groups))


def _group(rows: int, scales: int) -> int | None:
    return rows // scales if scales > 1 else None


def _scaled(weight: Tensor, stem: str, by_name: Mapping[str, Tensor]) -> Quantization | None:
    scale = by_name.get(f"{stem}.weight_scale", by_name.get(f"{stem}.weight_scale_inv"))
    kv_dtype = "fp8" if any(name.endswith(("k_scale", "v_scale")) for name in by_name) else None
    if scale is None:
        return None
    if weight.dtype == "U8" and scale.dtype == "F8_E4M3":
        return Quantization("modelopt", 4.0, format="nvfp4", group_size=16, kv_dtype=kv_dtype)
    if weight.dtype == "F8_E4M3":
        blocks = len(scale.shape) == 2 and min(scale.shape) > 1 and len(weight.shape) == 2
        group = -(-weight.shape[0] // scale.shape[0]) if blocks else None
        name = "fp8_block" if blocks else "fp8"
        return Quantization("fp8", 8.0, format=name, group_size=group, kv_dtype=kv_dtype)
    if weight.dtype == "I8":
        return Quantization("compressed-tensors", 8.0, format="int8_sq", kv_dtype=kv_dtype)
    return None
