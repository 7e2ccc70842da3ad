"""The language of the wizard: chosen by locale, said through one catalogue."""

from __future__ import annotations

import pytest

from wizard.kernel import language


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


def test_english_needs_no_catalogue() -> None:
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
