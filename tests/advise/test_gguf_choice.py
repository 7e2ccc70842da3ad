"""Without a GPU a model is served from one of its GGUF files: by fit and speed, or the one that the user names."""

from __future__ import annotations

from dataclasses import replace

from tests.values import CPU_HOST
from wizard.advise.advice import Constraints
from wizard.advise.calibration import Calibration, processor
from wizard.advise.ranking import advise
from wizard.kernel.units import GIB
from wizard.model.facts import GgufFile, ModelFacts
from wizard.model.source import find
from wizard.probe.cpu_rates import CpuRates

HOST = replace(CPU_HOST, source="this machine", memory_available_bytes=24 * GIB)
TYPES = ("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M")


def measured(bandwidth: float) -> Calibration:
    return Calibration(cpu=CpuRates(processor(HOST), HOST.cpu.cores, bandwidth, "2026-11-23"))


def with_files(ref: str) -> ModelFacts:
    facts = find(ref, offline=True)
    return replace(facts, gguf=tuple(GgufFile("o/GGUF", f"x-{kind}.gguf", kind) for kind in TYPES))


def order(ref: str, past: Calibration, free: int = 24) -> list[str | None]:
    host = replace(HOST, memory_available_bytes=free * GIB)
    return [choice.quantization for choice in advise(host, with_files(ref), Constraints(), past).choices]


def test_a_fast_machine_takes_the_most_precise_file() -> None:
    assert order("Qwen/Qwen2.5-1.5B-Instruct", measured(200e9))[0] == "gguf_q8_0"


def test_a_slow_one_the_file_that_it_reads_fastest() -> None:
    assert order("Qwen/Qwen3-8B", measured(20e9))[0] == "gguf_q4_k_m"


def test_without_a_measurement_only_a_small_model_is_taken_as_the_most_precise_file() -> None:
    assert order("Qwen/Qwen2.5-1.5B-Instruct", Calibration())[0] == "gguf_q8_0"
    assert order("Qwen/Qwen3-8B", Calibration())[0] == "gguf_q4_k_m"


def test_only_files_that_fit_are_choices() -> None:
    advice = advise(replace(HOST, memory_available_bytes=9 * GIB), with_files("Qwen/Qwen3-8B"), Constraints())
    assert {choice.quantization for choice in advice.choices} < {f"gguf_{kind.lower()}" for kind in TYPES}
    assert advice.choices[0].quantization == "gguf_q4_k_m"
    assert any(rejection.quantization == "gguf_q8_0" for rejection in advice.rejections)


def test_a_user_names_another_file_by_its_format() -> None:
    first = advise(HOST, with_files("Qwen/Qwen3-8B"), Constraints(quantization="gguf_q6_k")).choices[0]
    assert first.checkpoint is not None
    assert (first.checkpoint.ref, first.checkpoint.file, first.checkpoint.how) == ("o/GGUF", "x-Q6_K.gguf", "ready")


def test_the_download_is_told_with_the_ways_to_another_file() -> None:
    first = advise(HOST, with_files("Qwen/Qwen3-8B"), Constraints()).choices[0]
    (note,) = (note for note in first.reasons if note.code == "gguf-file")
    assert (note.params["ref"], note.params["file"]) == ("o/GGUF", "x-Q4_K_M.gguf")
    assert any(note.code == "gguf-others" for note in first.reasons)


def test_the_only_file_that_is_known_has_no_others() -> None:
    first = advise(HOST, find("Qwen/Qwen3-8B", offline=True), Constraints()).choices[0]
    assert not any(note.code == "gguf-others" for note in first.reasons)


def test_a_model_of_the_catalog_is_served_without_a_gpu_although_its_weights_are_safetensors() -> None:
    advice = advise(HOST, find("Qwen/Qwen3-8B", offline=True), Constraints())
    assert advice.choices[0].checkpoint is not None
    assert advice.choices[0].checkpoint.ref == "MaziyarPanahi/Qwen3-8B-GGUF"
    assert {choice.stack for choice in advice.choices} == {"llamacpp"}
    assert not any(note.code == "no-template" for note in advice.choices[0].warnings)  # nobody read the file yet


def test_without_a_known_file_it_is_refused_with_models_that_have_one() -> None:
    facts = replace(find("Qwen/Qwen3-8B", offline=True), ref="me/mine", location="me/mine")
    advice = advise(HOST, facts, Constraints())
    assert not advice.feasible
    assert any(remedy.code == "other-model" for remedy in advice.rejections[0].remedies)
