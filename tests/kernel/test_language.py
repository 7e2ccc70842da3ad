"""The language of the wizard: chosen by locale, said through one catalog."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import pytest

from tests import pseudo
from wizard.kernel import language
from wizard.kernel.language import english, join, localized, ntr, tr


@dataclass(frozen=True, slots=True)
class Named:
    """A value with texts."""

    title: str
    lines: tuple[Any, ...]


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        ({}, "en"),
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LANG": "ko"}, "ko"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LC_ALL": "C", "LANG": "ko_KR.UTF-8"}, "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "ko_KR.UTF-8", "LANG": "en_US.UTF-8"}, "ko"),
        ({"LANGUAGE": "fr:ko", "LANG": "de_DE.UTF-8"}, "ko"),
        ({"LANGUAGE": "en:ko", "LANG": "ko_KR.UTF-8"}, "en"),
        ({"LANGUAGE": "ko", "LANG": "C.UTF-8"}, "en"),
    ],
)
def test_the_locale_decides(environ: dict[str, str], code: str) -> None:
    assert language.preferred(environ) == code


def test_english_needs_no_catalog() -> None:
    assert language.tr("{count} of {all}", count=2, all=3) == "2 of 3"
    assert language.tr("no {field} without values") == "no {field} without values"
    assert language.tr("") == ""
    assert language.ntr("{n} GPU", "{n} GPUs", 1, n=1) == "1 GPU"
    assert language.ntr("{n} GPU", "{n} GPUs", 2, n=2) == "2 GPUs"
    assert language.mark("Help") == "Help"


def test_a_language_can_be_chosen_and_given_back() -> None:
    language.use("ko")
    assert language.used() == "ko"
    assert language.tr("") == ""
    language.use("en")
    assert language.used() == "en"


def test_a_message_is_rendered_again_with_the_messages_in_it() -> None:
    with pseudo.spoken():
        split = ntr("{n} GPU", "{n} GPUs", 2, n=2)
        text = tr("{formats} with {split}", formats=join(tr(" or "), "a", tr("none")), split=split)
    assert text == "⟦a ⟦or⟧ ⟦none⟧ with ⟦2 GPUs⟧⟧"
    assert english(text) == localized(text) == "a or none with 2 GPUs"
    with pseudo.spoken():
        assert localized(english(text)) == text


def test_only_the_messages_in_a_value_are_rendered_again() -> None:
    with pseudo.spoken():
        title, note = tr("none"), tr("Stop it") + "."
    value = (Named(title, (note, "none")), {"why": title}, 3)
    assert localized(value) == (Named("none", ("Stop it.", "none")), {"why": "none"}, 3)
    plain = Named("none", ("a",))
    assert localized(plain) is plain


def test_a_message_survives_copying_and_pickling() -> None:
    text = tr("{count} of {total}", count=1, total=tr("none"))
    with pseudo.spoken():
        assert localized(copy.deepcopy(text)) == localized(pickle.loads(pickle.dumps(text))) == "⟦1 of ⟦none⟧⟧"
