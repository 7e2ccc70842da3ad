"""The page about the full-screen wizard names every setting, theme and way."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from wizard.kernel import toml
from wizard.kernel.language import LANGUAGES
from wizard.kernel.settings import Settings, load, path
from wizard.tui.keys import usable
from wizard.tui.theme import THEMES

PAGE = (Path(__file__).parents[2] / "docs" / "terminal.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [field.name for field in fields(Settings)])
def test_every_setting_is_described(name: str) -> None:
    assert f"| `{name}` |" in PAGE


@pytest.mark.parametrize("name", [*(theme.name for theme in THEMES), *LANGUAGES])
def test_every_theme_and_language_is_named(name: str) -> None:
    assert f'`"{name}"`' in PAGE


def test_the_example_is_a_file_of_settings_whose_keys_can_hold() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    path().parent.mkdir(parents=True)
    path().write_text(example, encoding="utf-8")
    assert load().language == toml.loads(example)["language"]
    assert usable(load().keys) == (load().keys, [])
