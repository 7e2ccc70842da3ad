from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.model import tensor_parts
from wizard.model.facts import Quantization
from wizard.model.quantization import of_config, of_modelopt
from wizard.model.safetensors import Tensor


def quantization_of(**config: Any) -> Quantization:
    quantization = of_config({"quantization_config": config})
    assert quantization is not None
    return quantization


def group(weights: dict[str, Any], inputs: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "quant_method": "compressed-tensors",
        "config_groups": {"a": {"weights": weights, "input_activations": inputs}},
    }


INT4 = {"num_bits": 4, "type": "int", "group_size": 128, "strategy": "group", "symmetric": True}
FLOAT8 = {"num_bits": 8, "type": "float", "strategy": "tensor"}


@pytest.mark.parametrize(
    ("config", "name", "bits", "size"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm"}, "int4_awq", 4, 128),
        ({"quant_method": "AWQ", "w_bit": 4, "q_group_size": 64}, "int4_awq", 4, 64),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "int4_gptq", 4, 128),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1}, "int4_gptq", 4, None),
        ({"quant_method": "gptq", "bits": 8, "group_size": 128}, "int8_wo", 8, 128),
        ({"quant_method": "gptq", "bits": 3, "group_size": 128}, None, 3, 128),
        ({"quant_method": "auto-round", "bits": 4, "packing_format": "auto_round:auto_awq"}, "int4_awq", 4, None),
        ({"quant_method": "fp8", "activation_scheme": "static"}, "fp8", 8, None),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8_block", 8, 128),
        ({"quant_method": "fbgemm_fp8"}, "fp8", 8, None),
        ({"quant_method": "mxfp4"}, "mxfp4", 4, 32),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4_wo", 4, 64),
        ({"load_in_8bit": True}, "int8_wo", 8, None),
        ({"quant_method": "hqq", "bits": 4}, None, 4, None),
        ({"bits": 4}, None, 4, None),
        (group(INT4), "int4_gptq", 4, 128),
        (group({**INT4, "symmetric": False}), "int4_awq", 4, 128),
        (group(INT4, FLOAT8), "w4a8_awq", 4, 128),
        (group({"num_bits": 8, "type": "int"}, {"num_bits": 8, "type": "int"}), "int8_sq", 8, None),
        ({**group({"num_bits": 8, "type": "int"}), "format": "int-quantized"}, "int8_sq", 8, None),
        ({**group({"num_bits": 8, "type": "int"}), "format": "pack-quantized"}, "int8_wo", 8, None),
        (group(FLOAT8, FLOAT8), "fp8", 8, None),
        (group({**FLOAT8, "strategy": "block", "block_structure": [128, 128]}), "fp8_block", 8, 128),
        (group({"num_bits": 4, "type": "float", "group_size": 16}), "nvfp4", 4, 16),
        (
            {**group({"num_bits": 4, "type": "float", "group_size": 32}), "format": "mxfp4-pack-quantized"},
            "mxfp4",
            4,
            32,
        ),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16}, "nvfp4", 4, 16),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, None, None, None),
        ({"producer": {"name": "modelopt"}, "quant_algo": "FP8"}, "fp8", 8, None),
    ],
)
def test_what_configs_say(config: dict[str, Any], name: str | None, bits: int | None, size: int | None) -> None:
    quantization = quantization_of(**config)
    assert (quantization.format, quantization.bits, quantization.group_size) == (name, bits, size)


def test_groups_that_differ_are_mixed() -> None:
    groups = {"a": {"weights": INT4}, "b": {"weights": FLOAT8}}
    quantization = quantization_of(quant_method="compressed-tensors", config_groups=groups)
    assert (quantization.format, quantization.bits, quantization.detail) == ("fp8", None, "mixed precision")
    unknown = {**groups, "c": {"weights": {"num_bits": 3, "type": "int"}}}
    assert quantization_of(quant_method="compressed-tensors", config_groups=unknown).format is None


