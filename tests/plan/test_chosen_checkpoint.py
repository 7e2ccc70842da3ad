from __future__ import annotations

from dataclasses import replace

import pytest

from tests.values import CHOICE
from wizard.advise.advice import Choice
from wizard.model.refs import parse_ref
from wizard.model.shipped_configs import shipped
from wizard.plan.chosen_checkpoint import checkpoint_of

FACTS = shipped(parse_ref("meta-llama/Llama-3.1-8B-Instruct"), "not asked")
AWQ = replace(CHOICE, stack="vllm", runtime="docker", quantization="int4_awq", dtype="float16")


def test_a_ready_repository_takes_the_models_place() -> None:
    assert FACTS is not None
    chosen, (note,) = checkpoint_of(FACTS, AWQ)
    assert chosen.location == "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4"
    assert chosen.ref == FACTS.ref
    assert chosen.quantization is not None
    assert (chosen.quantization.format, chosen.gated) == ("int4_awq", None)
    assert chosen.location in note


@pytest.mark.parametrize(
    "choice",
    [
        replace(AWQ, quantization="none"),
        replace(AWQ, stack="trtllm-engine"),  # quantises by itself
        replace(AWQ, quantization="w4a8_awq"),  # nobody is known to publish it
    ],
)
def test_otherwise_the_model_stays(choice: Choice) -> None:
    assert FACTS is not None
    assert checkpoint_of(FACTS, choice) == (FACTS, ())


def test_a_model_on_this_disk_stays() -> None:
    assert FACTS is not None
    here = replace(FACTS, local=True, location="/models/llama")
    assert checkpoint_of(here, AWQ) == (here, ())
