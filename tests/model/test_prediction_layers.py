"""Layers for multi-token prediction: their parameters and cache, and the models whose layers are not counted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.advise.worlds import facts_of
from wizard.kernel.errors import ModelError


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
    facts = facts_of(model)
    assert facts.anatomy is not None
    assert facts.prediction is not None
    parts = facts.prediction.parts
    assert (facts.prediction.layers, parts.embedding, parts.head) == (1, 0, 0)
    assert parts.total == pytest.approx(billions * 1e9, rel=0.002)
    own = facts.anatomy
    if own.moe_layers:
        assert parts.experts * own.moe_layers == own.parts.experts
    assert facts.prediction.attention[0].index_bytes == max(group.index_bytes for group in own.attention)
    assert (facts.prediction.attention[0].latent, facts.prediction.attention[0].kv_heads) == (
        own.attention[0].latent,
        own.attention[0].kv_heads,
    )


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("meta-llama/Llama-3.1-8B", {}),
        ("meta-llama/Llama-3.1-8B", {"num_nextn_predict_layers": 1}),
        ("deepseek-ai/DeepSeek-V3", {"num_nextn_predict_layers": 0}),
        ("deepseek-ai/DeepSeek-V3", {"num_nextn_predict_layers": None}),
    ],
)
def test_a_model_without_them_has_none(model: str, changes: dict[str, Any]) -> None:
    assert facts_of(model, **changes).prediction is None


def test_several_are_counted_and_nonsense_is_an_error() -> None:
    single, three = (facts_of("deepseek-ai/DeepSeek-V3", num_nextn_predict_layers=count).prediction for count in (1, 3))
    assert single is not None
    assert three is not None
    assert three.parts.total == 3 * single.parts.total
    with pytest.raises(ModelError):
        facts_of("deepseek-ai/DeepSeek-V3", num_nextn_predict_layers=-1)