def test_mixed_precision_of_modelopt_counts_as_its_widest_format() -> None:
    layers = {"layers.0.q_proj": {"quant_algo": "FP8"}, "layers.0.mlp": {"quant_algo": "NVFP4", "group_size": 16}}
    mixed = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
    assert (quantization_of(**mixed).format, quantization_of(**mixed).detail) == ("fp8", "mixed precision")
    parts = {
        "model.layers.0.self_attn.k_proj": "FP8",
        "model.layers.0.linear_attn.in_proj_qkv": "FP8",
        "model.layers.0.mlp.up_proj": "NVFP4",
        "model.layers.1.mlp.up_proj": "W4A16_NVFP4",
        "model.layers.2.mlp.experts": "W4A16_NVFP4",
        "model.layers.3.mlp.experts": "FP8",
        "lm_head": "W4A16_NVFP4",
    }
    each = {**mixed, "quantized_layers": {module: {"quant_algo": name} for module, name in parts.items()}}
    assert quantization_of(**each).parts == (("head", "nvfp4"), ("mlp", "nvfp4"))
    strange = {**mixed, "quantized_layers": {**layers, "layers.1": {"quant_algo": "MXFP8"}}}
    assert quantization_of(**strange).format is None


@pytest.mark.parametrize(
    ("config", "reordered"),
    [
        ({"quant_method": "gptq", "bits": 4, "desc_act": True}, True),
        ({"quant_method": "gptq", "bits": 4, "desc_act": False}, False),
        (group({**INT4, "actorder": "group"}), True),
        (group({**INT4, "actorder": "weight"}), False),
    ],
)
def test_activation_order(config: dict[str, Any], reordered: bool) -> None:
    assert quantization_of(**config).desc_act is reordered


@pytest.mark.parametrize(
    ("config", "dtype"),
    [
        ({**group(FLOAT8), "kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"),
        ({**group(FLOAT8), "kv_cache_scheme": None}, None),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"producer": {"name": "modelopt"}, "quant_algo": "FP8", "kv_cache_scheme": "FP8"}, "fp8"),
    ],
)
def test_scales_for_the_kv_cache(config: dict[str, Any], dtype: str | None) -> None:
    assert quantization_of(**config).kv_dtype == dtype


@pytest.mark.parametrize(
    ("algorithm", "name", "size"),
    [("W4A16_AWQ", "int4_awq", 128), ("W4A8_AWQ", "w4a8_awq", 128), ("INT8_SQ", "int8_sq", None), ("NEW", None, None)],
)
def test_modelopts_own_file(algorithm: str, name: str | None, size: int | None) -> None:
    quantization = of_modelopt({"quantization": {"quant_algo": algorithm, "kv_cache_quant_algo": "FP8"}})
    assert quantization is not None
    assert (quantization.format, quantization.group_size, quantization.kv_dtype) == (name, size, "fp8")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = ["quant_method", "bits", "group_size", "config_groups", "weight_block_size", "quant_algo", "kv_cache_scheme"]
METHODS = st.sampled_from(["awq", "gptq", "fp8", "modelopt", "compressed-tensors", "bitsandbytes", "mxfp4"])
WEIGHTS = st.dictionaries(st.sampled_from(["num_bits", "type", "group_size", "block_structure", "actorder"]), JSON)
GROUPS = st.dictionaries(st.text(max_size=3), st.fixed_dictionaries({"weights": WEIGHTS | JSON}), max_size=3)


@given(st.dictionaries(st.sampled_from(FIELDS), JSON), METHODS, GROUPS | JSON)
def test_any_json_is_described(config: dict[str, Any], method: str, groups: Any) -> None:
    for made in (config, {**config, "quant_method": method, "config_groups": groups}):
        quantization = of_config({"quantization_config": made})
        assert quantization is None or quantization.group_size is None or quantization.group_size > 0


# --- from the headers ------------------------------------------------------------------------------------------------


def tensor(name: str, dtype: str, *shape: int) -> Tensor:
    return Tensor(name, dtype, shape, 0)


