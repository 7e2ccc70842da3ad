"""How the modules of model families differ from Llama's, and the defaults of fields missing in their config.json.

Facts of ``transformers`` 5.23: module shapes and biases in ``models/FAMILY/modeling_FAMILY.py``, the values of absent
fields in ``models/FAMILY/configuration_FAMILY.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wizard.model.family import Family
from wizard.model.more_families import MORE


def _sizes(vocabulary: int, hidden: int, inner: int, layers: int, heads: int, kv_heads: int | None) -> dict[str, Any]:
    return {
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
    }


_UNTIED = {"tie_word_embeddings": False}
_TIED = {"tie_word_embeddings": True}

_LLAMA = Family(
    qkv_bias="attention_bias",
    out_bias="attention_bias",
    mlp_bias="mlp_bias",
    defaults=_UNTIED,
    sizes=_sizes(32000, 4096, 11008, 32, 32, None),
)
_MISTRAL = Family(
    window="all",
    defaults={**_UNTIED, "sliding_window": 4096},
    sizes={**_sizes(32000, 4096, 14336, 32, 32, 8), "max_position_embeddings": 131_072},
)
_QWEN2 = Family(
    qkv_bias=True,
    predictor="layer",
    window="qwen",
    defaults={**_UNTIED, "sliding_window": 4096, "max_window_layers": 28},
    sizes=_sizes(151_936, 4096, 22016, 32, 32, 32),
)
_QWEN3 = replace(
    _QWEN2,
    qkv_bias="attention_bias",
    out_bias="attention_bias",
    qk_norm=True,
    defaults={**_QWEN2.defaults, "head_dim": 128},
)
_QWEN3_MOE = replace(
    _QWEN3,
    experts="qwen",
    window="all",
    defaults={**_UNTIED, "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1},
    sizes={**_sizes(151_936, 2048, 6144, 24, 32, 4), "moe_intermediate_size": 768},
)
_GEMMA = Family(
    qkv_bias="attention_bias",
    out_bias="attention_bias",
    defaults={**_TIED, "head_dim": 256},
    sizes=_sizes(256_000, 3072, 24576, 28, 16, 16),
)
_GEMMA2 = replace(
    _GEMMA,
    layer_norms=4,
    window="alternate",
    defaults={**_GEMMA.defaults, "sliding_window": 4096},
    sizes={**_sizes(256_000, 2304, 9216, 26, 8, 4), "max_position_embeddings": 8192},
)
_GEMMA3 = replace(
    _GEMMA2,
    qk_norm=True,
    window="pattern",
    defaults={**_GEMMA2.defaults, "sliding_window_pattern": 6},
    sizes={**_sizes(262_208, 2304, 9216, 26, 8, 4), "max_position_embeddings": 131_072},
)
_QWEN3_NEXT = replace(
    _QWEN3,
    output_gate="wide",
    window="none",
    defaults={**_UNTIED, "head_dim": 256},
)
_QWEN3_NEXT_MOE = replace(
    _QWEN3_NEXT,
    experts="qwen",
    shared_gate=True,
    defaults={**_QWEN3_NEXT.defaults, "decoder_sparse_step": 1},
)
_GEMMA3N = replace(
    _GEMMA3,
    layer_inputs=True,
    defaults={**_GEMMA.defaults, "sliding_window": 512, "sliding_window_pattern": 5},
    sizes={
        **_sizes(262_400, 2048, 16384, 35, 8, 2),
        **{"hidden_size_per_layer_input": 256, "vocab_size_per_layer_input": 262_144, "num_kv_shared_layers": 15},
        **{"altup_num_inputs": 4, "laurel_rank": 64, "max_position_embeddings": 32_768},
    },
)
_GEMMA4 = replace(
    _GEMMA3,
    other_heads="gemma4",
    layer_inputs=True,
    defaults={**_TIED, "head_dim": 256, "global_head_dim": 512, "sliding_window_pattern": 6},
    sizes={},
)
_GPT2 = Family(
    qkv_bias=True,
    out_bias=True,
    mlp_bias=True,
    gated=False,
    norm_bias=True,
    positions=True,
    defaults=_TIED,
)
_DEEPSEEK_V2 = Family(
    qkv_bias="attention_bias",
    out_bias="attention_bias",
    latent=True,
    experts="deepseek",
    defaults={**_UNTIED, "first_k_dense_replace": 0, "moe_layer_freq": 1},
    sizes={"qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "kv_lora_rank": 512},
)
_DEEPSEEK_V3 = replace(_DEEPSEEK_V2, router_bias=True, predictor="copies")
_DEEPSEEK_V32 = replace(_DEEPSEEK_V3, indexer="deepseek")

FAMILIES: dict[str, Family] = {
    **MORE,
    "llama": _LLAMA,
    "mistral": _MISTRAL,
    "ministral": _MISTRAL,
    "mixtral": replace(
        _MISTRAL,
        experts="all",
        defaults={**_UNTIED, "sliding_window": None, "num_local_experts": 8, "num_experts_per_tok": 2},
    ),
    "qwen2": _QWEN2,
    "qwen3": _QWEN3,
    "qwen2_moe": replace(
        _QWEN2,
        qkv_bias="qkv_bias",
        experts="qwen",
        shared_gate=True,
        window="qwen2_moe",
        defaults={**_QWEN2.defaults, "qkv_bias": True, "decoder_sparse_step": 1},
    ),
    "qwen3_moe": _QWEN3_MOE,
    "qwen3_next": replace(
        _QWEN3_NEXT_MOE, defaults={**_QWEN3_NEXT_MOE.defaults, "num_nextn_predict_layers": 1}
    ),  # which its configs do not state (vLLM, ``models/qwen3_next_mtp.py``)
    "qwen3_5_text": _QWEN3_NEXT,
    "qwen3_5_moe_text": _QWEN3_NEXT_MOE,
    "minimax_m2": Family(qk_norm=True, wide_qk_norm=True, experts="all", router_bias=True, defaults=_UNTIED),
    "minimax_m3": Family(qk_norm=True, indexer="minimax", experts="minimax", router_bias=True, defaults=_UNTIED),
    "mimo_v2_flash": Family(
        qkv_bias="attention_bias",
        sinks="sliding",
        other_heads="mimo",
        experts="deepseek",
        router_bias=True,
        window="mimo",
        defaults=_UNTIED,
    ),
    "nemotron-nas": Family(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias", defaults=_UNTIED),
    "step3p7": Family(qk_norm=True, output_gate="heads", experts="deepseek", router_bias=True, defaults=_UNTIED),
    "phi": Family(
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        head_bias=True,
        gated=False,
        layer_norms=1,
        norm_bias=True,
        qk_norm="qk_layernorm",
        qk_norm_bias=True,
        defaults=_UNTIED,
        sizes=_sizes(51200, 2048, 8192, 24, 32, None),
    ),
    "phi3": Family(window="all", defaults={**_UNTIED, "sliding_window": None}),
    "phimoe": Family(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        head_bias="lm_head_bias",
        norm_bias=True,
        experts="all",
        window="all",
        defaults={**_UNTIED, "sliding_window": None, "num_local_experts": 16, "num_experts_per_tok": 2},
    ),
    "gemma": _GEMMA,
    "gemma2": _GEMMA2,
    "gemma3_text": _GEMMA3,
    "gemma3n_text": _GEMMA3N,
    "gemma4_text": _GEMMA4,
    "falcon": Family(
        qkv_bias="bias",
        out_bias="bias",
        mlp_bias="bias",
        gated=False,
        norm_bias=True,
        defaults={**_TIED, "multi_query": True, "parallel_attn": True, "max_position_embeddings": 2048},
    ),
    "gpt2": _GPT2,
    "gptj": replace(
        _GPT2, qkv_bias=False, out_bias=False, head_bias=True, layer_norms=1, positions=False, defaults=_UNTIED
    ),
    "gpt_neox": replace(
        _GPT2,
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        positions=False,
        defaults={**_UNTIED, "attention_bias": True},
    ),
    "deepseek_v2": _DEEPSEEK_V2,
    "deepseek_v3": _DEEPSEEK_V3,
    "deepseek_v32": _DEEPSEEK_V32,
    "deepseek_v4": Family(compressed=True, experts="deepseek", router_bias=True, predictor="layer", defaults=_UNTIED),
    "glm_moe_dsa": _DEEPSEEK_V32,
    "axk1": replace(_DEEPSEEK_V3, expert_norm=True, defaults={**_DEEPSEEK_V3.defaults, "first_k_dense_replace": 1}),
    "nemotron_h": Family(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        mlp_bias="mlp_bias",
        gated=False,
        layer_norms=1,
        experts="nemotron",
        router_bias=True,
        separate=True,
        predictor="layer",
        defaults=_UNTIED,
    ),
    "gpt_oss": Family(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        sinks=True,
        experts="all",
        expert_bias=True,
        router_bias=True,
        window="alternate",
        defaults={**_UNTIED, "attention_bias": True, "sliding_window": 128, "num_experts_per_tok": 4, "head_dim": 64},
    ),
    "llama4_text": Family(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        experts="llama4",
        window="llama4",
        defaults={
            **_UNTIED,
            "head_dim": 128,
            "num_local_experts": 16,
            "num_experts_per_tok": 1,
            "interleave_moe_layer_step": 1,
            "no_rope_layer_interval": 4,
            "attention_chunk_size": 8192,
        },
        sizes={**_sizes(202_048, 5120, 8192, 48, 40, 8), "intermediate_size_mlp": 16384},
    ),
}
"""``model_type`` → its family."""

_ALIASES = {
    "ministral3": "ministral",
    "deepseek_ref": "deepseek_v4",
    "kimi_k2": "deepseek_v3",
    "mimo_v2": "mimo_v2_flash",
    "mimo": "qwen2",
    "minimax_m3_vl": "minimax_m3",
    "minimax_m3_vl_text": "minimax_m3",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe_text": "qwen3_moe",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "baichuan": "llama",
    "cwm": "llama",
    "glm4_moe_lite": "deepseek_v3",
    "glm4v_moe": "glm4_moe",
    "glm4v_moe_text": "glm4_moe",
    "glm4v": "glm4",
    "glm4v_text": "glm4",
    "granite": "llama",
    "helium": "llama",
    "internlm2": "internlm",
    "internlm3": "llama",
    "iquestcoder": "llama",
    "kimi_k3": "kimi_linear",
    "phi3_v": "phi3",
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text",
    "gemma4_unified": "gemma4_text",
    "gemma4_unified_text": "gemma4_text",
    "llama4": "llama4_text",
    "RefinedWeb": "falcon",
    "RefinedWebModel": "falcon",
}
"""``model_type`` of the same modules under another name."""

_ARCHITECTURES = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "mistral",
    "MixtralForCausalLM": "mixtral",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "Qwen2MoeForCausalLM": "qwen2_moe",
    "Qwen3MoeForCausalLM": "qwen3_moe",
    "PhiForCausalLM": "phi",
    "Phi3ForCausalLM": "phi3",
    "PhimoeForCausalLM": "phimoe",
    "PhiMoEForCausalLM": "phimoe",
    "GemmaForCausalLM": "gemma",
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3_text",
    "Gemma3ForConditionalGeneration": "gemma3_text",
    "FalconForCausalLM": "falcon",
    "RWForCausalLM": "falcon",
    "GPT2LMHeadModel": "gpt2",
    "GPTJForCausalLM": "gptj",
    "GPTNeoXForCausalLM": "gpt_neox",
    "DeepseekV2ForCausalLM": "deepseek_v2",
    "DeepseekV3ForCausalLM": "deepseek_v3",
    "GptOssForCausalLM": "gpt_oss",
    "Llama4ForCausalLM": "llama4_text",
    "Llama4ForConditionalGeneration": "llama4_text",
    "MiniMaxM3SparseForConditionalGeneration": "minimax_m3",
}
"""Architecture → ``model_type``, for configs without one."""


def named(model_type: object, architecture: str | None) -> str | None:
    """The key of `FAMILIES`; None for a family that the wizard does not know.

    Args:
        model_type: The config's ``model_type``, which takes precedence.
        architecture: The first of ``architectures``.
    """
    family = model_type if isinstance(model_type, str) and model_type else _ARCHITECTURES.get(architecture or "")
    family = _ALIASES.get(family or "", family)
    return family if family in FAMILIES else None
