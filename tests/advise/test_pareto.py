"""The Pareto front: only what no other setup exceeds, each with its load; what is unknown is named, never placed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.advise import test_offload as offloaded
from tests.advise.worlds import LLAMA_8B, LLAMA_70B, facts_of, machine
from tests.values import CPU_HOST, GGUF
from wizard.advise import ranking
from wizard.advise.advice import Choice, Constraints
from wizard.advise.calibration import NOTHING, Calibration, processor
from wizard.advise.candidates import candidates
from wizard.advise.pareto import USERS, Front, constrained, front
from wizard.advise.reasons import Reason
from wizard.catalog.goals import goal
from wizard.probe.cpu_rates import CpuRates
from wizard.probe.host import HERE
from wizard.prompts.value_text import pareto_text
from wizard.texts import pareto


def ask(gpus: str, model: str = LLAMA_8B, **constraints: object) -> Front:
    return front(machine(gpus), facts_of(model), Constraints(**constraints))  # type: ignore[arg-type]


def figures(choice: Choice) -> tuple[float, float] | None:
    speed = choice.speed
    if speed is None or not speed.tpot_ms or not speed.throughput_tokens_per_s:
        return None
    return 1000 / speed.tpot_ms, speed.throughput_tokens_per_s


@pytest.mark.parametrize(("gpus", "model"), [("1xL4", LLAMA_8B), ("4xL40S", LLAMA_70B), ("8xH100", LLAMA_70B)])
def test_no_setup_of_any_number_of_users_exceeds_a_point_on_both_axes(gpus: str, model: str) -> None:
    points = ask(gpus, model).points
    assert points
    for users in USERS:
        asked = Constraints(goal="throughput", users=users, isl=1024, osl=256)
        for choice in candidates(machine(gpus), facts_of(model), asked, NOTHING)[0]:
            if (mine := figures(choice)) is not None:
                beaten = [
                    point for point in points if point.tokens_per_s_per_user < mine[0] and point.tokens_per_s < mine[1]
                ]
                assert not beaten, (choice, beaten)


def test_points_go_from_the_fastest_to_the_highest_throughput() -> None:
    points = ask("8xH100", LLAMA_70B).points
    assert [point.tokens_per_s_per_user for point in points] == sorted(
        (point.tokens_per_s_per_user for point in points), reverse=True
    )
    totals = [point.tokens_per_s for point in points]
    assert totals == sorted(totals)
    assert len(set(totals)) == len(totals)


@pytest.mark.parametrize("name", ["chat", "documents", "code"])
def test_every_point_has_the_same_requests_and_says_its_users(name: str) -> None:
    made = ask("8xH100", goal=name)
    assert (made.isl, made.osl) == (goal(name).isl, goal(name).osl)
    for point in made.points:
        speed = point.choice.speed
        assert speed
        assert (speed.isl, speed.osl) == (made.isl, made.osl)
        assert point.users == speed.users == speed.served
        assert point.users <= point.choice.users
        assert point.choice.max_seq_len >= made.isl + made.osl


def test_the_users_of_replicas_are_all_of_them() -> None:
    for point in ask("7xA6000").points:
        assert point.choice.users - point.choice.replicas < point.users <= point.choice.users


def test_a_model_for_short_contexts_gets_requests_that_it_was_trained_for() -> None:
    made = ask("1xL4", "openai-community/gpt2")
    assert made.isl + made.osl <= 1024
    assert made.points


@pytest.mark.parametrize("limits", [{"isl": 100_000}, {"max_len": 4096, "isl": 8192}, {"max_len": 1 << 20}])
def test_requests_that_the_model_does_not_take_are_rejected_as_by_the_advice(limits: dict[str, int]) -> None:
    facts, asked = replace(facts_of(LLAMA_8B), max_context=40_960), Constraints(**limits)  # type: ignore[arg-type]
    made = front(machine("1xL4"), facts, asked)
    assert not made.points
    assert made.rejections == ranking.advise(machine("1xL4"), facts, asked).rejections
    assert made.isl == limits.get("isl", made.isl)


def test_a_setup_of_unknown_throughput_is_named_with_its_own_reason() -> None:
    """Prompts were not measured with layers on a GPU, so nothing is known but the time between two tokens."""
    laptop = offloaded.laptop()
    assert offloaded.first(laptop, offloaded.LLAMA_8B, Constraints(users=1)).offload
    made = front(laptop, offloaded.LLAMA_8B, Constraints(users=1))
    assert next(each.why.code for each in made.unknown if isinstance(each.why, Reason)) == "offload-throughput-unknown"
    (line,) = (line for line in pareto.remarks(made) if "layers on a GPU" in line)
    assert "bandwidth of the CPU" not in line


def test_a_point_on_the_cpu_stays_there_if_a_gpu_could_serve() -> None:
    laptop = replace(offloaded.laptop(), source=HERE)
    past = Calibration(cpu=CpuRates(processor(laptop), laptop.cpu.cores, 60e9, "2026-11-23"))
    made = front(laptop, offloaded.LLAMA_8B, Constraints(), past)
    assert made.points
    for point in made.points:
        assert not point.choice.devices
        again = ranking.advise(laptop, offloaded.LLAMA_8B, constrained(Constraints(), point), past).choices[0]
        assert again.speed == point.choice.speed


def test_explicit_constraints_are_kept() -> None:
    made = ask("4xL40S", users=6, quantization="fp8", stack="vllm")
    assert made.points
    for point in made.points:
        assert (point.choice.stack, point.choice.quantization) == ("vllm", "fp8")
        assert point.users == 6


def test_a_limit_of_the_users_rules_slower_points_out() -> None:
    fast = ask("1xH100", tpot=10.0)
    assert fast.points
    assert all(point.tokens_per_s_per_user >= 100 for point in fast.points)
    assert len(fast.points) < len(ask("1xH100").points)


def test_an_unknown_speed_is_named_and_not_placed() -> None:
    """That of speculative decoding."""
    made = ask("1xH100", speculative="ngram", stack="vllm")
    assert not made.points
    assert {each.stack for each in made.unknown} == {"vllm"}
    assert any("vLLM" in line for line in pareto.remarks(made))


def test_on_a_processor_that_was_not_measured_nothing_is_placed() -> None:
    made = front(CPU_HOST, GGUF, Constraints())
    assert not made.points
    assert "probe --measure" in " ".join(pareto.remarks(made))


def test_what_cannot_be_served_is_rejected_with_its_reasons() -> None:
    made = ask("1xT4", LLAMA_70B)
    assert not made.points
    assert made.rejections


def test_a_point_as_constraints_is_advised_again() -> None:
    asked = Constraints(goal="code", cost_per_hour=3.0)
    made = front(machine("4xL40S"), facts_of(LLAMA_8B), asked)
    for point in made.points:
        again = ranking.advise(machine("4xL40S"), facts_of(LLAMA_8B), constrained(asked, point)).choices[0]
        assert again.speed == point.choice.speed
        assert (again.stack, again.replicas, again.tp) == (
            point.choice.stack,
            point.choice.replicas,
            point.choice.tp,
        )


def test_rows_and_letters_name_every_setup_once() -> None:
    made = front(machine("8xH100"), facts_of(LLAMA_70B), Constraints(cost_per_hour=20.0))
    letters = pareto.setups(made)
    assert len(set(letters.values())) == len(letters)
    rows = pareto.rows(made)
    assert len(rows) == len(made.points)
    assert {row[0] for row in rows} == set(letters.values())
    assert all(len(row) == len(pareto.head(made)) for row in rows)
    sentences = pareto.sentences(made)
    assert len(sentences) == len(made.points)
    for row, sentence in zip(rows, sentences, strict=True):
        assert sentence.endswith(f"TTFT {row[-2]}, {row[-1]} per million output tokens")


def test_the_heading_names_the_model_and_promises_nothing_without_points() -> None:
    full = ask("1xL4")
    assert LLAMA_8B in pareto.heading(full)
    assert "no other setup" in pareto.heading(full)
    empty, refused = replace(full, points=()), ask("1xT4", LLAMA_70B)
    for made in (empty, refused):
        assert made.model in pareto.heading(made)
        assert "no other setup" not in pareto.heading(made)
    assert "768 tokens in" not in pareto.heading(refused)


def test_one_point_has_no_plot() -> None:
    full = ask("1xL4")
    assert not pareto.plot(replace(full, points=full.points[:1]), 76, 16)
    text = pareto_text(replace(full, points=full.points[:1]))
    assert "logarithmic" not in text
    assert "\n\n\n" not in text
    assert pareto.plot(full, 76, 16)


@pytest.mark.parametrize("columns", [30, 40, 79, 100])
def test_a_table_wider_than_the_terminal_becomes_sentences(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    text = pareto_text(ask("1xL4", cost_per_hour=0.8))
    assert all(len(line) <= columns for line in text.split("\n"))
    assert ("tokens/s total" in text) == (columns >= 79)
    assert ("tokens/s per user" in " ".join(text.split())) == (columns < 79)


FRONT = ask("8xH100", LLAMA_70B)


@settings(deadline=None, max_examples=60)
@given(columns=st.integers(1, 200), lines=st.integers(1, 60), count=st.integers(0, 12))
def test_a_plot_stays_in_its_room_and_shows_the_ends(columns: int, lines: int, count: int) -> None:
    made = replace(FRONT, points=FRONT.points[:count])
    drawn = pareto.plot(made, columns, lines)
    assert len(drawn) <= lines
    assert all(len(line) <= max(columns, len(drawn[0])) for line in drawn)
    if drawn:
        area = "".join(line.partition("|")[2] for line in drawn[1:-2])
        letters = pareto.setups(made)
        shown = set(letters.values())
        assert set(area) - {" "} <= shown
        assert area.strip()


def test_users_double_up_to_a_thousand() -> None:
    assert USERS == (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
