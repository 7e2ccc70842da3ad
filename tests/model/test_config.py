from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.gguf_bytes import LLAMA_CONFIG, folder
from wizard.kernel.errors import ModelError, WizardError
from wizard.kernel.values import to_data
from wizard.model import local
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.model.quantization import of_modelopt

CASES = sorted((Path(__file__).parent.parent / "cases" / "models").glob("*.json"))
NOTHING = ModelFacts("r", "folder", "here", "n", None, None)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_configs_of_real_models(path: Path) -> None:
    case = json.loads(path.read_text())
    facts = describe(NOTHING, case["config"])
    data = to_data(facts)
    assert {name: data[name] for name in case["facts"]} == case["facts"]
    assert set(facts.unknown) >= set(case["unknown"])
    unexplained = [name for name in case["facts"] if data[name] is None and name not in facts.unknown]
    assert set(unexplained) <= {"experts", "quantization", "dtype"}


@pytest.mark.parametrize(
    ("algorithm", "bits"), [("FP8", 8.0), ("NVFP4", 4.0), ("W4A16_AWQ", 4.0), ("INT8_SQ", 8.0), ("NEW", None)]
)
def test_modelopts_own_file(algorithm: str, bits: float | None) -> None:
    quantization = of_modelopt({"quantization": {"quant_algo": algorithm}})
    assert quantization is not None
    assert (quantization.method, quantization.bits, quantization.detail) == ("modelopt", bits, algorithm)
    assert of_modelopt({"quantization": "FP8"}) is None


@pytest.mark.parametrize("field", ["num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"])
@pytest.mark.parametrize(
    "value",
    [-1, 0, 10**12, 2.5, float("nan"), float("inf"), "32", True, [], [[1]], ["a"], [-1, 4], {"a": 1}, 10**5000],
    ids=lambda value: repr(value)[:12] if not isinstance(value, int) or abs(value) < 10**20 else "digits",
)
def test_values_that_cannot_be_are_refused_as_tw_m05(field: str, value: object) -> None:
    with pytest.raises(ModelError) as caught:
        describe(NOTHING, {**LLAMA_CONFIG, field: value})
    assert caught.value.code == "TW-M05"
    assert field in caught.value.what
    assert len(caught.value.what) < 300


def test_a_million_layers_are_refused() -> None:
    with pytest.raises(ModelError, match="1000000"):
        describe(NOTHING, {**LLAMA_CONFIG, "num_hidden_layers": 10**6})


def test_numbers_for_each_layer_give_the_largest() -> None:
    facts = describe(NOTHING, {**LLAMA_CONFIG, "num_key_value_heads": [1, 2, 0], "num_hidden_layers": 3.0})
    assert (facts.kv_heads, facts.layers) == (2, 3)


@pytest.mark.parametrize("missing", ["num_hidden_layers", "hidden_size", "vocab_size", "intermediate_size"])
def test_what_is_missing_is_unknown_and_so_is_the_count(missing: str) -> None:
    facts = describe(NOTHING, {name: value for name, value in LLAMA_CONFIG.items() if name != missing})
    assert facts.parameters is None
    assert missing in " ".join(facts.unknown.values())
    assert "lacks a field" in facts.unknown["parameters"]


ODD: list[tuple[bytes, str]] = [
    (b"", "JSON"),
    (b"[1]", "a list"),
    (b'{"a": 1, "a": 2}', "duplicate key"),
    (b'{"a": ' * 100_000, "JSON"),
    (b"[" * 100_000 + b"]" * 100_000, "deep"),
    (b'{"a": "\xff"}', "utf-8"),
    (b"\x00" * 100, "JSON"),
    (b'{"num_hidden_layers": ' + b"9" * 10_000 + b"}", "JSON"),
    (b" " * 10_000_001, "10 MB"),
]


@pytest.mark.parametrize(("raw", "says"), ODD, ids=range(len(ODD)))
def test_files_that_are_no_config_are_refused_as_tw_m04(tmp_path: Path, raw: bytes, says: str) -> None:
    with pytest.raises(ModelError) as caught:
        local.of_path(folder(tmp_path / "m", config__json=raw), "m")
    assert caught.value.code == "TW-M04"
    assert says in str(caught.value)
    assert len(str(caught.value)) < 600


def test_json_constants_that_json_has_not(tmp_path: Path) -> None:
    made = folder(tmp_path / "m", config__json=b'{"num_hidden_layers": NaN}')
    with pytest.raises(ModelError) as caught:
        local.of_path(made, "m")
    assert caught.value.code == "TW-M05"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
FIELDS = [*LLAMA_CONFIG, "dtype", "quantization_config", "text_config", "rope_scaling", "auto_map", "num_experts"]


@given(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6))
def test_any_json_gives_facts_or_a_wizard_error(change: dict[str, Any]) -> None:
    try:
        facts = describe(NOTHING, {**LLAMA_CONFIG, **change})
    except WizardError:
        return
    assert facts.layers is None or 0 < facts.layers <= 10_000
    assert facts.architecture is None or facts.architecture.isprintable()
