from __future__ import annotations

from dataclasses import replace

import pytest

from tests.values import CHOICE
from wizard.advise.advice import Checkpoint, Choice
from wizard.model.facts import Quantization
from wizard.model.formats import weight_bytes
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
    assert chosen.quantization == Quantization("awq", 4, format="int4_awq")
    unknown = (chosen.gated, chosen.revision, chosen.stored, chosen.weights)
    assert unknown == (None, None, None, ())  # the hub says it when it is fetched
    assert note.startswith(f"The served model is {chosen.location}: {FACTS.name} in ")


def test_its_weights_are_those_of_the_whole_model_however_it_is_split() -> None:
    assert FACTS is not None
    assert FACTS.anatomy is not None
    chosen, _ = checkpoint_of(FACTS, replace(AWQ, tp=2, pp=3))
    assert chosen.weight_bytes == weight_bytes(FACTS, FACTS.anatomy, "int4_awq").total


def test_the_choices_own_checkpoint_is_fetched() -> None:
    assert FACTS is not None
    chosen, _ = checkpoint_of(FACTS, replace(AWQ, checkpoint=Checkpoint("me/mine", 5, "ready")))
    assert (chosen.location, chosen.weight_bytes) == ("me/mine", 5)


@pytest.mark.parametrize(
    "choice",
    [
        replace(AWQ, quantization="none"),
        replace(AWQ, quantization=None),
        replace(AWQ, stack="trtllm-engine"),  # quantises by itself
        replace(AWQ, stack="llamacpp"),  # serves GGUF files
        replace(AWQ, quantization="w4a8_awq"),  # nobody is known to publish it
    ],
)
def test_otherwise_the_model_stays(choice: Choice) -> None:
    assert FACTS is not None
    assert checkpoint_of(FACTS, choice) == (FACTS, ())


def test_a_model_that_is_quantized_already_stays() -> None:
    assert FACTS is not None
    quantized = replace(FACTS, quantization=Quantization("fp8", 8, format="fp8"))
    assert checkpoint_of(quantized, AWQ) == (quantized, ())


def test_a_model_on_this_disk_stays() -> None:
    assert FACTS is not None
    here = replace(FACTS, local=True, location="/models/llama")
    assert checkpoint_of(here, AWQ) == (here, ())
