"""Real configs with one field deleted, negated, huge, nested or of another type: an error with a code, or facts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wizard.kernel.errors import ModelError
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.model.formats import disk_bytes
from wizard.model.report import text

FOLDER = Path(__file__).parent / "configs"
CONFIGS: dict[str, dict[str, Any]] = {
    name: case["config"]
    for file in ("public", "more")
    for name, case in json.loads((FOLDER / f"{file}.json").read_text()).items()
}
BLOCK = {"attention": {"n_heads_in_group": 8}, "ffn": {"ffn_mult": 2.625}}
CONFIGS["nvidia/Llama-3_3-Nemotron-Super-49B-v1"] = {
    **CONFIGS["meta-llama/Llama-3.1-70B"],
    **{"model_type": "nemotron-nas", "num_hidden_layers": 2, "num_key_value_heads": None, "intermediate_size": None},
    **{"block_configs": [BLOCK, {"attention": {"n_heads_in_group": None}, "ffn": {"ffn_mult": 0.5}}]},
}
NOTHING = ModelFacts("r", "folder", "here", "n", None, None)
DELETED = object()
VALUES: tuple[Any, ...] = (
    *(DELETED, None, True, False, 0, 1, -1, -(10**30), 10**30, 10**4000, 0.5, 1e308, float("nan"), float("inf")),
    *(
        "",
        "8",
        "\x1b[2J",
        "x" * 10_000,
        [],
        [1],
        [None],
        ["a"] * 40,
        [[1]],
        [-1] * 40,
        [10**30] * 40,
        {},
        {"a": {"b": [1]}},
    ),
    *([True] * 40, [{"a": 1}] * 40, ["full_attention"] * 100_000),
)


def mutated(config: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    name, *rest = path
    inner = mutated(config[name], tuple(rest), value) if rest else value
    return {key: each for key, each in {**config, name: inner}.items() if key != name or inner is not DELETED}


def paths(config: Mapping[str, Any]) -> list[tuple[str, ...]]:
    inner = [(name, *path) for name, each in config.items() if isinstance(each, dict) for path in paths(each)]
    return [*((name,) for name in config), *inner]


def described(config: dict[str, Any]) -> None:
    try:
        facts = describe(NOTHING, config)
    except ModelError as error:
        assert (error.code, error.what.isprintable(), len(error.what) < 400) == ("TW-M05", True, True)  # noqa: PT017
        return
    assert text(facts)
    assert disk_bytes(facts) is None
    if facts.anatomy:
        parts = facts.anatomy.parts
        assert min(getattr(parts, name) for name in parts.__slots__) >= 0
        assert all(group.layers > 0 for group in facts.anatomy.attention)


@pytest.mark.parametrize("name", CONFIGS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_one_changed_field_is_described_or_a_typed_error(name: str, data: st.DataObject) -> None:
    config = CONFIGS[name]
    described(mutated(config, data.draw(st.sampled_from(paths(config))), data.draw(st.sampled_from(VALUES))))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_fields_of_one_model_in_another_are_described_or_a_typed_error(data: st.DataObject) -> None:
    first, second = (CONFIGS[data.draw(st.sampled_from(sorted(CONFIGS)))] for _ in range(2))
    taken = data.draw(st.lists(st.sampled_from(sorted(second)), max_size=8))
    described({**first, **{name: second[name] for name in taken}})
