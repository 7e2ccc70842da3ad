"""A safetensors model whose GGUF files are known, on a machine with a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wizard.advise.advice import Advice, Constraints
from wizard.advise.ranking import advise, recommended
from wizard.advise.reasons import Refused
from wizard.model.source import find
from wizard.probe.shorthand import host

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


def test_a_format_of_gguf_files_is_served_by_the_stack_that_does() -> None:
    choice = advise(host("1xL4"), MODEL, Constraints(quantization="gguf_q4_k_m")).choices[0]
    assert (choice.stack, choice.quantization, bool(choice.offload)) == ("llamacpp", "gguf_q4_k_m", True)


def test_a_file_that_is_not_known_is_no_remedy() -> None:
    for rejection in advise(host("1xL4"), MODEL, Constraints(quantization="gguf_q6_k")).rejections:
        assert all(remedy.changes.get("stack") != "llamacpp" for remedy in rejection.remedies)
