"""Fits, tight or no: the rule at its edges, and how it is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wizard.advise.advice import Advice, Choice, Constraints, Memory, Rejection, Speed
from wizard.advise.fit import COMFORTABLE
from wizard.advise.ranking import advise
from wizard.advise.reasons import because, change
from wizard.advise.verdict import Verdict, verdict
from wizard.catalog.goals import DEFAULT_USERS
from wizard.kernel.units import GIB, size
from wizard.model.facts import ModelFacts, Quantization
from wizard.model.source import find
from wizard.probe.shorthand import host
from wizard.texts.advise import verdict as verdict_words

MEMORY = Memory(1, 1, 1, 1, 1, 4, 10)
CHOICE = Choice("vllm", "docker", "bfloat16", "none", "auto", 1, 1, DEFAULT_USERS, COMFORTABLE, "x", MEMORY, (0,))
FACTS = ModelFacts("a/b", "hub", "a/b", "b", None, None, weight_bytes=30 * GIB)
GPU = host("1xA10")


def why(verdict: Verdict) -> str:
    return verdict_words(verdict)[1]


def of(*choices: Choice, facts: ModelFacts = FACTS) -> Verdict:
    return verdict(GPU, facts, Advice(True, choices))


@pytest.mark.parametrize(
    ("choice", "word"),
    [
        (CHOICE, "fits"),
        (replace(CHOICE, max_batch_size=DEFAULT_USERS - 1), "tight"),
        (replace(CHOICE, max_seq_len=COMFORTABLE - 1), "tight"),
        (replace(CHOICE, quantization="int4_awq"), "tight"),
        (replace(CHOICE, quantization=None), "fits"),
    ],
)
def test_where_fits_ends(choice: Choice, word: str) -> None:
    assert of(choice).word == word


def test_a_model_of_little_context_fits_with_all_of_it() -> None:
    assert of(replace(CHOICE, max_seq_len=2048), facts=replace(FACTS, max_context=2048)).word == "fits"


def test_a_model_that_is_published_in_few_bits_fits_so() -> None:
    facts = replace(FACTS, quantization=Quantization("awq", 4, None, "int4_awq"))
    assert of(replace(CHOICE, quantization="int4_awq"), facts=facts).word == "fits"


def test_a_single_good_choice_is_enough_even_if_it_is_not_the_first() -> None:
    fast = replace(CHOICE, quantization="fp8", max_batch_size=16)
    wide = replace(CHOICE, tp=2, devices=(0, 1))
    speed = Speed(25.0, 160.0, 90.0, 20.0, 30.0, "roofline")
    assert of(fast, replace(wide, speed=speed)) == Verdict("fits", because("served", gpus=2, tpot_ms=25.0, load=None))


def test_a_tight_fit_has_its_reason() -> None:
    assert "only as FP8" in why(of(replace(CHOICE, quantization="fp8")))
    assert "only as INT4 AWQ" in why(of(replace(CHOICE, quantization="int4_awq")))
    assert why(of(replace(CHOICE, max_batch_size=1, max_seq_len=2048))) == "1 user with up to 2,048 tokens"


def test_too_little_memory_has_both_figures_and_others_the_first_sentence() -> None:
    reason = because("only-unpacked", format="fp8", wanted=(8, 9), gpu="A100", capability=(8, 0))
    too_large = Rejection("vllm", "none", 1, 1, "memory", reason, (change(tp=2),))
    rating = verdict(GPU, FACTS, Advice(False, (), (too_large,)))
    assert rating.word == "no"
    assert why(rating) == f"30.0 GiB of weights, {size(GPU.gpus[0].memory_free_bytes)} free"
    cpu = host("cpu")
    assert f"{size(cpu.memory_available_bytes)} free" in why(verdict(cpu, FACTS, Advice(False, (), (too_large,))))
    other = replace(too_large, code="driver")
    both = because("and", problem=reason, why=because("no-container-engine"))
    sentence = "Tensor cores support FP8 on compute capability 8.9 or higher; the A100 has 8.0"
    assert why(verdict(GPU, FACTS, Advice(False, (), (other,)))) == sentence
    assert why(verdict(GPU, FACTS, Advice(False, (), (replace(other, reason=both),)))) == sentence
    assert why(verdict(GPU, FACTS, Advice(False))) == ""


def test_what_is_known_of_real_models_on_real_gpus() -> None:
    words = {
        facts.name: verdict(GPU, facts, advise(GPU, facts, Constraints())).word
        for size in ("7B", "14B")
        for facts in [find(f"Qwen/Qwen2.5-{size}-Instruct", offline=True)]
    }
    assert words["Qwen2.5-7B-Instruct"] == "fits"
    assert words["Qwen2.5-14B-Instruct"] == "tight"
    small = host("1xT4")
    large = find("Qwen/Qwen2.5-32B-Instruct", offline=True)
    assert verdict(small, large, advise(small, large, Constraints())).word == "no"
