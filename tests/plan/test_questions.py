"""Questions as data, answers in files."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.advise.advice import Wishes
from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.paths import Workspace
from wizard.plan import questions
from wizard.plan.questions import (
    ACCEPT,
    BY_NAME,
    GOAL,
    HF_TOKEN,
    MODEL,
    QUESTIONS,
    SEED,
    SYSTEM,
    TEMPERATURE,
    TOP_P,
    USERS,
    answers_file,
    load_answers,
    read_answers,
    save_answers,
    wishes,
)


def code(error: pytest.ExceptionInfo[UsageError]) -> str:
    return error.value.code


def test_every_question_is_complete_and_named_once() -> None:
    assert len(BY_NAME) == len(QUESTIONS)
    for one in QUESTIONS:
        assert one.name.isidentifier()
        assert one.text
        assert one.flag
        assert one.help
        assert bool(one.choices) == (one.kind == "choice")
        if one.default is not None:
            assert one.check(one.default) == one.default


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
    assert question.flag in raised.value.todo


def test_a_wrong_secret_is_not_repeated() -> None:
    with pytest.raises(UsageError) as raised:
        HF_TOKEN.parse("hf_\x01secret")
    assert "secret" not in str(raised.value).replace("hf_token", "")


def test_with_temperature_0_chance_is_not_asked_about() -> None:
    assert not TOP_P.when({"temperature": 0.0})
    assert TOP_P.when({})


def test_wishes_from_answers() -> None:
    assert wishes({"model": "demo", "users": 9, "seed": 3}) == Wishes(users=9)
    assert wishes({}) == Wishes()


# -- files -------------------------------------------------------------------------------------------------------------


def written(text: str) -> Path:
    path = Path("answers.toml")
    path.write_text(text)
    return path


def test_a_file_of_answers() -> None:
    path = written('model = "demo"\nusers = 2\ntemperature = 0\naccept = true\n')
    assert read_answers(path) == {"model": "demo", "users": 2, "temperature": 0.0, "accept": True}
    assert read_answers(str(path))["users"] == 2


@pytest.mark.parametrize(
    ("text", "expected", "hint"),
    [
        ('modle = "demo"', "TW-U30", "Did you mean model?"),
        ("zzz = 1", "TW-U30", "Known: model"),
        ('users = "two"', "TW-U31", "--users"),
        ("users = true", "TW-U31", "--users"),
        ("users = 2.0", "TW-U31", "--users"),
        ("model = []", "TW-U31", "MODEL"),
        ("users = -1", "TW-U32", "--users"),
        ("temperature = nan", "TW-U32", "--temperature"),
        ('hf_token = "hf_abc"', "TW-U34", "HF_TOKEN"),
        ("model = ", "TW-D02", "Mend the file"),
    ],
)
def test_a_file_that_cannot_be_used(text: str, expected: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_answers(written(text))
    assert code(raised) == expected
    assert hint in raised.value.todo
    assert "hf_abc" not in str(raised.value)


def test_no_such_file() -> None:
    with pytest.raises(UsageError) as raised:
        read_answers("nowhere.toml")
    assert code(raised) == "TW-D02"


def test_partial_answers_survive_without_the_secrets(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "ws")
    assert load_answers(workspace) == {}
    path = save_answers(workspace, {"model": "demo", "hf_token": "hf_secret", "users": 3, "seed": None, "other": 1})
    assert path == answers_file(workspace)
    assert "hf_secret" not in path.read_text()
    assert load_answers(workspace) == {"model": "demo", "users": 3}
    path.write_text("users = [")
    assert load_answers(workspace) == {}


def test_a_workspace_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError):
        save_answers(Workspace(tmp_path / "file"), {"model": "demo"})


# TOML is read as text with universal newlines, and a lone surrogate is no text.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=40)


@given(
    system=TEXTS,
    model=st.text(string.printable.strip() + "äß中😀\"'\\", min_size=1),
    seed=st.integers(0, 2**63 - 1),
    temperature=st.floats(0, 2),
    accept=st.booleans(),
)
def test_saved_answers_are_read_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, system: str, model: str, seed: int, temperature: float, accept: bool
) -> None:
    workspace = Workspace(tmp_path_factory.getbasetemp() / "answers")
    answers = {"model": model, "system": system, "seed": seed, "temperature": temperature, "accept": accept}
    save_answers(workspace, answers)
    assert read_answers(answers_file(workspace)) == answers
    assert SYSTEM.check(system) == system