P = "model.layers.0.mlp.down_proj"


@pytest.mark.parametrize(
    ("tensors", "method", "name", "size"),
    [
        ([(f"{P}.qweight", "I32", 4096, 512), (f"{P}.scales", "F16", 32, 4096)], "awq", "int4_awq", 128),
        (
            [
                (f"{P}.qweight", "I32", 512, 4096),
                (f"{P}.scales", "F16", 32, 4096),
                (f"{P}.qzeros", "I32", 32, 512),
                (f"{P}.g_idx", "I32", 4096),
            ],
            "gptq",
            "int4_gptq",
            128,
        ),
        (
            [
                (f"{P}.qweight", "I32", 1024, 4096),
                (f"{P}.scales", "F16", 1, 4096),
                (f"{P}.qzeros", "I32", 1, 1024),
                (f"{P}.g_idx", "I32", 4096),
            ],
            "gptq",
            "int8_wo",
            None,
        ),
        ([(f"{P}.weight", "U8", 4096, 2048), (f"{P}.weight_scale", "F8_E4M3", 4096, 256)], "modelopt", "nvfp4", 16),
        ([(f"{P}.weight", "F8_E4M3", 4096, 4096), (f"{P}.weight_scale", "F32")], "fp8", "fp8", None),
        ([(f"{P}.weight", "F8_E4M3", 4096, 4096), (f"{P}.weight_scale_inv", "F32", 32, 32)], "fp8", "fp8_block", 128),
        ([(f"{P}.weight", "I8", 64, 64), (f"{P}.weight_scale", "F32", 64, 1)], "compressed-tensors", "int8_sq", None),
        ([("a.experts.down_proj_blocks", "U8", 9), ("a.experts.down_proj_scales", "U8", 3)], "mxfp4", "mxfp4", 32),
        ([(f"{P}.weight", "U8", 99), (f"{P}.weight.absmax", "U8", 9)], "bitsandbytes", "int4_wo", 64),
        ([(f"{P}.weight", "I8", 9, 9), (f"{P}.SCB", "F32", 9)], "bitsandbytes", "int8_wo", None),
    ],
)
def test_what_headers_show(tensors: list[Any], method: str, name: str, size: int | None) -> None:
    quantization = tensor_parts.quantization([tensor(*fields) for fields in tensors])
    assert quantization is not None
    assert (quantization.method, quantization.format, quantization.group_size) == (method, name, size)


def test_headers_of_plain_weights_show_nothing() -> None:
    assert (
        tensor_parts.quantization([tensor(f"{P}.weight", "BF16", 8, 8), tensor("lm_head.weight", "BF16", 8, 8)]) is None
    )
    assert tensor_parts.quantization([tensor(f"{P}.qweight", "I32", 0, 8), tensor(f"{P}.scales", "F16", 0, 8)]) is None


KIMI = ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"]


@pytest.mark.parametrize(
    ("ignore", "parts"),
    [
        (KIMI, ["attention", "key_value", "latent", "shared", "mlp"]),
        (["lm_head", "model.layers.0.mlp.down_proj", "re:model.layers.3.self_attn.*"], []),
        (["re:.*self_attn.q_proj.*", "*.mlp.gate", "*shared_expert_gate*"], []),
        (["*self_attn*", "*mlp.shared_expert*"], ["attention", "key_value", "latent", "shared"]),
        (["(a+)+$" * 50, {"a": 1}, None, 5, "re:(", "\\"], []),
        ("self_attn", []),
    ],
)
def test_modules_left_in_16_bits(ignore: object, parts: list[str]) -> None:
    weights = {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": True}
    stored = {
        "quant_method": "compressed-tensors",
        "config_groups": {"group_0": {"weights": weights}},
        "ignore": ignore,
    }
    quantization = of_config({"quantization_config": stored})
    assert quantization
    assert quantization.parts == tuple((part, "none") for part in parts)
    assert not quantization.zero_points
