"""The GPUs' ways: what is tried, which image runs it, what is said about it, and why the rest was rejected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.advise.worlds import AWQ, BLOCKS, GPTQ, HOSTS, LLAMA_8B, LLAMA_70B, MXFP4, facts_of, machine, sliced
from tests.plan.stack_values import VLLM
from tests.values import GGUF
from tests.worded import remedy_of, text_of
from wizard.advise import service
from wizard.advise.advice import Choice, Constraints, Rejection, Speed
from wizard.advise.checkpoint import checkpoint
from wizard.advise.devices import devices
from wizard.advise.gpu import candidates, wide, worthwhile
from wizard.advise.reasons import Note
from wizard.advise.release import Resolved
from wizard.advise.setup import Setup
from wizard.catalog import checkpoints, stacks
from wizard.model.facts import ModelFacts, Quantization
from wizard.probe.host import Gpu, Host, Problem
from wizard.texts.advise import source


def ask(
    host: Host | str, facts: ModelFacts | str = LLAMA_8B, **constraints: Any
) -> tuple[list[Choice], list[Rejection]]:
    named = HOSTS[host] if isinstance(host, str) and host in HOSTS else host
    return candidates(
        machine(named) if isinstance(named, str) else named,
        facts_of(facts) if isinstance(facts, str) else facts,
        Constraints(**constraints),
    )


def choices(host: Host | str, facts: ModelFacts | str = LLAMA_8B, **constraints: Any) -> list[Choice]:
    return ask(host, facts, **constraints)[0]


def rejections(host: Host | str, facts: ModelFacts | str = LLAMA_8B, **constraints: Any) -> list[Rejection]:
    accepted, rejected = ask(host, facts, **constraints)
    assert not accepted
    return rejected


def test_every_stack_and_format_that_works_is_a_choice() -> None:
    pairs = {(choice.stack, choice.quantization) for choice in choices("8xH100")}
    assert {(stack, name) for stack in ("vllm", "trtllm-engine") for name in ("none", "fp8", "int4_awq")} <= pairs
    assert pairs == {
        (stack, name)
        for stack in stacks.gpu_stacks()
        for name, gpus in stacks.on_gpu(stack).formats.gpus.items()
        if name in ("none", "fp8", "int4_awq") and gpus.have((9, 0))
    }
    assert {choice.tp for choice in choices("8xH100")} == {1, 2, 4, 8}


def test_a_quantised_checkpoint_is_taken_as_it_is() -> None:
    for config, name in ((AWQ, "int4_awq"), (GPTQ, "int4_gptq"), (BLOCKS, "fp8_block")):
        accepted = choices("8xH100", facts_of(LLAMA_8B, quantization_config=config))
        assert {choice.quantization for choice in accepted} == {name}
    assert {choice.dtype for choice in choices("8xH100", facts_of(LLAMA_8B, quantization_config=GPTQ))} == {"float16"}
    assert {
        choice.quantization for choice in choices("3xA100", facts_of("openai/gpt-oss-20b", quantization_config=MXFP4))
    } == {"mxfp4"}


FP8 = {"quant_method": "fp8"}
CHANNELS = {
    "quant_method": "compressed-tensors",
    "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}},
}
NVFP4 = {"quant_method": "modelopt", "quant_algo": "NVFP4"}


@pytest.mark.parametrize(
    ("gpus", "config", "name"),
    [
        ("3xA100", FP8, "fp8"),
        ("3xA100", BLOCKS, "fp8_block"),
        ("3xA100", CHANNELS, "fp8"),
        ("3xA100", NVFP4, "nvfp4"),
        ("1xL40S", NVFP4, "nvfp4"),
        ("8xH100", NVFP4, "nvfp4"),
    ],
)
def test_vllm_unpacks_what_older_gpus_do_not_multiply(gpus: str, config: dict[str, Any], name: str) -> None:
    accepted, rejected = ask(gpus, facts_of(LLAMA_8B, quantization_config=config))
    assert {(choice.stack, choice.quantization) for choice in accepted} == {("vllm", name)}
    assert all("weight-only" in {note.code for note in choice.warnings} for choice in accepted)
    assert {rejection.code for rejection in rejected if rejection.stack.startswith("trtllm")} == {"format"}


def test_what_is_only_unpacked_is_no_reason_to_take_another_checkpoint_unasked() -> None:
    accepted, rejected = ask("3xA100")
    assert {choice.quantization for choice in accepted} == {"none", "int4_awq"}
    (why,) = (rejection for rejection in rejected if (rejection.stack, rejection.quantization) == ("vllm", "fp8"))
    assert why.code == "format"
    assert "8.9" in text_of(why)
    assert "--quantization fp8" in remedy_of(why)
    asked = choices("3xA100", quantization="fp8")
    assert {(choice.stack, choice.quantization) for choice in asked} == {("vllm", "fp8")}
    assert {"weight-only", "checkpoint-assumed"} <= {note.code for note in asked[0].warnings}


@pytest.mark.parametrize(
    ("gpus", "driver", "release"),
    [("1xT4", "590.10", "26.03"), ("3xA100", "580.10", "25.11"), ("3xA100", "575.10", "25.08")],
)
def test_an_image_whose_vllm_does_not_unpack_yet_is_not_taken(gpus: str, driver: str, release: str) -> None:
    host = replace(machine(gpus) if gpus not in HOSTS else HOSTS[gpus], driver_version=driver, interpreters=())
    stored = facts_of(LLAMA_8B, quantization_config=FP8)
    assert {choice.release.partition("-")[0] for choice in choices(host, stored, stack="vllm")} == {release}


def test_as_published_tries_no_other_format() -> None:
    assert {choice.quantization for choice in choices("8xH100", as_published=True)} == {"none"}
    refused = rejections("8xH100", as_published=True, quantization="fp8")
    assert {rejection.code for rejection in refused} == {"quantization"}


def test_another_checkpoint_is_named_as_one() -> None:
    for choice in choices("8xH100"):
        codes = {"checkpoint-assumed", "checkpoint-building"} & {note.code for note in choice.warnings}
        assert bool(codes) == (choice.quantization != "none")
    stored = choices("8xH100", facts_of(LLAMA_8B, quantization_config=AWQ))
    assert not any("checkpoint-assumed" in {note.code for note in choice.warnings} for choice in stored)


def test_an_fp8_cache_is_tried_where_16_bits_do_not_fit() -> None:
    accepted = choices("1xL4", max_len=131_072, users=1, stack="vllm", quantization="fp8")
    assert {choice.kv_cache_dtype for choice in accepted} == {"fp8"}
    assert not choices("1xL4", max_len=131_072, users=1, stack="vllm", quantization="fp8", kv_dtype="auto")


def test_replicas_fill_the_machine_for_many_users_and_max_gpus_bounds_all() -> None:
    many: dict[str, Any] = {"stack": "vllm", "quantization": "none", "goal": "throughput"}
    assert {choice.tp: choice.replicas for choice in choices("8xH100", **many)} == {1: 8, 2: 4, 4: 2, 8: 1}
    assert {choice.tp: choice.replicas for choice in choices("8xH100", max_gpus=3, **many)} == {1: 3, 2: 1}
    assert {choice.users for choice in choices("8xH100", users=64, **many)} == {64}


def test_each_replica_has_gpus_of_its_own() -> None:
    (choice,) = choices("8xH100", stack="vllm", quantization="none", tp=2, replicas=3)
    assert choice.groups == ((0, 1), (2, 3), (4, 5))
    assert choice.devices == (0, 1, 2, 3, 4, 5)


def test_a_stack_that_starts_one_replica_counts_one_and_says_why_gpus_are_idle() -> None:
    for choice in choices("8xH100", stack="trtllm-engine"):
        assert choice.replicas == 1
        assert any(note.code == "idle" for note in choice.reasons) == (choice.tp < 8)
    refused = candidates(machine("8xH100"), facts_of(LLAMA_8B), Constraints(stack="trtllm-engine", replicas=2))[1]
    assert {each.code for each in refused} >= {"replicas"}


@pytest.mark.parametrize(
    ("runtime", "engine", "most"), [("docker", "0.8.9", 1), ("docker", "0.9", 8), ("native", "0.8.9", 8)]
)
def test_replicas_in_containers_begin_with_this_release(runtime: str, engine: str, most: int) -> None:
    release = Resolved(runtime, "a tag", Note("release"), engine_version=engine)
    (device,) = devices(machine("8xH100"))
    assert service.most_replicas(Constraints(), device, Setup("vllm", "bfloat16", "none"), release) == most


@pytest.mark.parametrize(
    ("gpus", "stack", "tp", "code"),
    [("8xH100", "trtllm-engine", 4, "idle-alone"), ("3xA100", "trtllm-engine", 2, "idle-rest")],
)
def test_gpus_are_idle_because_the_stack_starts_one_replica_or_too_few_are_left(
    gpus: str, stack: str, tp: int, code: str
) -> None:
    made = choices(gpus, stack=stack, tp=tp)
    assert made
    for choice in made:
        assert [note.params["why"].code for note in choice.reasons if note.code == "idle"] == [code]


def splits(gpus: str, **constraints: Any) -> set[tuple[int, int]]:
    return {(choice.tp, choice.pp) for choice in choices(gpus, **constraints)}


def test_a_pipeline_is_a_choice_where_ranks_wait_for_pcie_and_are_no_better() -> None:
    few: dict[str, Any] = {"users": 1, "stack": "vllm"}
    hall: dict[str, Any] = {"users": 64, "goal": "throughput", "stack": "vllm"}
    assert splits("2xL40S", **few) == {(1, 1), (2, 1)}
    assert splits("4xL40S", **few) == {(1, 1), (2, 1), (4, 1)}
    assert {(2, 2), (4, 1)} <= splits("4xL40S", **hall)
    assert splits("8xL40S", **few) == {(1, 1), (2, 1), (4, 1), (4, 2), (8, 1)}
    assert splits("4xL40S", tp=2, **few) == {(2, 1), (2, 2)}
    assert {tp * pp for tp, pp in splits("4xL40S", max_gpus=2, **hall)} == {1, 2}
    assert splits("1xL4", **few) == {(1, 1)}
    assert {pp for _, pp in splits("8xH100", **hall)} == {1}


def test_a_pipeline_is_a_choice_where_ranks_cannot_be() -> None:
    unpadded = facts_of("Qwen/Qwen2.5-72B", quantization_config=AWQ)  # 29,568 columns: no groups on two ranks
    assert {(choice.tp, choice.pp) for choice in choices("2x4090", unpadded)} == set()
    assert {(choice.stack, choice.tp, choice.pp) for choice in choices("2xL40S", unpadded, stack="vllm")} >= {
        ("vllm", 1, 2)
    }
    assert {(choice.tp, choice.pp) for choice in choices("4x4090", unpadded, stack="vllm")} == {(1, 4)}


def test_a_pipeline_has_stages_that_its_stack_can_make() -> None:
    def serving(layers: int) -> set[str]:
        facts = facts_of("Qwen/Qwen2.5-72B", num_hidden_layers=layers)
        return {choice.stack for choice in choices("4x4090", facts, quantization="int4_awq") if choice.pp == 4}

    able = {name: stacks.on_gpu(name) for name in stacks.gpu_stacks() if "int4_awq" in stacks.on_gpu(name).formats.gpus}
    staged = {name: gpu.splits.stages for name, gpu in able.items() if gpu.splits.stages != "none"}
    assert staged["vllm"] == "any"
    assert staged["trtllm-engine"] == "even"  # engines want like stages
    assert serving(80) == set(staged)
    assert serving(78) == {name for name, stages in staged.items() if stages == "any"}


def test_pipelines_that_are_asked_for_are_kept_with_nvlink_too() -> None:
    assert {(choice.tp, choice.pp) for choice in choices("8xH100", pp=2, tp=2, stack="vllm")} == {(2, 2)}


@pytest.mark.parametrize(
    ("advantage", "kept"),
    [
        ({}, False),
        ({"tpot_ms": 9.0}, True),
        ({"throughput_tokens_per_s": 101.0}, True),
        ({"max_batch_size": 65}, True),
        ({"max_seq_len": 4097}, True),
        ({"tp": 2}, True),  # on more GPUs
        ({"quantization": "fp8"}, True),
    ],
)
def test_a_pipeline_is_kept_for_any_one_advantage(advantage: dict[str, Any], kept: bool) -> None:
    speed = Speed(10.0, 100.0, None, None, None, "roofline")
    ranks = replace(VLLM, tp=2, max_batch_size=64, max_seq_len=4096, speed=speed)
    faster = {name: value for name, value in advantage.items() if hasattr(speed, name)}
    others = {name: value for name, value in advantage.items() if name not in faster}
    stages = replace(ranks, **{"tp": 1, "pp": 2, **others}, speed=replace(speed, **faster))
    assert worthwhile([ranks, stages], Constraints()) == ([ranks, stages] if kept else [ranks])
    assert worthwhile([ranks, stages], Constraints(pp=2)) == [ranks, stages]
    assert worthwhile([ranks, replace(stages, speed=None)], Constraints()) == [ranks, replace(stages, speed=None)]


def test_unlike_gpus_are_never_mixed() -> None:
    accepted = choices("A100+T4")
    assert {choice.tp for choice in accepted} == {1}
    assert {choice.devices for choice in accepted} == {(0,), (1,)}
    assert {rejection.code for rejection in rejections("A100+T4", tp=2)} >= {"gpus"}


def test_more_gpus_than_a_machine_holds_are_several_machines_and_the_advice_is_for_one() -> None:
    accepted = choices("16xH100", LLAMA_70B, goal="throughput")
    assert max(choice.tp * choice.pp for choice in accepted) == 8
    assert all(set(choice.devices) <= set(range(8)) for choice in accepted)
    assert all(choice.replicas * choice.tp * choice.pp <= 8 for choice in accepted)
    for choice in accepted:
        (text,) = (text_of(note) for note in choice.warnings if note.code == "one-machine")
        assert "16 × NVIDIA H100 80GB HBM3" in text
        assert "8 of them" in text
    for refused in rejections("16xH100", LLAMA_70B, tp=16):
        assert refused.code in ("gpus", "split")
    why = next(rejection for rejection in rejections("16xH100", LLAMA_70B, tp=16) if rejection.code == "gpus")
    assert "8 × NVIDIA H100 80GB HBM3 in one machine" in text_of(why)
    assert remedy_of(why) == "--tp 8"
    assert not any("one-machine" in {note.code for note in choice.warnings} for choice in choices("8xH100"))


def test_a_machine_of_sixteen_that_is_known_stays_one() -> None:
    for gpus in ("16xV100", "16xA100"):
        accepted = choices(gpus, LLAMA_70B, stack="vllm", quantization="none")
        assert max(choice.tp for choice in accepted) == 16
        assert not any("one-machine" in {note.code for note in choice.warnings} for choice in accepted)


def test_gpus_that_nvml_has_counted_are_in_one_machine() -> None:
    named = machine("16xH100")
    seen = replace(named, gpus=tuple(replace(gpu, uuid=f"GPU-{gpu.index}") for gpu in named.gpus))
    assert max(choice.tp for choice in choices(seen, LLAMA_70B, stack="vllm", quantization="none")) == 16


def tags(host: Host, stack: str, **constraints: Any) -> set[str]:
    return {choice.release for choice in choices(host, stack=stack, **constraints)}


@pytest.mark.parametrize(
    ("driver", "tag"),
    [("615.10", "26.08"), ("610.43.02", "26.07"), ("595.58", "26.05"), ("590.10", "26.02"), ("560.35.03", "25.07")],
)
def test_the_newest_image_that_the_driver_runs(driver: str, tag: str) -> None:
    host = replace(HOSTS["1xL4"], driver_version=driver)
    assert tags(host, "vllm") == {f"{tag}-vllm-python-py3"}


def test_an_unknown_driver_is_taken_to_be_new() -> None:
    assert tags(replace(HOSTS["1xL4"], driver_version=None), "vllm") == {"26.08-vllm-python-py3"}
    assert tags(replace(HOSTS["1xL4"], driver_version="R615"), "vllm") == {"26.08-vllm-python-py3"}


def test_a_driver_that_is_too_old_for_all_says_which_branch_would_do() -> None:
    old = replace(HOSTS["1xL4"], driver_version="470.256.02")
    for rejection in rejections(old, as_published=True):
        assert rejection.code == "driver"
        assert "470.256.02" in text_of(rejection)
        branch = (
            525 if stacks.facts(rejection.stack).image else 580
        )  # SGLang has no image; its own environment is of CUDA 13
        assert f"NVIDIA driver {branch} or newer" in remedy_of(rejection)


def test_volta_gets_an_image_that_still_has_code_for_it() -> None:
    new = replace(HOSTS["2xV100"], driver_version="580.95")
    (tag,) = tags(new, "vllm", quantization="none")
    assert tag < "24.11"
    assert {choice.dtype for choice in choices(new)} == {"float16"}


def test_gpt_oss_gets_a_vllm_that_knows_it() -> None:
    gpt_oss = facts_of("openai/gpt-oss-20b", quantization_config=MXFP4)
    old = replace(HOSTS["1xL4"], driver_version="555.42.02")
    (rejection,) = rejections(replace(old, interpreters=()), gpt_oss, stack="vllm")
    assert (rejection.code, remedy_of(rejection)) == ("driver", "NVIDIA driver 580 or newer")
    (choice,) = choices(old, gpt_oss, stack="vllm")
    assert (choice.runtime, choice.environment) == ("native", "vllm-cuda12")
    (choice,) = choices(replace(HOSTS["1xL4"], driver_version="580.10", interpreters=()), gpt_oss, stack="vllm")
    assert choice.release == "25.11-vllm-python-py3"


def test_no_gpu_says_why_and_what_there_is_instead() -> None:
    for rejection in rejections("cpu"):
        assert rejection.code == "no-gpu"
        assert "GGUF" in remedy_of(rejection)
    broken = replace(HOSTS["cpu"], gpu_problem=Problem("TW-P02", "the driver is not loaded", "Load it."))
    assert "the driver is not loaded" in text_of(rejections(broken)[0])


def test_a_gpu_that_nvml_cannot_describe_is_not_guessed_at() -> None:
    host = replace(HOSTS["cpu"], gpus=(Gpu(0, "NVIDIA Mystery"),))
    assert {rejection.code for rejection in rejections(host)} == {"gpu-unknown"}


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        (GGUF, "gguf"),
        (replace(GGUF, quantization=None), "gguf"),
        (replace(facts_of(LLAMA_8B), quantization=Quantization("hqq")), "format"),
        (replace(facts_of(LLAMA_8B), anatomy=None), "shape"),
    ],
)
def test_a_model_that_no_gpu_stack_can_load(facts: ModelFacts, code: str) -> None:
    assert {rejection.code for rejection in rejections("8xH100", facts)} == {code}


@pytest.mark.parametrize(
    ("constraints", "code", "remedy"),
    [
        ({"quantization": "magic"}, "quantization", "int4_awq"),
        ({"kv_dtype": "int3"}, "kv-dtype", "--kv-dtype auto"),
        ({"max_len": 200_000}, "trained-context", "--max-len 131072"),
        ({"max_gpus": 1, "tp": 2}, "max-gpus", "--max-gpus 2"),
        ({"tp": 16}, "gpus", "--tp 8"),
        ({"quantization": "nvfp4", "stack": "trtllm-llmapi"}, "format", "10.0"),
    ],
)
def test_a_constraint_that_cannot_be_met_is_refused(constraints: dict[str, Any], code: str, remedy: str) -> None:
    for rejection in rejections("8xH100", **constraints):
        assert rejection.code == code
        assert remedy in remedy_of(rejection)


def test_a_constraint_against_the_checkpoint_is_refused() -> None:
    stored = facts_of(LLAMA_8B, quantization_config=AWQ)
    (rejection, *_) = rejections("8xH100", stored, quantization="fp8", stack="vllm")
    assert (rejection.code, remedy_of(rejection)) == (
        "quantization",
        "--quantization int4_awq, or another repository for this model",
    )


def test_rejections_keep_the_split_that_came_nearest() -> None:
    _, rejected = ask("2x4090", LLAMA_70B, stack="vllm", quantization="none")
    assert [(rejection.tp, rejection.code) for rejection in rejected] == [(2, "memory")]


def warned(host: Host, facts: ModelFacts | str = LLAMA_8B) -> set[str]:
    return {note.code for note in choices(host, facts, stack="vllm", quantization="none")[0].warnings}


def test_what_a_user_should_know_is_a_note() -> None:
    llama = facts_of(LLAMA_8B)
    assert warned(HOSTS["1xL4"]) == set()
    assert warned(HOSTS["1xL4"], replace(llama, gated=True)) == {"gated"}
    assert warned(HOSTS["1xL4"], replace(llama, local=True)) == {"no-template"}
    assert warned(HOSTS["busy H100"]) == {"busy"}


@pytest.mark.parametrize("stack", ["trtllm-llmapi", "trtllm-engine"])
def test_a_share_of_the_gpu_is_one_of_what_tensorrt_llm_finds_free(stack: str) -> None:
    """Its share is of the memory left after loading, and is computed to leave what the constraint leaves."""
    gpu = machine("1xH100").gpus[0]
    (half,) = choices("1xH100", stack=stack, quantization="none", gpu_memory_utilization=0.5)
    (plain,) = choices("1xH100", stack=stack, quantization="none")
    assert plain.kv_cache_fraction == 0.9
    for choice in (half, plain):
        bill = choice.memory
        loaded = bill.weights_bytes + bill.activation_bytes + bill.overhead_bytes
        cache = (choice.kv_cache_fraction or 0) * ((gpu.memory_free_bytes or 0) - loaded)
        assert loaded + cache <= bill.budget_bytes
        assert cache == pytest.approx(bill.kv_bytes_per_token * bill.kv_capacity_tokens, rel=0.001)
    assert [candidate.kv_cache_fraction for candidate in choices("1xH100", stack="vllm", quantization="none")] == [None]


@pytest.mark.parametrize(
    ("stack", "phrase"),
    [
        ("vllm", "gpu_memory_utilization 0.92"),
        ("trtllm-llmapi", "free_gpu_memory_fraction 0."),
        ("trtllm-engine", "kv_cache_free_gpu_mem_fraction 0."),
        ("transformers", ""),
    ],
)
def test_the_budget_is_in_the_terms_of_the_stack_and_in_no_others(stack: str, phrase: str) -> None:
    (note,) = (
        reason for reason in choices("1xL4", stack=stack, quantization="none")[0].reasons if reason.code == "memory"
    )
    terms = ("gpu_memory_utilization", " free_gpu_memory_fraction", "kv_cache_free_gpu_mem_fraction")
    assert phrase in text_of(note)
    shown = text_of(note)
    assert [term for term in terms if term in shown] == [term for term in terms if phrase and term.strip() in phrase]
    assert ("TensorRT-LLM" in (source(note) or "")) == stack.startswith("trtllm")


GEMMA = "google/gemma-3-1b-it"


def test_a_model_that_overflows_in_float16_runs_in_float32_where_there_is_no_bfloat16() -> None:
    (accepted, rejected), normal = ask("1xT4", GEMMA, quantization="none", max_len=2048), choices("1xL4", GEMMA)
    assert {choice.dtype for choice in accepted} == {"float32"}
    assert {choice.stack for choice in accepted} <= {"vllm", "transformers"}
    assert all("float32" in {note.code for note in choice.warnings} and choice.speed is None for choice in accepted)
    vllm = next(choice for choice in accepted if choice.stack == "vllm")
    half = next(choice for choice in normal if (choice.stack, choice.quantization) == ("vllm", "none"))
    assert vllm.memory.weights_bytes == 2 * half.memory.weights_bytes
    assert vllm.memory.kv_bytes_per_token > half.memory.kv_bytes_per_token
    assert all("float32" in text_of(note) for choice in accepted for note in choice.reasons if note.code == "weights")
    sglang = next(rejection for rejection in rejected if rejection.stack == "sglang")
    assert "overflows in float16" in text_of(sglang)


def test_such_a_model_is_not_served_quantised_where_there_is_no_bfloat16() -> None:
    reasons = [text_of(each) for each in rejections("1xT4", facts_of(GEMMA, quantization_config=AWQ), stack="vllm")]
    assert any("In float32, INT4 AWQ is not supported" in each or "int4_awq" in each for each in reasons)


def test_a_gptq_checkpoint_of_such_a_model_runs_in_bfloat16() -> None:
    accepted = choices("1xL4", facts_of(GEMMA, quantization_config=GPTQ), stack="vllm")
    assert {choice.dtype for choice in accepted} == {"bfloat16"}


def test_every_choice_names_the_version_of_its_engine() -> None:
    made = [*choices("8xH100"), *choices("1xT4", GEMMA)]
    assert all(choice.engine_version[:1].isdigit() for choice in made)
    assert all(choice.engine_version in choice.release for choice in made if choice.runtime == "native")


def test_gptq_runs_on_volta_unless_compressed_tensors_packed_it() -> None:
    asked = {"stack": "vllm", "max_len": 2048}
    assert choices("2xV100", facts_of(LLAMA_8B, quantization_config={**GPTQ, "desc_act": False}), **asked)
    weights = {"num_bits": 4, "type": "int", "group_size": 128, "symmetric": True, "strategy": "group"}
    groups = {"group_0": {"weights": weights}}
    packed = {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": groups}
    reasons = [text_of(each) for each in rejections("2xV100", facts_of(LLAMA_8B, quantization_config=packed), **asked)]
    assert any("compressed-tensors" in each and "7.5" in each for each in reasons)
    accepted = choices("1xL4", facts_of(LLAMA_8B, quantization_config=packed), **asked)
    assert {choice.dtype for choice in accepted} == {"bfloat16"}


def test_gpt_oss_runs_on_hopper_with_tensorrt_llm() -> None:
    facts = facts_of("openai/gpt-oss-20b", quantization_config=MXFP4)
    assert "trtllm-llmapi" in {choice.stack for choice in choices("8xH100", facts)}


@pytest.mark.parametrize("stack", ["vllm", "sglang"])
def test_a_known_repository_has_the_format_that_was_asked_for(stack: str) -> None:
    ref = "meta-llama/Llama-3.1-8B-Instruct"
    facts = replace(facts_of(LLAMA_8B), source="hub", location=ref)
    formats = {row.ref: row.format for row in checkpoints.ready(ref)}
    fetched = {name: checkpoint(facts, stack, name) for name in formats.values()}
    assert {name: formats[each.ref] for name, each in fetched.items() if each} == {name: name for name in fetched}


@pytest.mark.parametrize(("gpus", "ranks"), [("8xL40S", {8}), ("8xH100", set())])
def test_more_than_four_ranks_without_nvlink_are_wide(gpus: str, ranks: set[int]) -> None:
    made = choices(gpus, stack="vllm", quantization="none", goal="throughput")
    assert {choice.tp for choice in made} >= {4, 8}
    assert {choice.tp for choice in made if wide(choice)} == ranks


def test_a_gptq_repository_of_unknown_packing_is_not_fetched_for_volta() -> None:
    facts = replace(facts_of(LLAMA_8B), source="hub", location="Qwen/Qwen3-0.6B")
    assert checkpoint(facts, "vllm", "int4_gptq", (7, 0)) is None
    fetched = checkpoint(facts, "vllm", "int4_gptq", (7, 5))
    assert fetched
    assert fetched.how == "ready"


def test_mig_without_instances_is_named_as_the_cause() -> None:
    refused = rejections(sliced("2xH100", "1g.10gb", 10 << 30, slices=0))[0]
    assert text_of(refused) == "MIG is enabled on the NVIDIA H100 80GB HBM3, but it has no instances."
    assert "nvidia-smi mig -cgi" in remedy_of(refused)


@pytest.mark.parametrize("gpus", ["1xA6000+1xRTX3060", "1xRTX3060+1xA6000"])
def test_of_unequal_gpus_the_limit_is_that_of_the_largest_group(gpus: str) -> None:
    _, refused = candidates(machine(gpus), facts_of(LLAMA_70B), Constraints(as_published=True))
    sizes = [rejection for rejection in refused if rejection.code == "memory"]
    assert sizes
    assert {rejection.reason.params["gpu"] for rejection in sizes} == {"NVIDIA RTX A6000"}
