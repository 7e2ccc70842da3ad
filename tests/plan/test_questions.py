"""Questions as data."""

from __future__ import annotations

from dataclasses import fields

import pytest

from wizard.advise.advice import Constraints
from wizard.catalog import stacks
from wizard.kernel.errors import UsageError
from wizard.kernel.values import to_data
from wizard.plan.question import Question
from wizard.plan.questions import (
    ACCEPT,
    BY_NAME,
    CONSTRAINTS,
    ENGINE_PYTHON,
    GOAL,
    GPU_MEMORY_UTILIZATION,
    HF_TOKEN,
    MODEL,
    QUANTIZATION,
    QUESTIONS,
    SEED,
    SETUP,
    STACK,
    SYSTEM,
    TEMPERATURE,
    TOP_P,
    USERS,
    constraints,
)


def code(error: pytest.ExceptionInfo[UsageError]) -> str:
    return error.value.code


def test_every_question_is_complete_and_named_once() -> None:
    assert len(BY_NAME) == len(QUESTIONS)
    for question in QUESTIONS:
        assert question.name.isidentifier()
        assert question.text
        assert question.flag
        assert question.help
        assert bool(question.options) == (question.kind == "choice")
        if question.default is not None:
            assert question.check(question.default) == question.default


BOUNDS: dict[str, tuple[float, int]] = {
    "users": (1, 1_000_000),
    "max_len": (1, 10_000_000),
    "tp": (1, 1024),
    "pp": (1, 1024),
    "max_gpus": (0, 1024),
    "replicas": (1, 1024),
    "dp": (1, 1024),
    "isl": (1, 10_000_000),
    "osl": (1, 1_000_000),
    "ttft": (1, 86_400_000),
    "tpot": (0.1, 60_000),
    "cost_per_hour": (0.0001, 1_000_000),
    "http_port": (1, 65_533),
    "max_tokens": (1, 1_000_000),
    "seed": (0, 9_223_372_036_854_775_807),
    "temperature": (0, 2),
}
"""Two ports follow the first, up to 65,535; Triton's seed is an INT64."""


@pytest.mark.parametrize("name", BOUNDS)
def test_a_number_is_right_up_to_its_bounds(name: str) -> None:
    question, (least, most) = BY_NAME[name], BOUNDS[name]
    assert [question.check(least), question.check(most)] == [least, most]
    for beyond in (least - 1, most + 1):
        with pytest.raises(UsageError) as raised:
            question.check(beyond)
        assert code(raised) == "TW-U32"
        assert raised.value.what.endswith(f": it must be from {least:,} to {most:,}")


def test_every_number_has_bounds() -> None:
    shares = {TOP_P.name, GPU_MEMORY_UTILIZATION.name}
    assert {question.name for question in QUESTIONS if question.kind in ("int", "float")} == {*BOUNDS} | shares


@pytest.mark.parametrize("question", [TOP_P, GPU_MEMORY_UTILIZATION])
def test_a_share_is_above_0_and_at_most_1(question: Question) -> None:
    assert [question.check(share) for share in (0.001, 0.5, 1)] == [0.001, 0.5, 1.0]
    for wrong in (-0.5, 0, 1.001, 2):
        with pytest.raises(UsageError, match="it must be above 0 and at most 1"):
            question.check(wrong)


def test_an_empty_answer_is_the_default_or_leaves_it_to_the_wizard() -> None:
    empty = {question.name: question.parse(" ") for question in QUESTIONS if not question.required}
    assert {name: value for name, value in empty.items() if value is not None} == {
        "goal": "chat",
        "users": 4,
        "expert_parallel": False,
        "as_published": False,
        "p99": False,
        "http_port": 8000,
        "top_p": 0.95,
    }
    assert [question.name for question in QUESTIONS if question.required] == ["model", "accept"]


def test_every_question_matters_before_any_answer() -> None:
    assert all(question.when({}) for question in QUESTIONS)


@pytest.mark.parametrize(
    ("question", "typed", "value"),
    [
        (USERS, " 8 ", 8),
        (SYSTEM, "No", "No"),
        (SYSTEM, "12", "12"),
        (USERS, "", 4),
        (SEED, "", None),
        (TEMPERATURE, "1", 1.0),
        (ACCEPT, "Y", True),
        (ACCEPT, "no", False),
        (GOAL, "quality", "quality"),
        (MODEL, " demo ", "demo"),
    ],
)
def test_typed_answers(question: Question, typed: str, value: object) -> None:
    assert question.parse(typed) == value
    assert type(question.parse(typed)) is type(value)


@pytest.mark.parametrize(
    ("question", "typed", "expected"),
    [
        (USERS, "many", "TW-U31"),
        (USERS, "1.5", "TW-U31"),
        (USERS, "0", "TW-U32"),
        (TEMPERATURE, "inf", "TW-U32"),
        (ACCEPT, "perhaps", "TW-U31"),
        (ACCEPT, "", "TW-U31"),
        (GOAL, "fun", "TW-U32"),
        (MODEL, "", "TW-U32"),
        (MODEL, "a\nb", "TW-U32"),
        (BY_NAME["name"], "Not Good", "TW-U32"),
        (BY_NAME["http_port"], "70000", "TW-U32"),
    ],
)
def test_wrong_answers_name_the_question(question: Question, typed: str, expected: str) -> None:
    with pytest.raises(UsageError) as raised:
        question.parse(typed)
    assert code(raised) == expected
    assert question.name in raised.value.what
    about = "" if question.kind in ("int", "float") else question.help
    assert raised.value.todo == f"Use another value. {about}".strip(), "for every interface; only one has flags"


