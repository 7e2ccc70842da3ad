from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.model.gguf_bytes import LLAMA_CONFIG, folder, safetensors
from wizard.model import local, tensor_parts
from wizard.model.facts import ModelFacts, Quantization
from wizard.model.safetensors import Tensor


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("model.embed_tokens.weight", "embedding"),
        ("transformer.wpe.weight", "embedding"),
        ("model.language_model.embed_tokens_per_layer.weight", "layer_embedding"),
        ("per_layer_token_embd.weight", "layer_embedding"),
        ("per_layer_model_proj.weight", "latent"),
        ("blk.3.inp_gate.weight", "latent"),
        ("blk.3.proj.weight", "latent"),
        ("lm_head.weight", "head"),
        ("embed_out.weight", "head"),
        ("output.weight", "head"),
        ("model.layers.0.self_attn.q_proj.weight", "attention"),
        ("model.layers.0.self_attn.o_proj.qzeros", "attention"),
        ("h.0.attn.c_proj.weight", "attention"),
        ("model.layers.0.self_attn.kv_b_proj.weight", "attention"),
        ("model.layers.0.linear_attn.in_proj_qkvz.weight", "attention"),
        ("model.layers.0.self_attn.k_proj.weight_scale", "key_value"),
        ("blk.0.attn_v.weight", "key_value"),
        ("model.layers.0.self_attn.kv_a_proj_with_mqa.weight", "latent"),
        ("model.layers.0.mlp.gate_proj.weight", "mlp"),
        ("h.0.mlp.c_proj.weight", "mlp"),
        ("blk.0.ffn_gate.weight", "mlp"),
        ("model.layers.0.block_sparse_moe.experts.3.w1.weight", "experts"),
        ("model.layers.0.mlp.experts.gate_up_proj_blocks", "experts"),
        ("blk.0.ffn_up_exps.weight", "experts"),
        ("model.layers.0.mlp.shared_experts.up_proj.weight", "shared"),
        ("blk.0.ffn_up_shexp.weight", "shared"),
        ("model.layers.0.mlp.shared_expert_gate.weight", "router"),
        ("model.layers.0.block_sparse_moe.gate.weight", "router"),
        ("model.layers.0.mlp.gate.e_score_correction_bias", "router"),
        ("blk.0.ffn_gate_inp.weight", "router"),
        ("model.layers.0.mlp.experts.gate_up_proj_bias", "norms"),
        ("model.layers.0.self_attn.q_proj.bias", "norms"),
        ("model.layers.0.self_attn.sinks", "norms"),
        ("h.0.ln_1.weight", "norms"),
        ("blk.0.attn_q_norm.weight", "norms"),
        ("vision_tower.vision_model.encoder.layers.0.self_attn.q_proj.weight", "other"),
        ("model.visual.blocks.0.attn.qkv.weight", "other"),
        ("multi_modal_projector.linear_1.bias", "other"),
        ("something.new", "other"),
    ],
)
def test_names_determine_the_part(name: str, part: str) -> None:
    parts = tensor_parts.sums([(name, 5)], {"heads": 4, "kv_heads": 2})
    assert {key: amount for key, amount in asdict(parts).items() if amount} == {part: 5}


def test_fused_projections_are_shared_out_by_heads() -> None:
    parts = tensor_parts.sums([("model.layers.0.self_attn.qkv_proj.weight", 800)], {"heads": 4, "kv_heads": 2})
    assert (parts.attention, parts.key_value) == (400, 400)


def names(*wanted: str, layers: int | None = 2, tied: bool = False) -> list[str]:
    tensors = [Tensor(name, "BF16", (2, 2), 8) for name in wanted]
    return [tensor.name for tensor in tensor_parts.loaded(tensors, layers, tied=tied)]


