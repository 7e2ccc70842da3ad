"""The load and the pace that people expect decide, and what cannot be met says what could."""

from __future__ import annotations

from typing import Any

import pytest

from tests.advise.worlds import LLAMA_8B, LLAMA_70B, facts_of, machine
from tests.worded import remedy_of, text_of
from wizard.advise.advice import Advice, Constraints
from wizard.advise.ranking import advise, recommended
from wizard.advise.service import load_of, wanted
from wizard.catalog.goals import GOALS, goal
from wizard.catalog.speed import fit


def ask(gpus: str, model: str = LLAMA_8B, **constraints: Any) -> Advice:
    return advise(machine(gpus), facts_of(model), Constraints(**constraints))


def test_a_large_model_on_eight_gpus_gets_room_and_more_than_one_of_them() -> None:
    choice = recommended(ask("8xH100", LLAMA_70B))
    assert choice.max_seq_len == 32_768
    assert choice.gpus > 1


def test_many_users_share_replicas_and_all_of_them_fit() -> None:
    choice = recommended(ask("8xH100", users=200))
    assert choice.replicas > 1
    assert 200 <= choice.users < 200 + choice.replicas


@pytest.mark.parametrize("name", GOALS)
def test_a_speed_says_the_load_of_its_goal(name: str) -> None:
    speed = recommended(ask("2xH100", goal=name)).speed
    assert speed
    assert (speed.isl, speed.osl) == (goal(name).isl, goal(name).osl)


def test_the_load_is_the_users_own_and_never_longer_than_a_request() -> None:
    mine = Constraints(isl=5000, osl=100)
    assert (wanted(mine).isl, wanted(mine).osl) == (5000, 100)
    assert load_of(mine, 3, 5100) == load_of(mine, 3, 8192)
    for length in (1, 2, 3, 100, 512, 1280, 2048):
        load = load_of(Constraints(), 4, length)
        assert load.isl >= 1
        assert load.isl + load.osl <= max(2, length)


def test_requests_that_were_named_fit() -> None:
    assert recommended(ask("1xH100", isl=50_000, osl=1000)).max_seq_len >= 51_000
    refused = ask("1xH100", isl=50_000, max_len=4096).rejections[0]
    assert not ask("1xH100", isl=50_000, max_len=4096).feasible
    assert "50,256" in text_of(refused)


@pytest.mark.parametrize("limit", ["ttft", "tpot"])
def test_a_limit_that_no_setup_meets_is_refused_with_the_one_that_would(limit: str) -> None:
    refused = ask("1xL4", stack="vllm", quantization="none", **{limit: 1.0})
    assert not refused.feasible
    remedy = refused.rejections[0].remedies[0]
    assert set(remedy.changes) == {limit}
    assert f"--{limit}" in remedy_of(refused.rejections[0])
    met = ask("1xL4", stack="vllm", quantization="none", **{limit: remedy.changes[limit]})
    assert met.feasible


def test_a_setup_of_unknown_speed_meets_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wizard.advise.speed.fit", lambda name: None if name == "sglang" else fit(name))
    assert all(choice.speed for choice in ask("8xH100", LLAMA_70B, tpot=20.0).choices)
    refused = ask("8xH100", LLAMA_70B, tpot=20.0, stack="sglang")
    assert not refused.feasible
    assert remedy_of(refused.rejections[0]) == "omit --tpot"


def test_a_limit_is_met_by_what_is_offered_and_p99_counts_the_slow_end() -> None:
    free = ask("4xH100", LLAMA_70B, stack="vllm")
    speeds = [choice.speed for choice in free.choices if choice.speed and choice.speed.tpot_ms and choice.speed.high]
    limit = sorted(speed.tpot_ms or 0 for speed in speeds)[len(speeds) // 2]
    some = ask("4xH100", LLAMA_70B, stack="vllm", tpot=limit)
    assert all(choice.speed and (choice.speed.tpot_ms or 0) <= limit for choice in some.choices)
    sure = ask("4xH100", LLAMA_70B, stack="vllm", tpot=limit, p99=True)
    assert all(choice.speed and (choice.speed.high or 0) <= limit for choice in sure.choices)
    assert len(sure.choices) < len(some.choices) < len(free.choices)


def test_prompts_of_documents_take_longer_than_those_of_a_chat() -> None:
    chat, documents = (recommended(ask("1xH100", goal=name)).speed for name in ("chat", "documents"))
    assert chat
    assert documents
    assert (documents.ttft_ms or 0) > 5 * (chat.ttft_ms or 0)
