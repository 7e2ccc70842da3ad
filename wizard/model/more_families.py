"""More model families: dense ones, ones with experts, and hybrids of attention and recurrent states.

Sources as of `wizard.model.families`; Baichuan, ChatGLM, DeepSeek (first), InternLM, Orion, MiniCPM and Qwen (first)
bring modules of their own: vLLM 0.24 and 0.33, ``model_executor/models``.
"""

from __future__ import annotations

from dataclasses import replace

from wizard.model.family import Family

_UNTIED = {"tie_word_embeddings": False}
_TIED = {"tie_word_embeddings": True}

_BIASED = Family(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias", defaults=_UNTIED)
_OLMO2 = replace(_BIASED, mlp_bias=False, qk_norm=True, wide_qk_norm=True)
_COHERE = replace(_BIASED, mlp_bias=False, layer_norms=1, qk_norm="use_qk_norm", wide_qk_norm=True, defaults=_TIED)
_GLM = Family(qkv_bias="attention_bias", defaults={**_UNTIED, "attention_bias": True, "head_dim": 128})
_GLM_MOE = replace(
    _GLM,
    qk_norm="use_qk_norm",
    experts="deepseek",
    router_bias=True,
    predictor="copies",
    defaults={**_UNTIED, "first_k_dense_replace": 1},
)
_INTERNLM = Family(qkv_bias="bias", out_bias="bias", defaults={**_UNTIED, "bias": True})
_GPT = Family(  # as GPT-2, with its own names
    qkv_bias=True, out_bias=True, mlp_bias=True, gated=False, norm_bias=True, positions=True, defaults=_TIED
)
_ERNIE = Family(qkv_bias="use_bias", out_bias="use_bias", mlp_bias="use_bias", defaults=_TIED)
_LATENT = Family(qkv_bias="attention_bias", out_bias="attention_bias", latent=True, experts="deepseek", defaults=_TIED)
_CONVOLUTION = Family(qk_norm=True, defaults=_TIED, names={"tie_word_embeddings": "tie_embedding"})

_DENSE: dict[str, Family] = {
    "apertus": replace(
        _BIASED, gated=False, qk_norm=True, activation_parameters=4, defaults={**_UNTIED, "attention_bias": False}
    ),
    "arcee": replace(_BIASED, gated=False),
    "biogpt": replace(_GPT, more_positions=2),
    "bloom": replace(_GPT, positions=False, outer_norms=2, names={"num_attention_heads": "n_head"}),
    "chatglm": Family(
        qkv_bias="add_qkv_bias",
        out_bias="add_bias_linear",
        mlp_bias="add_bias_linear",
        defaults=_UNTIED,
        names={
            "num_key_value_heads": "multi_query_group_num",
            "head_dim": "kv_channels",
            "intermediate_size": "ffn_hidden_size",
            "vocab_size": "padded_vocab_size",
        },
    ),
    "cohere": _COHERE,
    "cohere2": replace(
        _COHERE,
        qk_norm=False,
        window="pattern",
        defaults={**_TIED, "sliding_window": 4096, "sliding_window_pattern": 4},
    ),
    "ernie4_5": replace(_ERNIE, defaults={**_TIED, "head_dim": 128}),
    "exaone4": Family(
        qk_norm=True,
        window="pattern",
        defaults={**_UNTIED, "sliding_window": 4096, "sliding_window_pattern": 4},
    ),
    "glm": _GLM,
    "glm4": replace(_GLM, layer_norms=4),
    "gpt_bigcode": _GPT,
    "gpt_neo": replace(
        _GPT, qkv_bias=False, names={"num_attention_heads": "num_heads", "sliding_window": "window_size"}
    ),
    "internlm": _INTERNLM,
    "jais2": replace(
        _BIASED, gated=False, norm_bias=True, defaults={**_UNTIED, "attention_bias": True, "mlp_bias": True}
    ),
    "olmo": replace(_BIASED, mlp_bias=False, layer_norms=0, outer_norms=0),
    "olmo2": _OLMO2,
    "olmo3": replace(
        _OLMO2, window="pattern", defaults={**_UNTIED, "sliding_window": 4096, "sliding_window_pattern": 4}
    ),
    "opt": replace(
        _GPT,
        qkv_bias="enable_bias",
        out_bias="enable_bias",
        mlp_bias="enable_bias",
        more_positions=2,
        defaults={**_TIED, "enable_bias": True},
    ),
    "orion": Family(norm_bias=True, defaults=_UNTIED),
    "persimmon": replace(
        _GPT, positions=False, qk_norm="qk_layernorm", qk_norm_bias=True, defaults={**_UNTIED, "qk_layernorm": True}
    ),
    "qwen": Family(qkv_bias=True, defaults=_UNTIED, names={"head_dim": "kv_channels"}),
    "seed_oss": Family(
        qkv_bias="attention_bias", out_bias="attention_out_bias", defaults={**_UNTIED, "attention_bias": True}
    ),
    "smollm3": replace(_BIASED, defaults=_TIED),
    "stablelm": Family(
        qkv_bias="use_qkv_bias", norm_bias=True, qk_norm="qk_layernorm", wide_qk_norm=True, defaults=_UNTIED
    ),
    "starcoder2": Family(
        qkv_bias="use_bias",
        out_bias="use_bias",
        mlp_bias="use_bias",
        gated=False,
        norm_bias=True,
        window="all",
        defaults={**_TIED, "use_bias": True, "sliding_window": None},
    ),
    "xglm": replace(_GPT, positions=False, names={"num_attention_heads": "attention_heads"}),
}

_EXPERTS: dict[str, Family] = {
    "deepseek": Family(experts="deepseek", defaults={**_UNTIED, "moe_layer_freq": 1}),
    "ernie4_5_moe": replace(
        _ERNIE,
        experts="deepseek",
        router_bias=True,
        names={
            "num_local_experts": "moe_num_experts",
            "num_experts_per_tok": "moe_k",
            "n_shared_experts": "moe_num_shared_experts",
            "first_k_dense_replace": "moe_layer_start_index",
            "moe_layer_freq": "moe_layer_interval",
        },
    ),
    "flex_olmo": replace(_OLMO2, experts="all", defaults={**_UNTIED, "num_experts": 7, "num_experts_per_tok": 5}),
    "glm4_moe": _GLM_MOE,
    "hy_v3": Family(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        qk_norm=True,
        experts="deepseek",
        router_bias=True,
        defaults=_UNTIED,
    ),
    "laguna": Family(qk_norm=True, output_gate="heads", experts="deepseek", router_bias=True, defaults=_UNTIED),
    "mellum": Family(
        qkv_bias="attention_bias", out_bias="attention_bias", qk_norm=True, experts="deepseek", defaults=_UNTIED
    ),
    "minicpm": Family(experts="all", defaults=_TIED),
    "minicpm3": replace(_LATENT),
    "olmoe": replace(_OLMO2, experts="all"),
    "solar_open": replace(_GLM_MOE, qk_norm=False, defaults={**_UNTIED, "first_k_dense_replace": 0}),
    "youtu": replace(_LATENT),
}

_HYBRIDS: dict[str, Family] = {
    "falcon_h1": Family(
        qkv_bias="attention_bias",
        out_bias="attention_bias",
        mlp_bias="mlp_bias",
        both=True,
        defaults={**_UNTIED, "mamba_n_groups": 1, "mamba_rms_norm": False},
    ),
    "granitemoehybrid": Family(
        qkv_bias="attention_bias", out_bias="attention_bias", experts="granite", defaults={**_TIED, "mamba_n_groups": 1}
    ),
    "jamba": Family(experts="all", defaults={**_UNTIED, "num_experts": 16, "num_experts_per_tok": 2}),
    "kimi_linear": Family(
        latent=True,
        experts="deepseek",
        router_bias=True,
        defaults={**_UNTIED, "first_k_dense_replace": 1},
        names={"max_position_embeddings": "model_max_length"},
    ),
    "lfm2": _CONVOLUTION,
    "lfm3": replace(_CONVOLUTION, layer_norms=4, output_gate="heads"),
    "olmo_hybrid": replace(_OLMO2),
}

MORE: dict[str, Family] = {**_DENSE, **_EXPERTS, **_HYBRIDS}
"""``model_type`` → its family."""
