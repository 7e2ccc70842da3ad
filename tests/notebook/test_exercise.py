"""The check of an exercise: right, wrong with the reason, not answered, or not what can be checked."""

from __future__ import annotations

from typing import Any

import pytest

from wizard.notebook.exercise import check


def passes(value: int) -> bool | str:
    return value == 4 or (value == 2 and "That is half.")


@pytest.mark.parametrize(
    ("given", "right", "feedback"),
    [
        (4, True, "✓ Correct."),
        (2, False, "✗ That is half. Hint: 2 + 2."),
        (3, False, "✗ Not correct yet: 3. Hint: 2 + 2."),
        ((2, 560), False, "✗ (2, 560) is several values: write a number without commas. Hint: 2 + 2."),
        (..., False, "✗ Replace the dots in the cell above with your answer. Hint: 2 + 2."),
    ],
)
def test_feedback(given: Any, right: bool, feedback: str) -> None:
    checked = check(given, passes, hint="2 + 2.")
    assert (checked.right, repr(checked)) == (right, feedback)


def test_a_value_that_breaks_the_check_is_feedback_too() -> None:
    checked = check("<b>4</b>", lambda value: value + 1 == 5, hint="A number.")  # type: ignore[operator]
    assert not checked.right
    assert repr(checked).startswith("✗ '<b>4</b>' cannot be checked: TypeError: ")
    assert "&lt;b&gt;" in checked._repr_html_()
    assert "<b>4" not in checked._repr_html_()


def test_only_true_is_right() -> None:
    assert not check(1, lambda value: "", hint="").right
    assert not check(1, lambda value: [1], hint="").right  # type: ignore[arg-type,return-value]
