from __future__ import annotations

from dataclasses import replace

import pytest

from tests.values import CHOICE, GGUF
from wizard.plan.remote_code import notes

OWN = replace(GGUF, location="someone/model", local=False, needs_remote_code=True, architecture="PhiForCausalLM")


@pytest.mark.parametrize("stack", ["vllm", "transformers", "trtllm-llmapi"])
def test_an_architecture_that_engines_know_needs_none_of_it(stack: str) -> None:
    assert notes(OWN, replace(CHOICE, stack=stack)) == ()


@pytest.mark.parametrize("stack", ["vllm", "transformers", "trtllm-llmapi"])
def test_that_it_is_not_run_is_said_where_it_may_be_needed(stack: str) -> None:
    (note,) = notes(replace(OWN, architecture="TheirOwnForCausalLM"), replace(CHOICE, stack=stack))
    assert "for TheirOwnForCausalLM, which is not run" in note


def test_scripts_that_may_run_it_are_said() -> None:
    (note,) = notes(OWN, replace(CHOICE, stack="trtllm-engine"))
    assert "https://huggingface.co/someone/model" in note


def test_nothing_is_said_of_models_without() -> None:
    assert notes(replace(OWN, needs_remote_code=False), replace(CHOICE, stack="trtllm-engine")) == ()
