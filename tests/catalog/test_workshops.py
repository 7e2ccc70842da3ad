"""A facilitator's file is read, and every mistake in it is told before anything is shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from wizard.catalog.profiles import files
from wizard.catalog.workshops import Say, Workshop, workshop
from wizard.kernel.errors import UsageError
from wizard.kernel.language import LANGUAGES

Written: TypeAlias = Callable[[str], str]
FULL = """
title = "Two hours with Triton"
text = "Welcome."
hide = ["machine", "advice"]
ports_per_seat = 5
shared_workspace = true
explain = false
language = "ko"

[pin]
model = "demo"
users = 2

[say.stages]
model = "Take the first one."

[say.steps]
start = "Look at the ports."
"""


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a file of a workshop and says where it is."""

    def write(text: str) -> str:
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def refused(name: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        workshop(name)
    return caught.value


def test_a_whole_file(written: Written) -> None:
    assert workshop(written(FULL)) == Workshop(
        title="Two hours with Triton",
        text="Welcome.",
        pin={"model": "demo", "users": 2},
        hide=("machine", "advice"),
        say=Say({"model": "Take the first one."}, {"start": "Look at the ports."}),
        ports_per_seat=5,
        shared_workspace=True,
        explain=False,
        language="ko",
    )


def test_a_title_is_enough_and_explanations_are_shown(written: Written) -> None:
    assert workshop(written('title = "Mine"')) == Workshop("Mine")
    assert Workshop("Mine").explain


@pytest.mark.parametrize("name", list(files("workshops")))
def test_what_is_shipped_can_be_read_by_its_name(name: str) -> None:
    assert workshop(name).title


def test_there_is_one_to_begin_with() -> None:
    first = workshop("first-server")
    assert first.pin["model"] == "demo"
    assert first.explain
    sentences = " ".join((first.text, *first.say.stages.values(), *first.say.steps.values()))
    assert not re.search(r"\bF\d|arrow|screen explains|bar\b", sentences), "a plain terminal says it, too"


def test_none_of_that_name(tmp_path: Path) -> None:
    error = refused(str(tmp_path / "none.toml"))
    assert error.code == "TW-D20"
    assert "first-server" in error.todo


def test_no_toml(written: Written) -> None:
    assert refused(written("title = ")).code == "TW-D02"


def test_no_title(written: Written) -> None:
    error = refused(written('text = "Welcome."'))
    assert error.code == "TW-K01"
    assert "title" in error.what


def test_a_field_of_another_kind(written: Written) -> None:
    error = refused(written('title = "Mine"\nports_per_seat = "many"'))
    assert error.code == "TW-K01"
    assert "ports_per_seat" in error.what


@pytest.mark.parametrize(
    ("text", "key", "meant"),
    [('hides = ["model"]', "'hides'", "hide"), ('[say.stage]\nmodel = "x"', "'say.stage'", "stages")],
)
def test_a_key_that_means_nothing(written: Written, text: str, key: str, meant: str) -> None:
    error = refused(written(f'title = "Mine"\n{text}'))
    assert error.code == "TW-D21"
    assert key in error.what
    assert f"Did you mean {meant}?" in error.todo


@pytest.mark.parametrize("name", ["build", "chat", "advise"])
def test_a_screen_that_cannot_be_hidden(written: Written, name: str) -> None:
    error = refused(written(f'title = "Mine"\nhide = ["{name}"]'))
    assert error.code == "TW-D22"
    assert repr(name) in error.what
    assert "machine, model, advice, review, bench" in error.todo


@pytest.mark.parametrize(("table", "name"), [("stages", "reviews"), ("steps", "machine"), ("stages", "engine-test")])
def test_texts_about_what_does_not_exist(written: Written, table: str, name: str) -> None:
    error = refused(written(f'title = "Mine"\n[say.{table}]\n{name} = "x"'))
    assert error.code == "TW-D23"
    assert repr(name) in error.what


@pytest.mark.parametrize("count", [-1, 1, 2])
def test_ports_that_would_overlap(written: Written, count: int) -> None:
    error = refused(written(f'title = "Mine"\nports_per_seat = {count}'))
    assert error.code == "TW-D24"
    assert str(count) in error.what


def test_a_language_that_there_is_not(written: Written) -> None:
    error = refused(written('title = "Mine"\nlanguage = "tlh"'))
    assert error.code == "TW-D25"
    assert ", ".join(LANGUAGES) in error.todo


def test_the_file_in_the_documentation_is_one(written: Written) -> None:
    page = (Path(__file__).parents[2] / "docs" / "workshops.md").read_text(encoding="utf-8")
    example = workshop(written(page.split("```toml\n")[1].split("```")[0]))
    assert example.ports_per_seat == 10
    assert example.say.steps