def test_what_no_engine_loads_does_not_count() -> None:
    kept = ["model.layers.1.mlp.up_proj.weight", "visual.blocks.9.attn.proj.weight"]
    unused = [
        "model.layers.2.mlp.up_proj.weight",
        "model.layers.2.eh_proj.weight",
        "mtp.layers.0.mlp.up_proj.weight",
        "mtp.0.attn.wq_a.weight",  # DeepSeek V4's own names
        "h.0.attn.bias",
        "gpt_neox.layers.0.attention.masked_bias",
        "model.layers.0.self_attn.rotary_emb.inv_freq",
    ]
    assert names(*kept, *unused) == kept
    assert names("lm_head.weight") == ["lm_head.weight"]
    assert names("lm_head.weight", tied=True) == []


def test_packed_weights_are_unpacked_and_scales_are_no_parameters() -> None:
    awq = [
        Tensor("model.layers.0.mlp.up_proj.qweight", "I32", (64, 16), 4096),
        Tensor("model.layers.0.mlp.up_proj.scales", "F16", (1, 128), 256),
        Tensor("model.layers.0.mlp.up_proj.qzeros", "I32", (1, 16), 64),
        Tensor("model.embed_tokens.weight", "F16", (10, 64), 1280),
    ]
    quantization = Quantization("awq", 4.0, format="int4_awq", group_size=64)
    assert tensor_parts.parameters_by_part(awq, {}, quantization).mlp == 64 * 128
    by_part = tensor_parts.bytes_by_part(awq, {}, quantization)
    assert (by_part.mlp, by_part.embedding, by_part.total) == (4416, 1280, 5696)


def test_32_bit_weights_are_held_in_16() -> None:
    weights = [Tensor("lm_head.weight", "F32", (10, 64), 2560)]
    assert tensor_parts.bytes_by_part(weights, {}, None).head == 1280


# --- folders ---------------------------------------------------------------------------------------------------------

H, F, V, LAYERS = 64, 128, 100, 2


