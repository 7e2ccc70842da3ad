"""Layers for multi-token prediction: in the checkpoint, not in memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.model.test_parameters import PUBLIC, facts_of, public
from wizard.model import tensor_parts
from wizard.model.anatomy import Parts
from wizard.model.formats import NONE, disk_bytes, loaded_bytes, predictor_bytes, weight_bytes
from wizard.model.safetensors import Tensor

HUB = {
    # Parameters of all tensors as the Hub counts them; DeepSeek's README_WEIGHTS.md: 11.5 B of the layer's own and
    # 0.9 B each of embedding and head
    "Qwen/Qwen3-Next-80B-A3B-Instruct": 81_324_862_720,
    "deepseek-ai/DeepSeek-V3": 684_489_845_504,
}


@pytest.mark.parametrize("name", HUB)
def test_with_these_layers_the_checkpoint_is_complete(name: str) -> None:
    predictor = public(name).predictor
    assert predictor
    assert public(name).parts.total + predictor.parts.total + predictor.copies == HUB[name]


def test_they_are_one_layer_with_experts_a_projection_and_three_norms() -> None:
    anatomy = public("Qwen/Qwen3.5-35B-A3B")
    predictor = anatomy.predictor
    assert predictor
    assert predictor.steps == sum(group.layers for group in predictor.attention) == 1
    assert predictor.parts.experts == anatomy.parts.experts // anatomy.layers
    assert (predictor.parts.embedding, predictor.parts.head) == (0, 0)
    assert predictor.parts.router == anatomy.parts.router // anatomy.layers + 2 * anatomy.hidden**2
    assert {group.state for group in predictor.attention} == {None}


def test_nemotrons_are_named_by_a_pattern() -> None:
    predictor = public("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8").predictor
    assert predictor
    assert [(group.layers, group.kv_heads) for group in predictor.attention] == [(1, 2), (1, 0)]


@pytest.mark.parametrize("name", ["Qwen/Qwen3-32B", "moonshotai/Kimi-K2.5", "stepfun-ai/Step-3.7-Flash"])
def test_where_none_are_stated_or_known_there_are_none(name: str) -> None:
    assert public(name).predictor is None


def test_they_are_on_disk_and_not_in_memory() -> None:
    facts = facts_of(PUBLIC["Qwen/Qwen3.5-27B"]["config"])
    assert facts.anatomy
    assert facts.anatomy.predictor
    own = predictor_bytes(facts, facts.anatomy, NONE)
    assert own.total == 2 * facts.anatomy.predictor.parts.total
    assert loaded_bytes(facts) == weight_bytes(facts, facts.anatomy, NONE).total == 2 * facts.anatomy.parts.total
    assert disk_bytes(replace(facts, weight_bytes=loaded_bytes(facts))) == 2 * facts.anatomy.parts.total + own.total


def test_the_files_tell_their_bytes() -> None:
    names = {
        **{"model.embed_tokens.weight": 100, "model.layers.0.self_attn.q_proj.weight": 10},
        **{"model.layers.1.self_attn.q_proj.weight": 7, "model.layers.1.eh_proj.weight": 5},
        **{"model.layers.1.embed_tokens.weight": 100, "model.layers.1.shared_head.head.weight": 100},
        **{"mtp.layers.0.mlp.experts.0.up_proj.weight": 3, "visual.blocks.9.mlp.up_proj.weight": 1000},
    }
    tensors = [Tensor(name, "BF16", (size,), 2 * size) for name, size in names.items()]
    predicting = tensor_parts.predictor(tensors, 1)
    assert tensor_parts.bytes_by_part(predicting, {}, None) == Parts(attention=14, other=10, experts=6)
    kept = tensor_parts.loaded(tensors, 1, tied=False)
    assert not {tensor.name for tensor in kept} & {tensor.name for tensor in predicting}


@pytest.mark.parametrize(
    ("model", "billions"),
    [
        # "11.5B unique parameters" (README_WEIGHTS.md of deepseek-ai/DeepSeek-V3), and the projection of both inputs.
        ("deepseek-ai/DeepSeek-V3", 11.61),
        ("deepseek-ai/DeepSeek-V3.2", 11.62),
        ("zai-org/GLM-5", 9.95),
        ("zai-org/GLM-5.2", 9.95),
        ("XiaomiMiMo/MiMo-7B-Base", 0.2108),
    ],
)
def test_they_are_as_large_as_a_layer_of_the_model(model: str, billions: float) -> None:
    own = public(model)
    layers = own.predictor
    assert layers is not None
    parts = layers.parts
    assert (layers.steps, parts.embedding, parts.head) == (1, 0, 0)
    assert parts.total == pytest.approx(billions * 1e9, rel=0.002)
    if own.moe_layers:
        assert parts.experts * own.moe_layers == own.parts.experts
    assert layers.attention[0].index_bytes == max(group.index_bytes for group in own.attention)
    assert (layers.attention[0].latent, layers.attention[0].kv_heads) == (
        own.attention[0].latent,
        own.attention[0].kv_heads,
    )
