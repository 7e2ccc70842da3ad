"""How many people with how long a context fit: what was asked for stays, what was not gives way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.advise.worlds import GIB, HOSTS, LLAMA_8B, LLAMA_70B, busy, facts_of
from tests.worded import remedy_of, text_of
from wizard.advise import memory
from wizard.advise.advice import Constraints
from wizard.advise.devices import Device, devices
from wizard.advise.fit import LEAST, LONGEST, UNIFIED_UTILIZATION, UTILIZATION, Fit, default_users, fit
from wizard.advise.reasons import Obstacle
from wizard.advise.service import goal_tokens
from wizard.advise.setup import Setup


def device(name: str) -> Device:
    return devices(HOSTS[name])[0]


def on(
    gpus: Device,
    constraints: Constraints,
    *,
    model: str = LLAMA_8B,
    tp: int = 1,
    stack: str = "vllm",
    quantization: str = "none",
) -> Fit | Obstacle:
    facts = facts_of(model)
    assert facts.anatomy is not None
    return fit(facts, facts.anatomy, gpus, Setup(stack, "bfloat16", quantization, tp=tp), constraints)


def fits(gpus: Device, constraints: Constraints, *, model: str = LLAMA_8B, tp: int = 1, stack: str = "vllm") -> Fit:
    result = on(gpus, constraints, model=model, tp=tp, stack=stack)
    assert isinstance(result, Fit), result
    return result


def refused(
    gpus: Device, constraints: Constraints, *, model: str = LLAMA_8B, tp: int = 1, quantization: str = "none"
) -> Obstacle:
    result = on(gpus, constraints, model=model, tp=tp, quantization=quantization)
    assert isinstance(result, Obstacle), result
    return result


def test_four_people_with_32k_each_where_there_is_room() -> None:
    fit = fits(device("8xH100"), Constraints())
    assert (fit.users, fit.length, fit.utilization, fit.cut) == (4, LONGEST, UTILIZATION, False)
    assert fit.longest > LONGEST


def test_the_context_is_reduced_first() -> None:
    fit = fits(device("1xL4"), Constraints())
    assert fit.users == 4
    assert LEAST < fit.length < LONGEST
    assert fit.memory.kv_capacity_tokens >= 4 * fit.length
    assert fit.memory.kv_capacity_tokens < 4 * 2 * fit.length  # the next power of two would not fit


def test_then_the_users_are_reduced() -> None:
    fit = fits(device("2xV100"), Constraints(goal="throughput"), model="meta-llama/Llama-2-13b-hf")
    assert fit.cut
    assert 1 <= fit.users < default_users(Constraints(goal="throughput"))
    assert fit.length == LEAST


def test_throughput_plans_for_many_users() -> None:
    assert default_users(Constraints(goal="throughput")) == 16 * default_users(Constraints())
    assert default_users(Constraints(goal="throughput", users=3)) == 3


@pytest.mark.parametrize(
    "constraints", [Constraints(users=9, max_len=777), Constraints(users=1), Constraints(max_len=100_000)]
)
def test_what_was_asked_for_is_kept(constraints: Constraints) -> None:
    fit = fits(device("8xH100"), constraints)
    assert constraints.users in (None, fit.users)
    assert constraints.max_len in (None, fit.length)
    assert fit.memory.kv_capacity_tokens >= fit.users * fit.length


def test_no_longer_than_the_model_was_trained_for() -> None:
    fit = fits(device("8xH100"), Constraints(), model="openai-community/gpt2")
    assert fit.length == fit.longest == 1024


def test_a_context_that_is_too_long_is_refused_with_the_longest_that_fits() -> None:
    why = refused(device("1xL4"), Constraints(max_len=131_072))
    assert why.code == "context"
    assert remedy_of(why) == "--max-len 16384"
    assert fits(device("1xL4"), Constraints(max_len=16_384, users=1))
    assert refused(device("1xL4"), Constraints(max_len=32_768, users=1)).code == "context"
    assert refused(device("1xL4"), Constraints(max_len=131_072, isl=1024, osl=256)).code == "context"


def test_too_many_users_are_refused_with_how_many_fit() -> None:
    why = refused(device("1xL4"), Constraints(users=64, max_len=2048))
    assert why.code == "users"
    most = int(remedy_of(why).removeprefix("--users "))
    assert fits(device("1xL4"), Constraints(users=most, max_len=2048))
    assert refused(device("1xL4"), Constraints(users=most + 2, max_len=2048)).code == "users"  # fewer need fewer graphs


def test_weights_that_do_not_fit_want_more_or_larger_gpus() -> None:
    why = refused(device("1xL4"), Constraints(), model=LLAMA_70B)
    assert why.code == "memory"
    assert "131 GiB of weights" in text_of(why)
    assert "8 × NVIDIA L4 (tp 8)" in remedy_of(why)
    assert "a GPU with at least 147 GB" in remedy_of(why)
    assert "tp" not in remedy_of(refused(device("MIG"), Constraints(), model=LLAMA_70B))  # slices cannot share a model


def test_the_remedy_for_memory_works() -> None:
    why = refused(device("1xL4"), Constraints(), model=LLAMA_70B, quantization="int4_awq")
    assert "4 × NVIDIA L4 (tp 4)" in remedy_of(why)
    four = replace(device("1xL4"), indices=(0, 1, 2, 3))
    assert isinstance(on(four, Constraints(), model=LLAMA_70B, tp=4, quantization="int4_awq"), Fit)


def test_processes_that_use_memory_are_named_and_only_free_memory_is_planned_with() -> None:
    held = devices(busy("1xH100", 50 * GIB))[0]
    fit = fits(held, Constraints())
    assert fit.utilization < 0.4
    assert fit.memory.total_bytes <= held.free_bytes
    why = refused(held, Constraints(gpu_memory_utilization=0.9))
    assert why.code == "busy"
    assert "python (pid 4242)" in text_of(why)
    share = float(remedy_of(why).removeprefix("--gpu-memory-utilization "))
    assert fits(held, Constraints(gpu_memory_utilization=share)).utilization == share
    assert refused(held, Constraints(gpu_memory_utilization=share + 0.02)).code == "busy"
    assert "python (pid 4242)" in text_of(refused(held, Constraints(), model=LLAMA_70B))


def test_no_share_of_a_full_gpu_is_the_remedy() -> None:
    """A share of 0 is no valid value."""
    why = refused(devices(busy("1xH100", 80 * GIB))[0], Constraints(gpu_memory_utilization=0.9))
    assert why.code == "busy"
    assert [each.changes for each in why.remedies] == [{}]
    nearly = refused(devices(busy("1xH100", 77 * GIB))[0], Constraints(gpu_memory_utilization=0.9))
    assert [each.changes for each in nearly.remedies] == [{"gpu_memory_utilization": 0.01}]  # 1.8 GiB


def test_room_for_one_request_of_the_goal_is_shared_by_two_users() -> None:
    """A request of ``documents`` has 29,696 tokens: only one fits, and a second user is worth more than its length."""
    fit = fits(device("1xL4"), Constraints(goal="documents"))
    assert fit.memory.kv_capacity_tokens < 2 * goal_tokens(Constraints(goal="documents"))
    assert (fit.users, fit.length, fit.cut) == (2, 8192, True)


def test_unified_memory_leaves_some_to_the_host() -> None:
    assert fits(device("1xGB10"), Constraints()).utilization == UNIFIED_UTILIZATION


def test_a_share_that_was_asked_for_bounds_the_cache() -> None:
    half = fits(device("8xH100"), Constraints(gpu_memory_utilization=0.5))
    assert half.utilization == 0.5
    assert half.memory.kv_capacity_tokens < fits(device("8xH100"), Constraints()).memory.kv_capacity_tokens
    assert refused(device("8xH100"), Constraints(gpu_memory_utilization=0.1)).code in ("memory", "context")


def test_the_budget_counts_what_vllm_does_not() -> None:
    """Of ``gpu_memory_utilization`` CUDA context, links and graphs are no part: they come on top (measured)."""
    facts, gpus = facts_of(LLAMA_8B), device("8xH100")
    assert facts.anatomy is not None
    fit = fits(gpus, Constraints(gpu_memory_utilization=0.5), tp=2)
    outside = memory.outside(facts.anatomy, Setup("vllm", "bfloat16", "none", tp=2), fit.users)
    assert fit.memory.budget_bytes == int(0.5 * gpus.total_bytes) + outside