def llama(dtype: str = "BF16", size: int = 2) -> dict[str, Any]:
    """The header of the tiny Llama of LLAMA_CONFIG."""
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (V, H), "model.norm.weight": (H,)}
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        shapes |= {f"{at}self_attn.{name}_proj.weight": (H, H) for name in "qo"}
        shapes |= {f"{at}self_attn.{name}_proj.weight": (H // 2, H) for name in "kv"}
        shapes |= {f"{at}mlp.{name}_proj.weight": (F, H) for name in ("gate", "up")}
        shapes |= {f"{at}mlp.down_proj.weight": (H, F)}
        shapes |= {f"{at}{name}_layernorm.weight": (H,) for name in ("input", "post_attention")}
    return header({name: (dtype, size, shape) for name, shape in shapes.items()})


def header(tensors: dict[str, tuple[str, int, tuple[int, ...]]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    end = 0
    for name, (dtype, size, shape) in tensors.items():
        count = 1
        for dimension in shape:
            count *= dimension
        made[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + count * size]}
        end += count * size
    return made


def of(where: Path, tensors: dict[str, Any], **changes: Any) -> ModelFacts:
    return local.of_path(folder(where / "m", {**LLAMA_CONFIG, **changes}, model__safetensors=safetensors(tensors)), "x")


def test_headers_and_config_agree_part_by_part(tmp_path: Path) -> None:
    facts = of(tmp_path, llama())
    assert facts.anatomy is not None
    assert facts.stored is not None
    assert facts.parameters == facts.anatomy.parts.total == 80448
    assert {key: 2 * amount for key, amount in asdict(facts.anatomy.parts).items()} == asdict(facts.stored)
    assert facts.stored.total == facts.weight_bytes
    assert "config" not in facts.unknown


def test_files_that_hold_more_than_the_config_win_with_a_note(tmp_path: Path) -> None:
    facts = of(tmp_path, llama(), intermediate_size=100)
    assert facts.parameters == 80448
    assert facts.anatomy is not None
    assert facts.anatomy.parts.mlp == LAYERS * 3 * H * F
    assert "80,448" in facts.unknown["config"]


def test_an_unknown_architecture_is_counted_from_its_headers_with_a_note(tmp_path: Path) -> None:
    types = ["linear_attention", "full_attention"]
    facts = of(tmp_path, llama(), architectures=["NewForCausalLM"], model_type="new", layer_types=types)
    assert facts.parameters == 80448
    assert facts.anatomy is not None
    assert [(layers.layers, layers.kv_heads) for layers in facts.anatomy.attention] == [(1, 2), (1, 0)]
    assert "does not know NewForCausalLM" in facts.unknown["anatomy"]
    assert "parameters" not in facts.unknown


def test_experts_of_an_unknown_architecture(tmp_path: Path) -> None:
    tensors = header({"model.layers.0.mlp.experts.0.up_proj.weight": ("BF16", 2, (32, H))})
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    facts = of(tmp_path, tensors, architectures=["NewForCausalLM"], model_type="new", **experts)
    assert facts.anatomy is not None
    assert (facts.anatomy.parts.experts, facts.anatomy.active) == (32 * H, 16 * H)
    assert (facts.anatomy.experts, facts.anatomy.expert_intermediate) == (4, 32)


def test_an_unknown_architecture_without_sizes_has_a_count_and_no_anatomy(tmp_path: Path) -> None:
    facts = of(tmp_path, llama(), architectures=["NewForCausalLM"], model_type="new", num_attention_heads=None)
    assert (facts.parameters, facts.anatomy) == (80448, None)
    assert "anatomy" in facts.unknown


def test_the_vision_part_is_counted_from_headers(tmp_path: Path) -> None:
    vision = header({"vision_tower.patch_embedding.weight": ("BF16", 2, (10, 10))})
    tensors = llama()
    end = max(tensor["data_offsets"][1] for tensor in tensors.values())
    for tensor in vision.values():
        tensor["data_offsets"] = [end + at for at in tensor["data_offsets"]]
    facts = of(tmp_path, {**tensors, **vision}, vision_config={"hidden_size": 10})
    assert facts.anatomy is not None
    assert (facts.parameters, facts.anatomy.parts.other) == (80548, 100)
    assert "vision" not in facts.unknown


def renamed(tensors: dict[str, Any], part: str) -> dict[str, Any]:
    """``tensors`` with names that no part has, where ``part`` is in them."""
    return {f"blob.{n}" if part in name else name: tensor for n, (name, tensor) in enumerate(tensors.items())}


@pytest.mark.parametrize("architecture", ["LlamaForCausalLM", "NewForCausalLM"])
def test_with_unknown_names_what_a_token_reads_is_unknown(architecture: str, tmp_path: Path) -> None:
    facts = of(tmp_path, renamed(llama(), "."), architectures=[architecture])
    assert facts.weight_bytes == 2 * 80448
    assert (
        "157 KiB of the weights (157 KiB total) are in tensors that the wizard does not recognize"
        in facts.unknown["speed"]
    )


def test_a_few_names_that_nobody_knows_change_nothing(tmp_path: Path) -> None:
    assert "speed" not in of(tmp_path, llama()).unknown
    assert "speed" not in of(tmp_path / "few", renamed(llama(), "norm")).unknown
    assert "speed" in of(tmp_path / "many", renamed(llama(), "mlp")).unknown


def test_quantisation_that_only_the_headers_show(tmp_path: Path) -> None:
    tensors = header(
        {
            "model.layers.0.mlp.up_proj.qweight": ("I32", 4, (H, F // 8)),
            "model.layers.0.mlp.up_proj.scales": ("F16", 2, (1, F)),
            "model.layers.1.input_layernorm.weight": ("F16", 2, (H,)),
        }
    )
    facts = of(tmp_path, tensors)
    assert facts.quantization is not None
    assert (facts.quantization.method, facts.quantization.format) == ("awq", "int4_awq")
    assert facts.parameters == 80448
    assert facts.stored is not None
    assert facts.stored.mlp == H * F // 2 + 2 * F
