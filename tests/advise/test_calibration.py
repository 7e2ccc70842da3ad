"""What was measured on this machine corrects later advice, and nothing else does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.values import CPU_HOST, GGUF, GIB
from tests.worded import text_of
from wizard.advise import calibration, cpu, memory
from wizard.advise.advice import Choice, Constraints
from wizard.advise.calibration import Calibration, Measured, Measurement
from wizard.advise.ranking import advise
from wizard.catalog import stacks
from wizard.kernel.units import MIB, size
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.probe.host import Cpu, Host
from wizard.probe.shorthand import host as shorthand
from wizard.texts.report import bill

NAME = "meta-llama/Llama-3.1-8B"
PUBLIC = json.loads((Path(__file__).parents[1] / "model" / "configs" / "public.json").read_text())
LLAMA = describe(ModelFacts(NAME, "folder", NAME, NAME, None, None), PUBLIC[NAME]["config"])


def here(host: Host) -> Host:
    """``host`` as if it were this machine."""
    return replace(host, source="this machine")


H200 = here(shorthand("H200"))


def first(host: Host, facts: ModelFacts, past: Calibration = calibration.NOTHING, stack: str | None = None) -> Choice:
    return advise(host, facts, Constraints(stack=stack), past).choices[0]


def started(host: Host, facts: ModelFacts, choice: Choice, measured: Measured, **other: Any) -> Measurement:
    """A measurement of a start of ``choice`` on ``host``."""
    measurement = Measurement(
        at="2026-11-21T09:00:00+00:00",
        server="demo",
        machine=calibration.machine(host, choice),
        engine=calibration.engine(choice.stack, choice.release),
        formulas=calibration.FORMULAS,
        model=facts.ref,
        choice=replace(choice, speed=None, reasons=(), warnings=()),
        measured=measured,
    )
    return replace(measurement, **other)


def as_predicted(choice: Choice, more: int = 0) -> Measured:
    """The engine says what was predicted, and ``more`` beside it."""
    bill = choice.memory
    return Measured(
        weights_bytes=bill.weights_bytes,
        kv_capacity_tokens=bill.kv_capacity_tokens,
        kv_bytes=bill.kv_bytes_per_token * bill.kv_capacity_tokens,
        activation_bytes=bill.activation_bytes,
        runtime_bytes=bill.overhead_bytes + more,
    )


def past(*measurements: Measurement) -> Calibration:
    return Calibration(measurements)


def codes(choice: Choice) -> set[str]:
    return {note.code for note in (*choice.reasons, *choice.warnings)}


def test_a_gibibyte_more_makes_the_next_breakdown_a_gibibyte_larger_and_says_so() -> None:
    before = first(CPU_HOST, GGUF)
    after = first(CPU_HOST, GGUF, past(started(CPU_HOST, GGUF, before, as_predicted(before, GIB))))
    assert after.memory.overhead_bytes == before.memory.overhead_bytes + GIB
    assert after.memory.total_bytes == before.memory.total_bytes + GIB
    assert after.correction_bytes == GIB
    (note,) = [reason for reason in after.reasons if reason.code == "calibrated"]
    assert "1.0 GiB higher than predicted" in text_of(note)
    assert "2026-11-21" in text_of(note)
    assert "calibrated" not in codes(before)


@pytest.mark.parametrize(
    "other",
    [
        {"machine": "Another CPU"},
        {"engine": "triton 2.52.0, llama.cpp (xllamacpp 2027)"},
        {"formulas": 0},
    ],
)
def test_another_machine_engine_or_formula_is_not_corrected(other: dict[str, Any]) -> None:
    before = first(CPU_HOST, GGUF)
    line = started(CPU_HOST, GGUF, before, as_predicted(before, GIB), **other)
    assert first(CPU_HOST, GGUF, past(line)) == before


def test_another_stack_is_not_corrected() -> None:
    before = first(CPU_HOST, GGUF)
    line = started(CPU_HOST, GGUF, before, as_predicted(before, GIB))
    assert first(CPU_HOST, GGUF, past(replace(line, choice=replace(line.choice, stack="vllm")))) == before


def test_a_recorded_or_imagined_machine_of_the_same_kind_is_not_this_one() -> None:
    before = first(CPU_HOST, GGUF)
    line = started(CPU_HOST, GGUF, before, as_predicted(before, GIB))
    recorded = replace(CPU_HOST, source="host.json")
    assert first(recorded, GGUF, past(line)) == first(recorded, GGUF)


def test_corrections_do_not_add_up() -> None:
    """The second start takes as much as the first; its plan was made with the first one's correction."""
    before = first(CPU_HOST, GGUF)
    once = past(started(CPU_HOST, GGUF, before, as_predicted(before, GIB)))
    again = first(CPU_HOST, GGUF, once)
    twice = past(*once.measurements, started(CPU_HOST, GGUF, again, as_predicted(again)))
    assert first(CPU_HOST, GGUF, twice).memory == again.memory


