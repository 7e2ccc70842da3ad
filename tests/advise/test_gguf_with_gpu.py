"""A safetensors model whose GGUF files are known, on a machine with a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.worded import text_of
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


def test_where_no_gpu_holds_it_llama_cpp_is_the_remedy() -> None:
    remedies = advise(host("1xRTX4060"), MODEL, Constraints()).rejections[0].remedies
    assert remedies[0].changes == {"stack": "llamacpp"}


def test_a_format_of_gguf_files_names_the_stack_that_serves_them() -> None:
    first = advise(host("1xL4"), MODEL, Constraints(quantization="gguf_q4_k_m")).rejections[0]
    assert text_of(first) == "gguf_q4_k_m is a format of GGUF files, which llama.cpp serves."
    assert first.remedies[0].changes == {"stack": "llamacpp"}


def test_a_file_that_is_not_known_is_no_remedy() -> None:
    for rejection in advise(host("1xL4"), MODEL, Constraints(quantization="gguf_q6_k")).rejections:
        assert all(remedy.changes.get("stack") != "llamacpp" for remedy in rejection.remedies)
