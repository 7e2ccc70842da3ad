"""Questions as data."""

from __future__ import annotations

from dataclasses import fields

import pytest

from wizard.advise.advice import Constraints
from wizard.catalog import stacks
from wizard.kernel.errors import UsageError
from wizard.kernel.values import to_data
from wizard.plan import questions
from wizard.plan.questions import (
    ACCEPT,
    BY_NAME,
    CONSTRAINTS,
    GOAL,
    HF_TOKEN,
    MODEL,
    QUANTIZATION,
    QUESTIONS,
    SEED,
    SETUP,
    STACK,
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


@pytest.mark.parametrize(
    ("question", "typed", "value"),
    [
        (USERS, " 8 ", 8),
        (USERS, "", 4),
        (SEED, "", None),
        (TEMPERATURE, "1", 1.0),
        (ACCEPT, "Y", True),
        (ACCEPT, "no", False),
        (GOAL, "quality", "quality"),
        (MODEL, " demo ", "demo"),
    ],
)
def test_typed_answers(question: questions.Question, typed: str, value: object) -> None:
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
def test_wrong_answers_name_the_question(question: questions.Question, typed: str, expected: str) -> None:
    with pytest.raises(UsageError) as raised:
        question.parse(typed)
    assert code(raised) == expected
    assert question.name in raised.value.what
    assert raised.value.todo == f"Use another value. {question.help}".strip(), "for every interface; only one has flags"


def test_a_wrong_secret_is_not_repeated() -> None:
    with pytest.raises(UsageError) as raised:
        HF_TOKEN.parse("hf_\x01secret")
    assert "secret" not in str(raised.value).replace("hf_token", "")


def test_with_temperature_0_chance_is_not_asked_about() -> None:
    assert not TOP_P.when({"temperature": 0.0})
    assert TOP_P.when({})


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
    answers |= {"release": "24.09", "runtime": "native", "engine_python": "/opt/venv/bin/python"}
    assert to_data(constraints(answers)) == answers


def test_every_constraint_is_a_question_and_every_such_question_a_constraint() -> None:
    assert {constraint.name for constraint in (*CONSTRAINTS, *SETUP)} == {field.name for field in fields(Constraints)}
    assert {constraint.flag for constraint in (*CONSTRAINTS, *SETUP)} == {
        "--" + field.name.replace("_", "-") for field in fields(Constraints)
    }
    assert STACK.options == stacks.names()


@pytest.mark.parametrize(
    ("typed", "hint"), [("int4_akq", "int4_awq"), ("FP8", "unknown format"), ("", "unknown format")]
)
def test_an_unknown_format_is_refused_with_the_nearest(typed: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        QUANTIZATION.check(typed)
    assert code(raised) == "TW-U32"
    assert hint in raised.value.what
    assert QUANTIZATION.check("gguf_q4_k_m") == "gguf_q4_k_m"
