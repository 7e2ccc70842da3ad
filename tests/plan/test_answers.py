"""Answers in files."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.paths import Workspace
from wizard.plan.answers import answers_file, load_answers, read_answers, ready_made, save_answers
from wizard.plan.questions import SYSTEM


def code(error: pytest.ExceptionInfo[UsageError]) -> str:
    return error.value.code


def written(text: str) -> Path:
    path = Path("answers.toml")
    path.write_text(text)
    return path


def test_a_file_of_answers() -> None:
    path = written('model = "demo"\nusers = 2\ntemperature = 0\naccept = true\ntp = 2\n')
    assert read_answers(path) == {"model": "demo", "users": 2, "temperature": 0.0, "accept": True, "tp": 2}
    assert read_answers(str(path))["users"] == 2


@pytest.mark.parametrize(
    ("text", "expected", "hint"),
    [
        ('modle = "demo"', "TW-U30", "Did you mean model?"),
        ("zzz = 1", "TW-U30", "Valid: model"),
        ('quantization = "fp9"', "TW-U32", "quantization cannot be"),
        ("tp = 0", "TW-U32", "tp cannot be 0"),
        ('users = "two"', "TW-U31", "users must be an integer"),
        ("users = true", "TW-U31", "users must be an integer"),
        ("users = 2.0", "TW-U31", "users must be an integer"),
        ("model = []", "TW-U31", "model must be a string"),
        ("users = -1", "TW-U32", "users cannot be -1"),
        ("temperature = nan", "TW-U32", "temperature cannot be nan"),
        ('hf_token = "hf_abc"', "TW-U34", "HF_TOKEN"),
        ("model = ", "TW-D02", "Fix or remove the file"),
    ],
)
def test_a_file_that_cannot_be_used(text: str, expected: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_answers(written(text))
    assert code(raised) == expected
    assert hint in str(raised.value)
    assert "answers.toml" in raised.value.what
    assert "hf_abc" not in str(raised.value)


@pytest.mark.parametrize(
    ("table", "expected", "hint"),
    [
        ("[answers]\nas_publised = true", "TW-U30", "Did you mean as_published?"),
        ('[answers]\nstack = "vlm"', "TW-U32", "stack cannot be 'vlm'"),
        ("[options]\nmax_num_seq = 4", "TW-K01", "max_num_seq: unknown field"),
    ],
)
def test_a_recipe_with_a_typo(monkeypatch: pytest.MonkeyPatch, table: str, expected: str, hint: str) -> None:
    Path("recipes").mkdir()
    Path("recipes/mine.toml").write_text(f'title="T"\nabout="A"\nsource="S"\nmodel="org/name"\n{table}\n')
    monkeypatch.setenv("TRITON_WIZARD_PROFILES", str(Path.cwd()))
    with pytest.raises(UsageError) as raised:
        ready_made()
    assert code(raised) == expected
    assert hint in str(raised.value)
    assert "profiles/recipes/mine.toml" in raised.value.what


def test_a_long_name_is_shortened() -> None:
    with pytest.raises(UsageError) as raised:
        read_answers(written(f"{'x' * 61} = 1"))
    assert raised.value.what == f"unknown key '{'x' * 60}' in answers.toml"


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