def test_starts_of_the_same_model_count_and_one_unusual_one_changes_little() -> None:
    before = first(CPU_HOST, GGUF)
    mine = [started(CPU_HOST, GGUF, before, as_predicted(before, more * MIB)) for more in (100, 200)]
    other = started(CPU_HOST, GGUF, before, as_predicted(before, GIB), model="other")
    assert first(CPU_HOST, GGUF, past(*mine, other)).correction_bytes == 200 * MIB
    noisy = started(CPU_HOST, GGUF, before, as_predicted(before, 2 * GIB))
    assert first(CPU_HOST, GGUF, past(*mine, noisy)).correction_bytes == 200 * MIB
    newer = [started(CPU_HOST, GGUF, before, as_predicted(before, 300 * MIB)) for _ in range(3)]
    assert first(CPU_HOST, GGUF, past(*mine, noisy, *newer)).correction_bytes == 300 * MIB
    assert first(CPU_HOST, GGUF, past(other)).correction_bytes == GIB  # better than nothing measured


@given(st.integers(-(2**40), 2**33))
def test_the_overhead_never_falls_below_nothing(more: int) -> None:
    before = first(CPU_HOST, GGUF)
    line = started(CPU_HOST, GGUF, before, as_predicted(before, more))
    advice = advise(CPU_HOST, GGUF, Constraints(), past(line))
    for choice in advice.choices:
        assert choice.memory.overhead_bytes >= 0
        assert choice.memory.overhead_bytes == before.memory.overhead_bytes + choice.correction_bytes
        assert abs(choice.correction_bytes) <= abs(more)


def test_working_memory_is_corrected_too_and_unreported_values_are_not() -> None:
    before = first(CPU_HOST, GGUF)
    activation = before.memory.activation_bytes + 10 * MIB
    line = started(CPU_HOST, GGUF, before, Measured(activation_bytes=activation))
    assert first(CPU_HOST, GGUF, past(line)).correction_bytes == 10 * MIB
    silent = started(CPU_HOST, GGUF, before, Measured(weights_bytes=1, kv_capacity_tokens=2))
    assert first(CPU_HOST, GGUF, past(silent)) == before


def test_damage_gets_a_note_and_the_rest_is_used() -> None:
    before = first(CPU_HOST, GGUF)
    line = started(CPU_HOST, GGUF, before, as_predicted(before, GIB))
    after = first(CPU_HOST, GGUF, Calibration((line,), "1 of the 2 lines cannot be read."))
    assert after.correction_bytes == GIB
    assert [text_of(note) for note in after.warnings if note.code == "calibration-damaged"] == [
        "1 of the 2 lines cannot be read."
    ]


def on_gpu(more: int = 0) -> tuple[Choice, Measurement]:
    """vLLM's log of a model on an H200, as predicted and ``more``; it does not count CUDA contexts."""
    choice = first(H200, LLAMA, stack="vllm")
    context = stacks.on_gpu("vllm").memory.context_bytes + memory.triton(choice.stack, choice.runtime)
    graphs = 100 * MIB
    runtime = choice.memory.overhead_bytes - context - graphs + more
    measured = replace(as_predicted(choice), graphs_bytes=graphs, runtime_bytes=runtime)
    return choice, started(H200, LLAMA, choice, measured)


