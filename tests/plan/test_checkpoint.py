"""What a stack cannot do with a checkpoint is refused while planning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.stack_values import FACTS, VLLM
from wizard.kernel.errors import InfeasibleError
from wizard.model.facts import Quantization, WeightFile
from wizard.plan.checkpoint import check

AWQ = Quantization("awq", 4, format="int4_awq")
OTHER = Quantization("bitnet", 2)
"""A method that the wizard has no name of its own for."""
PICKLE, SAFE = WeightFile("a.bin", None, "pickle"), WeightFile("a.safetensors", None, "safetensors")

STORED = "org/model is stored as {}; vLLM serves it as is, not as {}"
MODEL = replace(FACTS, ref="org/model")


@pytest.mark.parametrize(
    ("stored", "chosen"),
    [(None, "none"), (None, None), (None, "fp8"), (AWQ, "int4_awq"), (OTHER, "bitnet")],
)
def test_weights_are_served_as_they_are_stored_or_as_the_stack_loads_them(
    stored: Quantization | None, chosen: str | None
) -> None:
    check(replace(VLLM, quantization=chosen), replace(MODEL, quantization=stored))


@pytest.mark.parametrize(
    ("stored", "chosen", "problem", "todo"),
    [
        (None, "int4_awq", STORED.format("16-bit weights", "int4_awq"), "--quantization none, or"),
        (AWQ, "none", STORED.format("int4_awq", "16-bit weights"), "--quantization int4_awq, or"),
        (AWQ, None, STORED.format("int4_awq", "16-bit weights"), "as 16-bit weights."),
        (AWQ, "fp8", STORED.format("int4_awq", "fp8"), "as fp8."),
        (OTHER, "fp8", STORED.format("bitnet", "fp8"), "--quantization bitnet, or"),
    ],
)
def test_another_format_than_the_stored_one_is_refused(
    stored: Quantization | None, chosen: str | None, problem: str, todo: str
) -> None:
    with pytest.raises(InfeasibleError) as caught:
        check(replace(VLLM, quantization=chosen), replace(MODEL, quantization=stored))
    assert (caught.value.code, caught.value.what) == ("TW-L30", problem)
    assert todo in caught.value.todo


@pytest.mark.parametrize(
    ("heads", "layers", "tp", "pp", "problem"),
    [
        (32, 32, 1, 1, ""),
        (32, 4, 4, 4, ""),
        (None, None, 3, 99, ""),
        (32, 4, 3, 1, "32 attention heads cannot be split evenly across 3 GPUs"),
        (32, 4, 1, 5, "4 layers cannot be split into 5 pipeline stages"),
    ],
)
def test_a_split_divides_the_model(heads: int | None, layers: int | None, tp: int, pp: int, problem: str) -> None:
    choice, facts = replace(VLLM, tp=tp, pp=pp), replace(MODEL, heads=heads, layers=layers)
    if not problem:
        check(choice, facts)
        return
    with pytest.raises(InfeasibleError) as caught:
        check(choice, facts)
    assert (caught.value.code, caught.value.what) == ("TW-L32", problem)


def test_pickle_files_are_not_served() -> None:
    check(VLLM, replace(MODEL, weights=(PICKLE, SAFE)))
    check(VLLM, replace(MODEL, weights=()))
    with pytest.raises(InfeasibleError, match="org/model has no safetensors: its weights are pickle files") as caught:
        check(VLLM, replace(MODEL, weights=(PICKLE,)))
    assert caught.value.code == "TW-L33"
