from __future__ import annotations

from pathlib import Path

import pytest

from wizard.catalog.recipes import answered, recipe, recipes
from wizard.kernel.errors import UsageError
from wizard.kernel.values import from_data
from wizard.plan.options import Options
from wizard.plan.questions import constraints


def test_the_offline_demo_comes_first_and_needs_no_network() -> None:
    demo = recipes()[0]
    assert (demo.name, demo.title, demo.needs_network) == ("demo", "Offline demo", False)
    assert demo.model == "models/triton-wizard-demo/triton-wizard-demo-q8_0.gguf"
    assert demo.model_in_profiles
    assert demo.first_question == "What is Triton?"
    assert demo.answers == {"temperature": 0.0}


def test_a_recipe_by_name() -> None:
    assert recipe("demo") == recipes()[0]
    with pytest.raises(UsageError) as caught:
        recipe("dem\x1b[31mo")
    assert caught.value.code == "TW-D03"
    assert "demo" in caught.value.todo
    assert "\x1b" not in str(caught.value)


def profile(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.toml").write_text(text)
    monkeypatch.setenv("TRITON_WIZARD_PROFILES", str(folder.parent))


def test_recipes_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile(tmp_path / "recipes", 'title="T"\nabout="A"\nsource="S"\nmodel="org/name"\n', monkeypatch)
    mine = recipe("mine")
    assert (mine.model_in_profiles, mine.needs_network, mine.answers) == (False, True, {})
    names = [recipe.name for recipe in recipes()]
    assert names[0] == "demo"
    assert "mine" in names


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("title", "TW-D02"),
        ('title="T"', "TW-K01"),
        ("answers=3", "TW-K01"),
        ('title="T"\nabout="A"\nsource="S"\nmodel="org/name"\nfrist_question="Q"', "TW-K01"),
    ],
)
def test_an_invalid_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, code: str) -> None:
    profile(tmp_path / "recipes", text, monkeypatch)
    with pytest.raises(UsageError) as caught:
        recipes()
    assert caught.value.code == code
    assert "mine.toml" in caught.value.what


def test_a_recipes_answers_are_beneath_what_was_given() -> None:
    answers = answered("tutorial-000", {"users": 4, "tp": 2}, recipes())
    assert (answers["stack"], answers["release"], answers["users"], answers["tp"]) == ("trtllm-engine", "24.09", 4, 2)
    assert answered("org/name", {"users": 4}, recipes()) == {"users": 4}


@pytest.mark.parametrize(
    ("name", "given", "release"),
    [
        ("tutorial-004", {}, "24.05"),
        ("tutorial-004", {"engine_python": "none"}, "24.05"),
        ("tutorial-004", {"runtime": "docker"}, "24.05"),
        ("tutorial-004", {"engine_python": "/opt/venv/bin/python"}, None),
        ("tutorial-004", {"runtime": "native"}, None),
        ("tutorial-004", {"runtime": "native", "release": "25.11"}, "25.11"),
        ("tutorial-000", {"runtime": "native"}, "24.09"),
    ],
)
def test_a_recipes_image_is_left_out_where_no_image_serves(
    name: str, given: dict[str, object], release: str | None
) -> None:
    assert answered(name, given, recipes()).get("release") == release


def test_what_recipes_settle_is_what_can_be_settled() -> None:
    for entry in recipes():
        assert constraints(entry.answers) is not None
        assert from_data(Options, entry.options, where=entry.name) is not None
