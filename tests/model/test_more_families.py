"""What families of ``wizard.model.more_families`` keep, and DeepSeek V4's compressed rows."""

from __future__ import annotations

import pytest

from tests.model.test_parameters import PUBLIC, anatomy_of, facts_of, public
from wizard.kernel.errors import WizardError
from wizard.model.anatomy import Attention, State
from wizard.model.formats import weight_bytes
from wizard.model.report import text

V4 = PUBLIC["deepseek-ai/DeepSeek-V4-Flash"]["config"]


@pytest.mark.parametrize("name", [name for name in PUBLIC if "source" in PUBLIC[name]])
def test_every_configuration_is_of_a_known_family(name: str) -> None:
    assert not {"anatomy", "architecture", "speed"} & set(facts_of(PUBLIC[name]["config"]).unknown)


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("CohereForAI/aya-23-8B", [(32, 8, None)]),
        ("transformers/cohere2", [(10, 64, None), (30, 64, 4096)]),
        ("LGAI-EXAONE/EXAONE-4.0-32B", [(16, 8, None), (48, 8, 4096)]),
        ("EleutherAI/gpt-neo-1.3B", [(12, 16, None), (12, 16, 256)]),
        ("THUDM/chatglm3-6b", [(28, 2, None)]),
        ("bigcode/gpt_bigcode-santacoder", [(24, 1, None)]),
        ("HuggingFaceTB/SmolLM3-3B", [(36, 4, None)]),
        ("ai21labs/Jamba-v0.1", [(4, 8, None), (28, 0, None)]),
        ("LiquidAI/LFM2.5-VL-1.6B", [(6, 8, None), (10, 0, None)]),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", [(7, 1, None), (20, 0, None)]),
        ("moonshotai/Kimi-K3", [(24, 1, None), (69, 0, None)]),
    ],
)
def test_what_layers_keep(name: str, groups: list[tuple[int, int, int | None]]) -> None:
    assert [(group.layers, group.kv_heads, group.window) for group in public(name).attention] == groups


@pytest.mark.parametrize(
    ("name", "state"),
    [  # vLLM 0.33, mamba_utils.py: kda_state_shape, mamba1_state_shape, short_conv_state_shape, for one layer
        ("moonshotai/Kimi-K3", State("delta", 96 * 128 * 128, 3 * 3 * 96 * 128)),
        ("ai21labs/Jamba-v0.1", State("mamba", 8192 * 16, 3 * 8192)),
        ("LiquidAI/LFM2.5-VL-1.6B", State("convolution", 0, 2 * 2048)),
    ],
)
def test_recurrent_states_are_those_that_vllm_keeps(name: str, state: State) -> None:
    assert [group.state for group in public(name).attention if group.state] == [state]


def test_deepseek_v4_keeps_a_window_and_compressed_rows() -> None:
    def pending(rows: int, width: int, halves: int) -> int:
        return rows * 2 * halves * width * 4

    assert public("deepseek-ai/DeepSeek-V4-Flash").attention == (
        Attention(2, 1, 512, 512, window=128, latent=512),
        Attention(
            21,
            1,
            512,
            512,
            window=128,
            latent=512,
            index_bytes=128 + 4,
            tokens_per_row=4,
            pending_bytes=pending(8, 512, 2) + pending(8, 128, 2),
        ),
        Attention(20, 1, 512, 512, window=128, latent=512, tokens_per_row=128, pending_bytes=pending(128, 512, 1)),
    )
    assert "one row for every 128" in " ".join(text(facts_of(V4)).split())


def test_experts_of_deepseek_v4_have_a_format_of_their_own() -> None:
    facts = facts_of({**V4, "expert_dtype": "fp4", "quantization_config": {"quant_method": "fp8", "fmt": "e4m3"}})
    assert facts.quantization
    assert facts.anatomy
    assert (facts.quantization.format, facts.quantization.parts) == ("fp8", (("experts", "mxfp4"),))
    weights = weight_bytes(facts, facts.anatomy, "fp8")
    assert weights.experts == round(facts.anatomy.parts.experts * 4.25 / 8)  # int8 pairs, and a scale for 32 of them
    assert weights.attention == facts.anatomy.parts.attention


@pytest.mark.parametrize("ratios", [[3] * 43, ["many"] * 43, [4] * 10, "4"])
def test_a_ratio_that_the_library_has_not_is_an_error(ratios: object) -> None:
    with pytest.raises(WizardError) as error:
        facts_of({**V4, "compress_ratios": ratios})
    assert error.value.code == "TW-M05"


def test_without_ratios_deepseek_v4_is_not_counted() -> None:
    facts = facts_of({key: value for key, value in V4.items() if key != "compress_ratios"})
    assert (facts.anatomy, facts.parameters) == (None, None)


def test_granite_without_experts_has_a_shared_feed_forward_alone() -> None:
    config = PUBLIC["transformers/granitemoehybrid"]["config"]
    anatomy = anatomy_of(config, num_local_experts=0)
    assert (anatomy.experts, anatomy.intermediate) == (0, 1024)
    assert anatomy.parts.mlp == 32 * 3 * 4096 * 1024


def test_nemotrons_layers_have_other_names_in_transformers_5() -> None:
    config = PUBLIC["nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"]["config"]
    letters = {"M": "linear_attention", "*": "full_attention", "E": "moe", "-": "mlp"}
    named = [letters[each] for each in config["hybrid_override_pattern"]]
    other = {**config, "hybrid_override_pattern": None, "layers_block_type": named}
    assert anatomy_of(other) == anatomy_of(config)


def test_the_library_names_deepseek_v4_s_layers() -> None:
    names = {0: "sliding_attention", 4: "compressed_sparse_attention", 128: "heavily_compressed_attention"}
    layers = [names[ratio] for ratio in V4["compress_ratios"]]
    facts = facts_of({**V4, "compress_ratios": None, "layer_types": layers[: V4["num_hidden_layers"]]})
    assert not {"anatomy", "speed"} & set(facts.unknown)
    assert facts.anatomy
    assert facts.anatomy.attention == public("deepseek-ai/DeepSeek-V4-Flash").attention


def test_falcon_h1_s_layers_have_both() -> None:
    (group,) = public("transformers/falcon_h1").attention
    assert (group.layers, group.kv_heads) == (32, 8)
    assert group.state == State("mamba2", 128 * 8 * 256, 3 * (1024 + 2 * 256))
    assert "32 of 32 layers also keep a state" in " ".join(
        text(facts_of(PUBLIC["transformers/falcon_h1"]["config"])).split()
    )


def test_an_unknown_family_may_have_layers_of_any_name() -> None:
    config = PUBLIC["meta-llama/Llama-3.1-8B"]["config"]
    other = {**config, "model_type": "zamba", "architectures": ["ZambaForCausalLM"]}
    facts = facts_of({**other, "layers_block_type": ["hybrid", "other"] * 16})
    assert facts.anatomy
    assert "ZambaForCausalLM" in facts.unknown["anatomy"]
