"""Methods of quantization that a release of the engine has, or has no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.advise.test_boundaries import H100
from wizard.advise.needs import needed, too_old
from wizard.advise.setup import Setup
from wizard.model.facts import ModelFacts, Quantization

FACTS = ModelFacts("r", "hub", "r", "n", "LlamaForCausalLM", 8_000_000_000, dtype="bfloat16")


def codes(method: str, form: str, engine: str, stack: str = "vllm", capability: tuple[int, int] = (9, 0)) -> set[str]:
    facts = replace(FACTS, quantization=Quantization(method, format=form))
    device, setup = replace(H100, compute_capability=capability), Setup(stack, "float16", form)
    return {each.reason.code for each in too_old(needed(facts, device, setup), setup, engine, None)}


@pytest.mark.parametrize(
    ("method", "form", "engine", "reasons"),
    [  # vllm/model_executor/layers/quantization/__init__.py of the wheels 0.27.1, 0.28.0 and 0.33.0
        ("bitsandbytes", "int4_wo", "0.27.1", set()),
        ("bitsandbytes", "int4_wo", "0.28.0", {"too-new"}),
        ("bitsandbytes", "int8_wo", "0.33.0", {"too-new"}),
        ("gptq", "int8_wo", "0.33.0", set()),
        ("eetq", "int8_wo", "0.33.0", {"no-method"}),
        ("something-else", "int8_wo", "0.33.0", set()),
    ],
)
def test_a_release_has_to_name_the_method(method: str, form: str, engine: str, reasons: set[str]) -> None:
    assert codes(method, form, engine) == reasons


def test_sglang_still_names_bitsandbytes() -> None:
    assert codes("bitsandbytes", "int4_wo", "0.5.17", "sglang") == set()


def test_modelopts_fp8_is_unpacked_on_ampere_since_a_release() -> None:
    assert codes("modelopt", "fp8", "0.27.1", capability=(8, 0)) == set()
    assert codes("modelopt", "fp8", "0.24.0", capability=(8, 0)) == {"too-old"}
    assert codes("fp8", "fp8", "0.24.0", capability=(8, 0)) == set()
    assert codes("modelopt", "fp8", "0.24.0", capability=(8, 9)) == set()
