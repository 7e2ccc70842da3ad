from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.run.progress import fraction


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Downloading model.gguf:  45%|████      | 230M/512M [00:11<00:13, 21.2MB/s]", 0.45),
        ("   ━━━━━━━━━━ 12.5/50.0 MB 30.2 MB/s eta 0:00:02", 0.25),
        ("3.0M/12M", 0.25),
        ("512k/1M", 0.512),
        ("100%", 1.0),
        ("Installing collected packages: numpy", None),
        ("version 1.26.4", None),
        ("0/0 B", None),
        ("250% of normal", None),
    ],
)
def test_what_tools_print_as_a_fraction(line: str, expected: float | None) -> None:
    assert fraction(line) == (pytest.approx(expected) if expected is not None else None)


@given(st.text())
def test_any_line_gives_a_fraction_or_nothing(line: str) -> None:
    value = fraction(line)
    assert value is None or 0 <= value <= 1
