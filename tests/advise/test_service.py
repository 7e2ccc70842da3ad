"""The load and the pace that people expect decide, and what cannot be met says what could."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.advise.worlds import BLOCKS, GIB, HOSTS, LLAMA_8B, LLAMA_70B, busy, facts_of, machine, sliced
from tests.worded import remedy_of, text_of
from wizard.advise.advice import Advice, Constraints
from wizard.advise.ranking import advise, recommended
from wizard.advise.service import load_of, misses, too_long, wanted
from wizard.catalog.goals import GOALS, goal
from wizard.catalog.speed import fit
from wizard.texts.advise import note as sentence


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


def test_an_unknown_speed_is_not_called_too_slow() -> None:
    choice = recommended(ask("1xH100"))
    assert choice.speed
    for speed in (None, replace(choice.speed, tpot_ms=None)):
        assert not misses(replace(choice, speed=speed), Constraints(goal="chat"))
    slow = replace(choice.speed, tpot_ms=10_000.0, high=10_000.0)
    assert misses(replace(choice, speed=slow), Constraints(goal="chat"))


def test_a_limit_is_met_by_what_is_offered_and_p99_counts_the_slow_end() -> None:
    free = ask("4xH100", LLAMA_70B, stack="vllm")
    speeds = [choice.speed for choice in free.choices if choice.speed and choice.speed.tpot_ms and choice.speed.high]
    limit = sorted(speed.tpot_ms or 0 for speed in speeds)[len(speeds) // 2]
    some = ask("4xH100", LLAMA_70B, stack="vllm", tpot=limit)
    assert all(choice.speed and (choice.speed.tpot_ms or 0) <= limit for choice in some.choices)
    sure = ask("4xH100", LLAMA_70B, stack="vllm", tpot=limit, p99=True)
    assert all(choice.speed and (choice.speed.high or 0) <= limit for choice in sure.choices)
    assert len(sure.choices) < len(some.choices) < len(free.choices)


@pytest.mark.parametrize("limit", ["ttft", "tpot"])
def test_a_limit_for_the_slow_end_is_refused_with_the_slow_end(limit: str) -> None:
    refused = ask("1xH100", stack="vllm", p99=True, **{limit: 1.0}).rejections[0]
    assert "the slow end of the estimated time" in text_of(refused)
    assert "slow end" not in text_of(ask("1xH100", stack="vllm", **{limit: 1.0}).rejections[0])


def test_prompts_of_documents_take_longer_than_those_of_a_chat() -> None:
    chat, documents = (recommended(ask("1xH100", goal=name)).speed for name in ("chat", "documents"))
    assert chat
    assert documents
    assert (documents.ttft_ms or 0) > 5 * (chat.ttft_ms or 0)


def test_shorter_requests_than_the_goals_are_reported_with_what_would_fit() -> None:
    choice = recommended(ask("1xL4", goal="documents", users=32))
    assert choice.speed
    assert choice.speed.isl
    (note,) = [note for note in choice.warnings if note.code == "shorter-requests"]
    text = sentence(note)
    assert f"{choice.speed.isl:,} tokens in" in text
    assert "28,672" in text
    fitting = note.params["why"].params["fitting"]  # type: ignore[union-attr]
    again = recommended(
        ask("1xL4", goal="documents", users=fitting, stack=choice.stack, quantization=choice.quantization)
    )
    assert not [note for note in again.warnings if note.code == "shorter-requests"]


def test_requests_of_full_length_get_no_such_warning() -> None:
    for name in GOALS:
        assert "shorter-requests" not in {note.code for note in recommended(ask("8xH100", goal=name)).warnings}


def test_the_users_own_shorter_context_and_the_models_training_are_the_reason() -> None:
    own = recommended(ask("8xH100", goal="documents", max_len=8192)).warnings[0]
    assert "You set 8,192 tokens per user" in sentence(own)
    trained = recommended(ask("1xL4", "openai-community/gpt2")).warnings[0]
    assert "trained for 1,024 tokens" in sentence(trained)


@pytest.mark.parametrize("limit", [{"ttft": 60_000.0}, {"tpot": 5_000.0}])
def test_a_limit_that_only_shorter_requests_would_meet_is_not_met(limit: dict[str, float]) -> None:
    """Without the limit 64 users are served with shorter requests, which the warning says."""
    asked: dict[str, Any] = {"goal": "documents", "users": 64, "stack": "vllm"}
    assert ask("1xL4", **asked).feasible
    refused = ask("1xL4", **asked, **limit)
    assert not refused.feasible
    assert "29,696" in text_of(refused.rejections[0])
    changes = refused.rejections[0].remedies[0].changes
    assert set(changes) == {"users"}
    fixed = recommended(ask("1xL4", **{**asked, **changes}, **limit))
    assert fixed.speed
    assert (fixed.speed.isl, fixed.speed.osl) == (28_672, 1024)


def test_a_speed_is_that_of_all_replicas() -> None:
    alone, four = (
        recommended(ask("4xL4", users=users, replicas=count, stack="vllm", quantization="fp8"))
        for users, count in ((2, 1), (8, 4))
    )
    assert alone.speed
    assert four.speed
    assert (alone.speed.users, four.speed.users, four.speed.served) == (2, 8, 8)
    assert four.speed.tpot_ms == alone.speed.tpot_ms
    assert four.speed.throughput_tokens_per_s == pytest.approx(4 * alone.speed.throughput_tokens_per_s)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("gpus", "asked", "why", "remedy"),
    [
        (
            "4xL4",
            {"replicas": 2, "tp": 4},
            "2 replicas with 4 GPUs each need 8 identical GPUs; found 4 × NVIDIA L4.",
            "--replicas 1",
        ),
        ("4xL4", {"replicas": 4, "max_gpus": 2}, "GPUs for 4 replicas: 4, but --max-gpus is 2.", "--replicas 2"),
        (
            "4xL4",
            {"replicas": 2, "stack": "trtllm-engine", "runtime": "docker"},
            "2 replicas are not possible: TensorRT-LLM engine (docker) can start 1 here.",
            "--replicas 1",
        ),
    ],
)
def test_replicas_that_do_not_fit_name_the_gpus_and_only_otherwise_the_runtime(
    gpus: str, asked: dict[str, Any], why: str, remedy: str
) -> None:
    refused = advise(machine(gpus), facts_of(LLAMA_8B), Constraints(**asked))
    assert not refused.feasible
    assert text_of(refused.rejections[0]) == why
    assert remedy_of(refused.rejections[0]) == remedy


@pytest.mark.parametrize("name", ["1xL4", "busy H100", "1xGB10", "MIG", "8xH100"])
@pytest.mark.parametrize("share", [None, 0.5])
def test_the_memory_is_the_engines_share_of_the_total_and_what_it_does_not_count(
    name: str, share: float | None
) -> None:
    advice = advise(HOSTS[name], facts_of(LLAMA_8B), Constraints(stack="vllm", gpu_memory_utilization=share))
    for choice in advice.choices:
        (note,) = [note for note in choice.reasons if note.code == "memory"]
        part, total, outside = (note.params[each] for each in ("share", "total_bytes", "outside_bytes"))
        assert isinstance(part, float)
        assert isinstance(total, int)
        assert note.params["budget_bytes"] == int(part * total) + outside  # type: ignore[operator]
        assert " of the total, and " in sentence(note)


def test_gpus_of_another_kind_are_named_with_the_reason() -> None:
    choice = recommended(ask("A100+T4"))
    (note,) = [note for note in choice.reasons if note.code == "idle"]
    assert sentence(note) == "1 × Tesla T4 stays free: only identical GPUs share a model or its users."
    assert not [note for note in recommended(ask("A100+T4", max_gpus=1)).reasons if note.code == "idle"]


def test_a_busy_gpu_of_the_same_kind_is_named_with_who_uses_it() -> None:
    choice = recommended(advise(busy("2xL40S", 30 * GIB), facts_of(LLAMA_8B), Constraints()))
    assert choice.devices == (1,)
    (note,) = [note for note in choice.reasons if note.code == "idle"]
    assert "python (pid 4242): 30.0 GiB" in sentence(note)


def test_a_gpu_that_the_driver_does_not_describe_is_named() -> None:
    host = machine("2xL4")
    broken = replace(host.gpus[1], memory_total_bytes=None, memory_free_bytes=None)
    sliceless = replace(host.gpus[1], mig_enabled=True)
    for gpu, why in ((broken, "reports neither"), (sliceless, "has no slice")):
        choice = recommended(advise(replace(host, gpus=(host.gpus[0], gpu)), facts_of(LLAMA_8B), Constraints()))
        assert [note for note in choice.reasons if note.code == "idle" and why in sentence(note)]


@pytest.mark.parametrize(
    ("gpus", "model"),
    [
        (3, "mistralai/Mistral-Small-24B-Base-2501"),
        (5, "mistralai/Mixtral-8x7B-v0.1"),
        (6, "mistralai/Mixtral-8x7B-v0.1"),
    ],
)
def test_uneven_stages_use_a_number_of_gpus_that_no_power_of_two_does(gpus: int, model: str) -> None:
    """A model in 16 bits that fits on no power of two of these GPUs."""
    advice = ask(f"{gpus}x4090", model, stack="vllm", quantization="none", users=1)
    assert advice.feasible
    assert {choice.gpus for choice in advice.choices} == {gpus}


def test_uneven_stages_are_no_choice_where_others_have_as_much_room() -> None:
    for gpus in ("3xA6000", "6xH100"):
        assert {choice.pp for choice in ask(gpus).choices} <= {1, 2, 4}


def test_requests_of_the_goal_are_worth_more_than_the_default_number_of_users() -> None:
    choice = recommended(ask("1xL4", goal="documents"))
    assert choice.max_seq_len >= 28_672 + 1024
    assert 2 <= choice.users < 4
    assert "few-users" in {note.code for note in choice.warnings}
    assert recommended(ask("1xL4")).users == 4


def test_the_figures_of_replicas_are_for_the_users_that_were_asked_for() -> None:
    """Nine users on eight replicas: one has two, and the total is not that of sixteen."""
    first = ask("8xL4", users=9, quantization="fp8", stack="vllm", cost_per_hour=8.0).choices[0]
    assert first.replicas == 8
    assert first.users == 16  # room
    assert first.speed
    assert first.speed.users == 9
    assert first.speed.throughput_tokens_per_s
    assert first.speed.tpot_ms
    assert first.speed.throughput_tokens_per_s < 9 * 1000 / first.speed.tpot_ms
    assert ask("3xA6000").choices[0].speed.users == 4  # type: ignore[union-attr]


def test_no_more_replicas_are_offered_than_the_memory_holds() -> None:
    """A replica of DeepSeek-V3 needs all eight GPUs."""
    host, facts = machine("8xH200"), facts_of("deepseek-ai/DeepSeek-V3", quantization_config=BLOCKS)
    (first, *_) = advise(host, facts, Constraints(replicas=9)).rejections
    assert first.code == "replicas"
    assert [each.changes for each in first.remedies] == [{"replicas": 1}]
    assert advise(host, facts, Constraints(replicas=1)).feasible


def test_too_many_replicas_for_mig_slices_count_slices() -> None:
    host = sliced("2xA100", "3g.40gb", 42412802048, 2)
    (first, *_) = advise(host, facts_of(LLAMA_8B), Constraints(replicas=9)).rejections
    assert "MIG slice" in text_of(first)
    (remedy, *_) = first.remedies
    assert advise(host, facts_of(LLAMA_8B), replace(Constraints(), **remedy.changes)).feasible


def test_requests_beyond_the_models_training_are_not_remedied_with_a_context_that_is_refused_too() -> None:
    """--max-len 512 named --max-len 8256, which named --max-len 2048, and so on."""
    for max_len in (512, 8256):
        (remedy,) = too_long(facts_of("EleutherAI/gpt-j-6b"), Constraints(isl=8000, max_len=max_len)).remedies  # type: ignore[union-attr]
        assert (remedy.code, dict(remedy.changes)) == ("shorter-requests", {})
