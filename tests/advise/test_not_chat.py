"""Models that do not generate text are refused with what they are and what serves them."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from tests.advise.worlds import LLAMA_8B, facts_of, machine
from tests.worded import remedy_of, text_of
from wizard import journey
from wizard.advise.advice import Constraints
from wizard.advise.not_chat import SERVERS
from wizard.advise.ranking import advise
from wizard.advise.setup import Setup
from wizard.advise.speed import Load
from wizard.advise.verdict import verdict
from wizard.catalog import stacks
from wizard.kernel.errors import InfeasibleError
from wizard.model.task import TITLES, Task

HOST = machine("1xH100")


def test_every_task_has_a_title_and_a_server() -> None:
    assert set(TITLES) == set(SERVERS) == set(get_args(Task))


@pytest.mark.parametrize(
    ("task", "server"),
    [
        ("embedding", "--runner pooling"),
        ("reranker", "Text Embeddings Inference"),
        ("score", "--runner pooling"),
        ("classification", "--runner pooling"),
        ("reward", "--runner pooling"),
        ("encoder", "transformers"),
        ("encoder-decoder", "TensorRT-LLM"),
        ("speech", "vllm serve"),
        ("diffusion", "--omni"),
    ],
)
def test_what_does_not_chat_is_refused(task: Task, server: str) -> None:
    facts = replace(facts_of(LLAMA_8B), task=task)
    with pytest.raises(InfeasibleError) as caught:
        journey.advise(HOST, facts, Constraints())
    assert caught.value.code == "TW-A24"
    assert TITLES[task] in caught.value.what
    assert server in caught.value.todo


def test_lists_of_models_say_why() -> None:
    facts = replace(facts_of(LLAMA_8B), task="embedding")
    advice = advise(HOST, facts, Constraints())
    assert [rejection.stack for rejection in advice.rejections] == list(stacks.names())
    assert verdict(HOST, facts, advice).word == "no"
    assert "embedding model" in text_of(advice.rejections[0])
    assert "vLLM" in remedy_of(advice.rejections[0])
    only = advise(HOST, facts, Constraints(stack="vllm"))
    assert [rejection.stack for rejection in only.rejections] == ["vllm"]


def test_its_speed_is_not_estimated() -> None:
    facts = replace(facts_of(LLAMA_8B), task="reward")
    with pytest.raises(InfeasibleError, match="reward model"):
        journey.speed(HOST, facts, Setup("vllm", "bfloat16", "none", "auto", 1, 1), Load(1, 128, 128))
