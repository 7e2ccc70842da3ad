"""A speed that a benchmark measured here replaces the estimate for the same setup, and is said; no other does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.advise.test_calibration import H200, LLAMA, codes
from tests.values import CPU_HOST, GGUF
from tests.worded import text_of
from wizard.advise import calibration
from wizard.advise.advice import Choice, Constraints, Speed
from wizard.advise.benchmarked import Benchmarked
from wizard.advise.calibration import NOTHING, Calibration
from wizard.advise.ranking import advise
from wizard.advise.reasons import Note
from wizard.kernel.paths import Workspace
from wizard.probe.host import Host
from wizard.serve.calibration import keep_speed, kept

LOAD = Constraints(stack="vllm", quantization="none", tp=1, users=8, isl=512, osl=128)


def best(constraints: Constraints, past: Calibration = NOTHING) -> Choice:
    return advise(H200, LLAMA, constraints, past).choices[0]


def benched(choice: Choice, times: float, host: Host = H200, **other: Any) -> Benchmarked:
    """A benchmark of ``choice`` under the load of its estimate: ``times`` as slow as estimated."""
    estimate = choice.speed
    assert estimate
    assert estimate.tpot_ms
    assert estimate.ttft_ms
    assert estimate.throughput_tokens_per_s
    speed = replace(
        estimate,
        tpot_ms=estimate.tpot_ms * times,
        ttft_ms=estimate.ttft_ms * times,
        throughput_tokens_per_s=estimate.throughput_tokens_per_s / times,
        provider="measured",
        confidence="measured",
    )
    made = Benchmarked(
        at="2026-11-26T09:00:00+00:00",
        machine=calibration.machine(host, choice),
        engine=calibration.engine(choice.stack, choice.release),
        model=LLAMA.ref,
        choice=replace(choice, speed=None, reasons=(), warnings=()),
        speed=speed,
        estimate=estimate,
    )
    return replace(made, **other)


def test_a_measured_speed_replaces_the_estimate_and_says_so() -> None:
    before = best(LOAD)
    line = benched(before, 2.0)
    after = best(LOAD, Calibration(speeds=(line,)))
    assert after.speed == line.speed
    (note,) = [note for note in after.reasons if note.code == "benchmarked"]
    assert "2026-11-26, at a concurrency of 8, with 512 tokens in and 128 out" in text_of(note)
    assert "benchmarked" not in codes(before)


def test_under_another_load_the_estimate_is_corrected_by_its_error() -> None:
    line = benched(best(LOAD), 2.0)
    other = replace(LOAD, users=12, isl=700)
    before, after = best(other).speed, best(other, Calibration(speeds=(line,))).speed
    assert before
    assert after
    assert before.tpot_ms
    assert after.tpot_ms == pytest.approx(2 * before.tpot_ms)
    assert after.throughput_tokens_per_s == pytest.approx((before.throughput_tokens_per_s or 0) / 2)
    assert (after.users, after.isl, after.confidence) == (12, 700, "fair")
    assert "benchmarked-near" in codes(best(other, Calibration(speeds=(line,))))


@pytest.mark.parametrize(
    "other",
    [
        {"machine": "Another GPU"},
        {"engine": "1.0-vllm-python-py3"},
        {"model": "another/Model"},
        {"speed": Speed(1.0, 1.0, 1.0, None, None, "measured")},
    ],
)
def test_another_machine_engine_or_model_and_incomplete_lines_change_nothing(other: dict[str, Any]) -> None:
    before = best(LOAD)
    assert best(LOAD, Calibration(speeds=(benched(before, 2.0, **other),))) == before


@pytest.mark.parametrize("other", [{"quantization": "fp8"}, {"kv_cache_dtype": "fp8"}, {"tp": 2}, {"stack": "sglang"}])
def test_another_setup_changes_nothing(other: dict[str, Any]) -> None:
    before = best(LOAD)
    line = benched(before, 2.0)
    assert best(LOAD, Calibration(speeds=(replace(line, choice=replace(line.choice, **other)),))) == before


def test_far_more_users_are_not_corrected() -> None:
    line = benched(best(LOAD), 2.0)
    many = replace(LOAD, users=64)
    assert best(many, Calibration(speeds=(line,))).speed == best(many).speed


def test_a_measured_speed_can_rule_a_setup_out() -> None:
    before = best(LOAD)
    assert before.speed
    assert before.speed.tpot_ms
    limited = replace(LOAD, tpot=1.5 * before.speed.tpot_ms)
    past = Calibration(speeds=(benched(before, 2.0),))
    assert advise(H200, LLAMA, limited).choices
    assert not advise(H200, LLAMA, limited, past).choices


def test_a_cpu_without_measured_rates_gets_the_measured_speed() -> None:
    wanted = Constraints(users=4, isl=512, osl=128)
    before = advise(CPU_HOST, GGUF, wanted).choices[0]
    assert before.speed is None
    speed = Speed(20.0, 150.0, 300.0, 19.0, 21.0, "measured", "measured", users=4, isl=512, osl=128)
    line = replace(benched(best(LOAD), 1.0), speed=speed, model=GGUF.ref, estimate=None)
    line = replace(
        line,
        choice=replace(before, reasons=(), warnings=()),
        machine=calibration.processor(CPU_HOST),
        engine=calibration.engine(before.stack, before.release),
    )
    assert advise(CPU_HOST, GGUF, wanted, Calibration(speeds=(line,))).choices[0].speed == speed


def test_bad_lines_of_the_file_lose_nothing(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    line = benched(best(LOAD), 2.0)
    keep_speed(workspace, line)
    with workspace.speeds.open("a", encoding="utf-8") as file:
        file.write('{"at": 3}\nnot JSON\n')
    keep_speed(workspace, line)
    read = kept(workspace)
    assert read.speeds == (line, line)
    assert read.damage == f"Skipped 2 of the 4 lines of {workspace.speeds}: unreadable."
    assert Note("calibration-damaged", {"damage": read.damage}) in advise(H200, LLAMA, LOAD, read).choices[0].warnings
