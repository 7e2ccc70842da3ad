from __future__ import annotations

from dataclasses import replace

import pytest

from tests.values import CHOICE, CPU_HOST, GGUF
from wizard.plan.remote_code import notes
from wizard.stacks.trtllm_engine import plan as trtllm_engine

OWN = replace(GGUF, location="someone/model", local=False, needs_remote_code=True, architecture="PhiForCausalLM")


@pytest.mark.parametrize("stack", ["vllm", "transformers", "trtllm-llmapi"])
def test_an_architecture_that_engines_know_needs_none_of_it(stack: str) -> None:
    assert notes(replace(CHOICE, stack=stack), CPU_HOST, replace(OWN, architecture="LlamaForCausalLM")) == ()


def test_an_architecture_that_only_another_engine_knows_has_a_note() -> None:
    deci = replace(OWN, architecture="DeciLMForCausalLM")
    assert notes(replace(CHOICE, stack="vllm"), CPU_HOST, deci) == ()
    assert (
        "for DeciLMForCausalLM. This code is not run" in notes(replace(CHOICE, stack="transformers"), CPU_HOST, deci)[0]
    )


@pytest.mark.parametrize("stack", ["vllm", "transformers", "trtllm-llmapi"])
def test_a_note_says_that_it_is_not_run_where_it_may_be_needed(stack: str) -> None:
    (note,) = notes(replace(CHOICE, stack=stack), CPU_HOST, replace(OWN, architecture="TheirOwnForCausalLM"))
    assert "for TheirOwnForCausalLM. This code is not run" in note


def test_a_model_whose_architecture_is_unknown_has_a_note_too() -> None:
    (note,) = notes(replace(CHOICE, stack="vllm"), CPU_HOST, replace(OWN, architecture=None))
    assert "its own Python code for its architecture. This code is not run" in note


def test_scripts_that_may_run_it_have_a_note() -> None:
    note, _ended = trtllm_engine.notes(replace(CHOICE, stack="trtllm-engine"), CPU_HOST, OWN)
    assert "https://huggingface.co/someone/model" in note


def test_models_without_it_have_no_note() -> None:
    without = replace(OWN, needs_remote_code=False)
    assert notes(replace(CHOICE, stack="vllm"), CPU_HOST, without) == ()
    assert len(trtllm_engine.notes(replace(CHOICE, stack="trtllm-engine"), CPU_HOST, without)) == 1