def test_on_a_gpu_the_cache_shrinks_by_what_was_measured() -> None:
    before, line = on_gpu(GIB)
    after = first(H200, LLAMA, past(line), stack="vllm")
    assert line.machine == "NVIDIA H200"
    assert after.memory.overhead_bytes == before.memory.overhead_bytes + GIB
    assert after.memory.total_bytes <= after.memory.budget_bytes
    lost = (before.memory.kv_capacity_tokens - after.memory.kv_capacity_tokens) * before.memory.kv_bytes_per_token
    assert lost == pytest.approx(GIB, rel=0.01)
    assert "calibrated" in codes(after)


def test_another_gpu_and_another_stack_on_the_same_gpu_keep_their_breakdown() -> None:
    _, line = on_gpu(GIB)
    h100 = here(shorthand("H100"))
    assert first(h100, LLAMA, past(line), "vllm") == first(h100, LLAMA, stack="vllm")
    assert first(H200, LLAMA, past(line), "trtllm-llmapi") == first(H200, LLAMA, stack="trtllm-llmapi")


def test_without_its_graphs_vllms_overhead_is_not_known() -> None:
    before, line = on_gpu(GIB)
    line = replace(line, measured=replace(line.measured, graphs_bytes=None))
    assert first(H200, LLAMA, past(line), "vllm").memory == before.memory


def test_the_measured_breakdown_and_its_texts() -> None:
    choice = first(CPU_HOST, GGUF)
    measured = replace(as_predicted(choice, MIB), kv_capacity_tokens=2048, kv_bytes=2048 * 4096)
    line = started(CPU_HOST, GGUF, choice, measured)
    memory = calibration.actual(line)
    assert (memory.kv_capacity_tokens, memory.kv_bytes_per_token) == (2048, 4096)
    assert memory.overhead_bytes == choice.memory.overhead_bytes + MIB
    rows = {name: (predicted, real) for name, predicted, real in calibration.rows(line)}
    assert rows["total"] == (size(choice.memory.total_bytes), size(memory.total_bytes))
    names = [part.name for part in bill(choice.memory)][:4]
    assert list(rows) == ["memory", *names[:2], "KV tokens", *names[2:], "total"], "the words of the bill"
    lines = calibration.text(line).splitlines()
    assert lines[0].split() == ["memory", "predicted", "measured"]
    assert lines[3].split()[-1] == "2,048"
    assert "predicted" in calibration.summary(line)
    nothing = started(CPU_HOST, GGUF, choice, Measured())
    assert calibration.actual(nothing) == choice.memory


def test_what_the_engine_did_not_report_is_not_called_measured() -> None:
    choice = first(CPU_HOST, GGUF)
    line = started(CPU_HOST, GGUF, choice, replace(as_predicted(choice, MIB), runtime_bytes=None))
    rows = {name: real for name, _, real in calibration.rows(line)}
    assert rows["overhead"] == rows["total"] == "not measured"
    assert rows["weights"] == size(line.measured.weights_bytes)
    assert calibration.summary(line).startswith("memory partly measured, ")


def test_a_processor_without_a_name_is_known_by_its_architecture() -> None:
    assert calibration.processor(replace(CPU_HOST, cpu=Cpu(None, "aarch64", 4))) == "aarch64"


def test_a_server_that_took_less_than_nothing_takes_nothing() -> None:
    before = first(CPU_HOST, GGUF)
    less = as_predicted(before, -(2**50))
    after = first(CPU_HOST, GGUF, past(started(CPU_HOST, GGUF, before, less)))
    tokenizer = cpu.on_cpu("llamacpp").tokenizer_bytes * (GGUF.vocabulary or 0)
    assert after.memory.overhead_bytes == tokenizer
    assert after.correction_bytes == tokenizer - before.memory.overhead_bytes
