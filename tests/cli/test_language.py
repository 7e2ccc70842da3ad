"""Which language the command line speaks: the flag's, else the settings', else the locale's."""

from __future__ import annotations

import pytest

from wizard.cli import _language
from wizard.kernel import settings


def test_a_flag_goes_before_the_settings_and_these_before_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    assert _language(["probe"]) == "ko"
    settings.change(language="en")
    assert _language(["probe"]) == "en"
    assert _language(["--language", "ko", "probe"]) == "ko"
    assert _language(["probe", "--language=ko"]) == "ko"
    assert _language(["--language", "xx"]) == "en"


def test_damaged_settings_hold_no_command_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from wizard.cli import main

    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    settings.path().parent.mkdir(parents=True)
    settings.path().write_text("language = ")
    assert _language([]) == "en"
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    assert "usage: triton-wizard" in capsys.readouterr().out
    assert settings.path().read_text() == "language = "
