"""A safetensors model whose GGUF files are known, on a machine with a GPU."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.worded import text_of
from wizard.advise.advice import Advice, Constraints
from wizard.advise.fit import COMFORTABLE
from wizard.advise.pareto import front
from wizard.advise.ranking import advise, recommended
from wizard.advise.reasons import Refused, change
from wizard.kernel.units import GIB
from wizard.model import gguf_files
from wizard.model.source import find
from wizard.probe.shorthand import host

CONFIGS = Path(__file__).parents[1] / "model/configs"
MODEL = find("Qwen/Qwen3-8B", offline=True)


@pytest.mark.parametrize("machine", ["1xRTX4060", "1xL4"])
def test_llama_cpp_serves_one_of_its_files(machine: str) -> None:
    choice = recommended(advise(host(machine), MODEL, Constraints(stack="llamacpp")))
    assert choice.checkpoint is not None
    assert choice.checkpoint.ref == "MaziyarPanahi/Qwen3-8B-GGUF"
    assert choice.offload
    assert choice.offload.whole
    assert any(note.code == "offload-estimated" for note in choice.warnings)


def test_advice_without_a_reason_is_refused_too() -> None:
    with pytest.raises(Refused):
        recommended(Advice(False))


def test_without_gpus_it_is_served_on_the_cpu_as_on_a_machine_that_has_none() -> None:
    machine = host("1xL4")
    choices = advise(machine, MODEL, Constraints(max_gpus=0)).choices
    bare = advise(replace(machine, gpus=()), MODEL, Constraints()).choices
    assert choices
    assert [(each.checkpoint, each.max_seq_len) for each in choices] == [
        (each.checkpoint, each.max_seq_len) for each in bare
    ]


def test_where_no_gpu_holds_it_llama_cpp_serves_a_file_of_it() -> None:
    """16 GB of weights, and 5 GB as Q4_K_M, on 8 GB: what Ollama would run is not rejected."""
    advice = advise(host("1xRTX4060"), MODEL, Constraints())
    choice = advice.choices[0]
    assert (choice.stack, choice.quantization) == ("llamacpp", "gguf_q4_k_m")
    assert choice.offload
    assert choice.offload.whole
    assert all(each.offload for each in advice.choices)
    assert {rejection.stack for rejection in advice.rejections} >= {"vllm"}
    assert any(note.code == "gguf-file" for note in choice.reasons)
    published = advise(host("1xRTX4060"), MODEL, Constraints(as_published=True))
    assert not published.feasible


@pytest.mark.parametrize(
    ("ref", "constraints", "remedy"),
    [
        ("Qwen/Qwen3-8B", {"kv_dtype": "fp8"}, {"kv_dtype": None}),
        ("Qwen/Qwen3-14B", {"tpot": 20.0}, {"tpot": None}),
    ],
)
def test_an_option_that_rules_its_file_out_is_given_up(
    ref: str, constraints: dict[str, Any], remedy: dict[str, Any]
) -> None:
    machine, facts, asked = host("1xRTX4060"), find(ref, offline=True), Constraints(**constraints)
    assert advise(machine, facts, asked).rejections[0].remedies[0].changes == remedy
    assert advise(machine, facts, replace(asked, **remedy)).feasible


def test_the_pareto_front_names_its_file_too() -> None:
    made = front(host("1xRTX4060"), MODEL, Constraints())
    assert {each.stack for each in made.unknown} == {"llamacpp"}
    assert not made.rejections


def test_a_format_of_gguf_files_is_served_by_the_stack_that_does() -> None:
    choice = advise(host("1xL4"), MODEL, Constraints(quantization="gguf_q4_k_m")).choices[0]
    assert (choice.stack, choice.quantization, bool(choice.offload)) == ("llamacpp", "gguf_q4_k_m", True)


def test_a_file_that_is_not_known_is_no_remedy() -> None:
    for rejection in advise(host("1xL4"), MODEL, Constraints(quantization="gguf_q6_k")).rejections:
        assert all(remedy.changes.get("stack") != "llamacpp" for remedy in rejection.remedies)


def test_of_a_format_of_gguf_files_the_obstacle_to_such_files_comes_first() -> None:
    first = advise(host("1xRTX4060"), MODEL, Constraints(quantization="gguf_q8_0")).rejections[0]
    assert (first.stack, first.reason.code) == ("llamacpp", "file-stored")
    huge = find("Qwen/Qwen3-32B", offline=True)
    small = replace(host("1xRTX4060"), memory_available_bytes=8 << 30)
    first = advise(small, huge, Constraints(quantization="gguf_q4_k_m")).rejections[0]
    assert (first.stack, first.code) == ("llamacpp", "memory")


def test_of_a_gguf_model_the_obstacle_to_the_file_comes_first() -> None:
    huge = find("Qwen/Qwen3-32B", offline=True)
    file = gguf_files.as_file(huge, gguf_files.choices(huge)[0])
    first = advise(replace(host("1xRTX4060"), memory_available_bytes=1 << 30), file, Constraints()).rejections[0]
    assert (first.stack, first.code) == ("llamacpp", "memory")


def test_an_image_is_not_silently_replaced_by_a_native_server() -> None:
    machine, asked = host("1xRTX4060"), Constraints(release="24.09")
    first = advise(machine, MODEL, asked).rejections[0]
    assert (first.stack, first.reason.code) == ("llamacpp", "cpu-release")
    assert first.remedies[0].changes == {"release": None}
    assert advise(machine, MODEL, replace(asked, release=None)).feasible


def test_as_published_has_no_file_of_somebody_else_as_its_remedy() -> None:
    for rejection in advise(host("1xRTX4060"), MODEL, Constraints(as_published=True)).rejections[1:]:
        assert all(remedy.changes.get("stack") != "llamacpp" for remedy in rejection.remedies)
    first = advise(host("1xRTX4060"), MODEL, Constraints(as_published=True)).rejections[0]
    assert [each.changes for each in first.remedies if each.changes] == [
        {"quantization": "gguf_q4_k_m", "as_published": False}
    ]


@pytest.mark.parametrize("option", ["tp", "pp", "replicas"])
def test_a_split_over_gpus_is_left_to_the_engine(option: str) -> None:
    first = advise(host("2xRTX4060"), MODEL, Constraints(stack="llamacpp", **{option: 2})).rejections[0]
    assert first.remedies[0].changes == {option: None}
    assert f"--{option} 2 does not apply" in text_of(first)


@pytest.mark.parametrize("users", [92, 100])
def test_a_model_that_gpu_engines_hold_for_fewer_users_is_rejected_with_the_most(users: int) -> None:
    """Not served with 25 of its 37 layers and 39 GiB of KV cache in host memory, at an unknown speed."""
    advice = advise(host("1xL4"), MODEL, Constraints(users=users))
    assert not advice.feasible
    assert advice.rejections[0].remedies == (change(users=91),)
    assert advise(host("1xL4"), MODEL, Constraints(users=91)).choices[0].stack == "vllm"


def test_many_users_do_not_wait_for_the_cpu_unless_a_file_is_asked_for() -> None:
    advice = advise(host("1xRTX4060"), MODEL, Constraints(users=20))
    assert not advice.feasible
    assert advice.rejections[0].remedies[0] == change(users=2)  # all layers on the GPU
    asked = advise(host("1xRTX4060"), MODEL, Constraints(users=20, quantization="gguf_q4_k_m"))
    assert [choice.offload and choice.offload.whole for choice in asked.choices] == [False]


def test_a_limit_of_a_model_that_gpu_engines_hold_is_rejected_with_the_nearest_value() -> None:
    advice = advise(host("1xL4"), MODEL, Constraints(tpot=30))
    assert not advice.feasible
    assert advice.rejections[0].code == "tpot"
    assert advice.rejections[0].remedies == (change(tpot=31), change(stack="llamacpp"))
    choice = advise(host("1xL4"), MODEL, Constraints(tpot=30, stack="llamacpp")).choices[0]
    assert choice.speed
    assert choice.max_batch_size == choice.speed.users


def test_a_format_that_does_not_fit_is_no_remedy() -> None:
    """Qwen3.6 27B has 50 GiB in 16 bits, which 24 GB do not hold, and no known repository in NVFP4."""
    machine, model = host("1x4090"), find("Qwen/Qwen3.6-27B", offline=True)
    for rejection in advise(machine, model, Constraints()).rejections:
        for remedy in rejection.remedies:
            if remedy.changes.keys() == {"quantization"} and len(rejection.remedies) > 1:
                asked = advise(machine, model, Constraints(quantization=str(remedy.changes["quantization"])))
                assert asked.feasible, rejection


@pytest.mark.parametrize(
    ("where", "ref"),
    [
        ("rtx3060 laptop", "Qwen/Qwen3-4B"),
        ("rtx3060 laptop", "google/gemma-3-4b-it"),
        ("rtx4090", "Qwen/Qwen3-32B"),
        ("rtx4090", "google/gemma-3-27b-it"),
    ],
)
def test_a_file_with_room_for_a_conversation_comes_before_a_cramped_server(where: str, ref: str) -> None:
    """4,096 tokens is llama.cpp's default here and Ollama's; vLLM's working memory leaves 2,048 or nothing."""
    choice = advise(host(where), find(ref, offline=True), Constraints()).choices[0]
    assert (choice.stack, choice.quantization) == ("llamacpp", "gguf_q4_k_m")
    assert choice.offload
    assert choice.offload.whole
    assert choice.max_seq_len >= COMFORTABLE