def test_a_misspelled_choice_is_recognized() -> None:
    with pytest.raises(UsageError, match=r"it must be one of none, ngram, .*; did you mean ngram"):
        BY_NAME["speculative"].parse("ngran")


def test_a_wrong_secret_is_not_repeated() -> None:
    with pytest.raises(UsageError) as raised:
        HF_TOKEN.parse("hf_\x01secret")
    assert "secret" not in str(raised.value).replace("hf_token", "")


@pytest.mark.parametrize(
    ("length", "shown"), [(58, f"'{'x' * 58}'"), (59, f"'{'x' * 56}…")], ids=["60 characters", "61 characters"]
)
def test_a_long_wrong_answer_is_shortened(length: int, shown: str) -> None:
    with pytest.raises(UsageError) as raised:
        GOAL.check("x" * length)
    assert raised.value.what.startswith(f"goal cannot be {shown}: it must be one of chat, documents, code")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("", "it must not be empty"),
        ("/opt/a:b/python", "a path with a colon cannot be on PATH"),
        ("/opt/\n/python", "it contains a line break or a control character"),
    ],
)
def test_a_python_whose_folder_cannot_be_on_path_is_refused(answer: str, problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        ENGINE_PYTHON.check(answer)
    assert raised.value.what.endswith(f": {problem}")


@pytest.mark.parametrize(("temperature", "matters"), [(0, False), (0.0, False), (0.1, True), (1, True), (1.0, True)])
def test_with_temperature_0_chance_is_not_asked_about(temperature: float, matters: bool) -> None:
    assert TOP_P.when({"temperature": temperature}) is matters
    assert SEED.when({"temperature": temperature}) is matters


def test_constraints_from_answers() -> None:
    assert constraints({"model": "demo", "users": 9, "seed": 3}) == Constraints(users=9)
    assert constraints({}) == Constraints()
    setup = {"quantization": "fp8", "tp": 2, "pp": 2, "kv_dtype": "fp8", "stack": "vllm", "max_gpus": 4}
    answers = {
        **setup,
        "gpu_memory_utilization": 0.8,
        "as_published": True,
        "goal": "quality",
        "max_len": 9,
        "users": 1,
    }
    answers |= {
        "isl": 5,
        "osl": 4,
        "ttft": 900.0,
        "tpot": 25.5,
        "p99": True,
        "replicas": 3,
        "dp": 2,
        "expert_parallel": True,
        "speculative": "eagle3",
        "draft": "me/eagle3",
        "cost_per_hour": 2.5,
    }
    answers |= {"release": "24.09", "runtime": "native", "engine_python": "/opt/venv/bin/python"}
    assert to_data(constraints(answers)) == answers


def test_every_constraint_is_a_question_and_every_such_question_a_constraint() -> None:
    assert {constraint.name for constraint in (*CONSTRAINTS, *SETUP)} == {field.name for field in fields(Constraints)}
    assert {constraint.flag for constraint in (*CONSTRAINTS, *SETUP)} == {
        "--" + field.name.replace("_", "-") for field in fields(Constraints)
    }
    assert STACK.options == stacks.names()


@pytest.mark.parametrize(
    ("typed", "full"),
    [
        ("q4", "gguf_q4_k_m"),
        ("Q4_K_M", "gguf_q4_k_m"),
        ("q8", "gguf_q8_0"),
        ("q3_k_m", "gguf_q3_k_m"),
        ("iq4_xs", "gguf_iq4_xs"),
        ("gguf_Q6_K", "gguf_q6_k"),
        ("awq", "int4_awq"),
        ("GPTQ", "int4_gptq"),
        ("int4-awq", "int4_awq"),
        ("FP8", "fp8"),
        ("bf16", "none"),
        ("16-bit", "none"),
        (" none ", "none"),
    ],
)
def test_a_short_form_of_one_format_is_that_format(typed: str, full: str) -> None:
    assert QUANTIZATION.parse(typed) == full


@pytest.mark.parametrize("typed", ["int4", "4-bit", "8bit", "fp4", "gguf", "w8a8"])
def test_a_short_form_of_several_formats_is_refused(typed: str) -> None:
    with pytest.raises(UsageError) as raised:
        QUANTIZATION.parse(typed)
    assert code(raised) == "TW-U32"


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("int4_akq", "unknown format; did you mean int4_awq, int4_gptq?"),
        ("FP8", "it can be fp8"),
        ("", "unknown format"),
        ("int4", "it can be int4_wo, int4_awq, int4_gptq, gguf_q4_k_m"),
        ("fp4", "it can be nvfp4, mxfp4"),
        ("q5_k", "it can be gguf_q5_k"),
        ("4bit", "it can be int4_wo, int4_awq, int4_gptq, w4a8_awq, nvfp4, mxfp4, gguf_q4_k_m"),
        ("int8", "it can be int8_sq, int8_wo, gguf_q8_0"),
        ("gguf", "it can be gguf_q8_0, gguf_q6_k, gguf_q5_k_m, gguf_q4_k_m, gguf_mxfp4"),
        ("q3", "unknown format"),
    ],
)
def test_an_unknown_format_is_refused_with_the_nearest(typed: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        QUANTIZATION.check(typed)
    assert code(raised) == "TW-U32"
    assert raised.value.what.endswith(f": {hint}")
    assert QUANTIZATION.check("gguf_q4_k_m") == "gguf_q4_k_m"
