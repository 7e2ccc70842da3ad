"""The type of a recurrent state, which each engine chooses differently."""

from __future__ import annotations

from typing import Any

import pytest

from tests.advise.worlds import machine
from tests.model.test_parameters import PUBLIC, anatomy_of, facts_of
from wizard.advise import memory
from wizard.advise.devices import devices
from wizard.advise.setup import Setup

NEXT, KIMI, JAMBA = "Qwen/Qwen3-Next-80B-A3B-Instruct", "moonshotai/Kimi-K3", "ai21labs/Jamba-v0.1"
NANO, HYBRID = "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "transformers/granitemoehybrid"
QWEN35 = "Qwen/Qwen3.5-35B-A3B"


def element_bytes(stack: str, model: str, dtype: str = "bfloat16", **changes: Any) -> float:
    """Bytes of an element of the state."""
    config = PUBLIC[model]["config"]
    anatomy = anatomy_of({**config, **config.get("text_config", {}), "text_config": None}, **changes)
    (group,) = (group for group in anatomy.attention if group.state)
    assert group.state
    setup = Setup(stack, dtype, "none")
    columns = group.state.columns * setup.element_bytes
    return (memory.state_bytes(group, setup) - columns) / group.state.elements


@pytest.mark.parametrize(
    ("model", "changes", "vllm", "sglang", "trtllm"),
    [
        (NEXT, {}, 2, 4, 2),
        (QWEN35, {"mamba_ssm_dtype": None}, 2, 4, 2),
        (QWEN35, {"mamba_ssm_dtype": "float32"}, 4, 4, 4),
        (NANO, {"mamba_ssm_cache_dtype": None}, 4, 4, 2),
        (NANO, {"mamba_ssm_cache_dtype": "bfloat16"}, 2, 4, 2),
        (HYBRID, {}, 2, 4, 2),
        (KIMI, {}, 4, 4, 2),
        (JAMBA, {}, 2, 4, 2),
    ],
)
def test_the_type_follows_engine_and_config(
    model: str, changes: dict[str, Any], vllm: int, sglang: int, trtllm: int
) -> None:
    widths = [element_bytes(stack, model, **changes) for stack in ("vllm", "sglang", "trtllm-llmapi")]
    assert widths == [vllm, sglang, trtllm]


def test_the_models_own_type_may_be_wider() -> None:
    assert element_bytes("vllm", NEXT, "float32") == 4


def test_an_invented_type_is_not_read() -> None:
    assert element_bytes("vllm", QWEN35, mamba_ssm_dtype="float4") == 2


def test_kv_tokens_of_qwen3_next_on_an_h200() -> None:
    # Reported by vLLM 0.26.0 for 24 layers, max_model_len 8192, gpu_memory_utilization 0.85 (docs/advice.md)
    config = {name: value for name, value in PUBLIC[NEXT]["config"].items() if name != "layer_types"}
    facts = facts_of({**config, "num_hidden_layers": 24, "full_attention_interval": 4})
    assert facts.anatomy
    device, setup = devices(machine("1xH200"))[0], Setup("vllm", "bfloat16", "none")
    budget = int(0.85 * device.total_bytes) + memory.outside(facts.anatomy, setup, 64)
    bill = memory.bill(facts, facts.anatomy, device, setup, 64, 8192, budget)
    assert bill.kv_capacity_tokens == pytest.approx(2_922_819, rel=0.03)