def test_fewer_bits_are_worth_a_conversation_but_the_published_ones_are_kept() -> None:
    laptop = advise(host("rtx4070 laptop"), find("Qwen/Qwen3-4B", offline=True), Constraints())
    assert (laptop.choices[0].stack, laptop.choices[0].quantization) == ("vllm", "int4_awq")
    assert laptop.choices[0].max_seq_len >= COMFORTABLE
    shorter = next(choice for choice in laptop.choices if choice.quantization == "fp8" and choice.stack == "vllm")
    assert shorter.max_seq_len < COMFORTABLE
    named = advise(host("rtx4070 laptop"), find("Qwen/Qwen3-4B", offline=True), Constraints(max_len=2048))
    assert (named.choices[0].stack, named.choices[0].quantization) == ("vllm", "fp8")


@pytest.mark.parametrize("where", ["rtx4070 laptop", "rtx3060", "t4", "cpu"])
def test_gpt_oss_is_served_from_its_mxfp4_file(where: str, tmp_path: Path) -> None:
    config = json.loads((CONFIGS / "public.json").read_text())["openai/gpt-oss-20b"]["config"]
    (tmp_path / "config.json").write_text(json.dumps({**config, "quantization_config": {"quant_method": "mxfp4"}}))
    ref = "openai/gpt-oss-20b"
    facts = replace(find(str(tmp_path), offline=True), ref=ref, location=ref, name="gpt-oss-20b", source="hub")
    choice = recommended(advise(host(where), replace(facts, local=False), Constraints()))
    assert (choice.stack, choice.quantization) == ("llamacpp", "gguf_mxfp4")
    assert choice.checkpoint
    assert choice.checkpoint.file == "gpt-oss-20b-mxfp4.gguf"
    assert choice.checkpoint.bytes == pytest.approx(11.27 * GIB, rel=0.005)
