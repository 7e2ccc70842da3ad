"""Colors have enough contrast; see WCAG 2.2, 1.4.3 (text, 4.5) and 1.4.11 (graphics, 3)."""

from __future__ import annotations

import re

import pytest

from wizard.texts.benchmark.colors import ANY, DARK, LIGHT, STYLED, Colors, variables


def luminance(color: str) -> float:
    """As WCAG defines it."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colors", [LIGHT, DARK])
def test_text_and_lines_stand_out(colors: Colors) -> None:
    for color in (colors.ink, colors.muted, colors.limit):
        assert contrast(color, colors.page) >= 4.5
    assert len(set(colors.series)) == 6
    for color in colors.series:
        assert contrast(color, colors.page) >= 4.5


@pytest.mark.parametrize("page", ["#ffffff", "#111111"])
def test_in_notebooks_lines_stand_out_on_light_and_dark(page: str) -> None:
    for color in (*ANY.series, ANY.limit):
        assert contrast(color, page) >= 3


def test_a_page_declares_every_variable_that_its_charts_use() -> None:
    declared = set(re.findall(r"(--[\w-]+):", variables(LIGHT)))
    used = {STYLED.page, STYLED.ink, STYLED.muted, STYLED.grid, STYLED.limit, *STYLED.series}
    assert used == {f"var({name})" for name in declared}
