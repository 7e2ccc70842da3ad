"""Every language is complete: no message without a translation, none with other fields, none that nobody says."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from wizard.chat.settings import SETTINGS
from wizard.kernel.language import LANGUAGES
from wizard.plan.questions import BY_NAME

TRANSLATIONS = Path(__file__).resolve().parent.parent / "translations"
sys.path.insert(0, str(TRANSLATIONS))

import update  # noqa: E402

OTHERS = [code for code in LANGUAGES if code != "en"]


def test_there_are_messages_of_every_part() -> None:
    places = {place.split("/")[1] for message in update.messages() for place, _line in message.locations}
    assert {"advise", "plan", "tui", "prompts", "cli", "chat", "run", "probe", "model", "recipes"} <= places


def test_a_message_is_no_f_string() -> None:
    """What is put together before it is looked up is in no catalog."""
    for path in sorted((TRANSLATIONS.parent / "wizard").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in update.KEYWORDS:
                assert not any(isinstance(argument, ast.JoinedStr) for argument in node.args), f"{path}:{node.lineno}"


def test_all_texts_of_a_question_are_messages() -> None:
    ids = {message.id for message in update.messages() if message.id}
    for question in (*BY_NAME.values(), *SETTINGS):
        assert {question.text, question.help, question.otherwise} - {""} <= ids, question.name


@pytest.mark.parametrize("code", OTHERS)
def test_a_language_is_complete(code: str) -> None:
    assert update.problems(update.read(code)) == []


@pytest.mark.parametrize("code", OTHERS)
def test_a_catalog_has_all_messages_and_no_others(code: str) -> None:
    assert update.source(code).read_bytes() == update.as_po(update.updated(code)), "run translations/update.py"


@pytest.mark.parametrize("code", OTHERS)
def test_what_is_compiled_is_what_is_written(code: str) -> None:
    assert update.compiled(code).read_bytes() == update.as_mo(update.read(code)), "run translations/update.py"


def test_a_new_language_begins_with_all_messages_and_its_plural_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LANGUAGES, "cs", "Čeština")
    catalog = update.updated("cs")
    text = update.as_po(catalog).decode()
    assert text.startswith("# Čeština\n")
    assert '"Language: cs\\n"' in text
    assert "nplurals=3" in text
    assert len(catalog) == len(update.messages()) == len(update.problems(catalog))


def test_a_missing_translation_and_a_lost_field_are_problems() -> None:
    catalog = update.messages()
    whole, lost = (message for message in catalog if message.id in ("Start?", "about {time}"))
    lost.string = "약"
    problems = "\n".join(update.problems(catalog))
    assert f"{whole.id!r}: not translated" in problems
    assert "'about {time}': other fields in '약'" in problems
