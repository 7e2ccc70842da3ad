"""Checkpoints of 2025 and 2026 described from their own config.json (aiconfigurator-core 0.12.0, ``model_configs``)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.model.test_parameters import PUBLIC, facts_of
from wizard.model.formats import loaded_bytes

FILE = Path(__file__).parent / "configs" / "checkpoints.json"
CHECKPOINTS: dict[str, dict[str, Any]] = json.loads(FILE.read_text())


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint_is_described_with_the_parameters_of_its_shape(name: str) -> None:
    case = CHECKPOINTS[name]
    facts = facts_of(case["config"])
    assert not {"anatomy", "architecture", "parameters", "speed"} & set(facts.unknown)
    shape = PUBLIC[case["shape"]]["expected"] if case["shape"] else case["parameters"]
    assert facts.parameters == case["parameters"] == shape
    assert (facts.quantization and facts.quantization.format) == case["format"]
    assert (loaded_bytes(facts) or 0) > 0.5 * case["parameters"]


@pytest.mark.parametrize(
    ("name", "parts", "gigabytes"),
    [
        ("nvidia/Kimi-K2.5-NVFP4", {"attention", "key_value", "latent"}, 589.8),
        ("nvidia/Qwen3.5-397B-A17B-NVFP4", {"attention", "key_value", "latent", "shared"}, 237.0),
    ],
)
def test_modules_that_each_layer_leaves_in_16_bits(name: str, parts: set[str], gigabytes: float) -> None:
    facts = facts_of(CHECKPOINTS[name]["config"])
    assert facts.quantization
    assert {part for part, name in facts.quantization.parts if name == "none"} == parts
    assert (loaded_bytes(facts) or 0) / 1e9 == pytest.approx(gigabytes, rel=0.001)
