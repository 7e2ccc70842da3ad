"""Axes: round ticks, every value within the ends, and no value that breaks them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.texts.benchmark import scale
from wizard.texts.benchmark.scale import Scale, drawable, label, linear, suited, ticks

VALUE = st.just(0.0) | st.floats(0, scale.MOST) | st.floats(scale.LEAST, scale.MOST)
VALUES = st.lists(VALUE, max_size=12)


@given(VALUES)
@pytest.mark.parametrize("make", [linear, suited])
def test_every_value_has_a_place_and_ticks_are_in_order(make: type, values: list[float]) -> None:
    made: Scale = make(values)
    assert made.low < made.high
    for value in values:
        assert made.low * (1 - 1e-9) <= value <= made.high * (1 + 1e-9)
        assert 0 <= made.place(value) <= 1
    marks = ticks(made)
    assert 2 <= len(marks) <= 8
    assert list(marks) == sorted(set(marks))
    assert all(made.low * (1 - 1e-9) <= tick <= made.high * (1 + 1e-9) for tick in marks)


@given(VALUES, VALUE, VALUE)
def test_a_larger_value_is_never_placed_before_a_smaller_one(values: list[float], first: float, second: float) -> None:
    made = suited([*values, first, second])
    assert (made.place(first) - made.place(second)) * (first - second) >= 0


@given(VALUES)
def test_linear_ticks_are_evenly_spaced_round_numbers_from_0(values: list[float]) -> None:
    made = linear(values)
    marks = ticks(made)
    assert marks[0] == 0
    step = marks[1]
    assert all(abs(tick - at * step) <= 1e-6 * made.high for at, tick in enumerate(marks))
    assert float(f"{step:.0e}"[0]) in scale.STEPS


def test_known_axes() -> None:
    assert ticks(linear([0.0, 43.0])) == (0.0, 10.0, 20.0, 30.0, 40.0, 50.0)
    assert ticks(suited([21.0, 1142.0])) == (20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0)
    assert suited([0.5, 3e6]) == Scale(0.5, 5e6, logarithmic=True)
    assert ticks(suited([0.5, 3e6])) == (1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6)
    assert not suited([0.0, 1000.0]).logarithmic
    assert linear([]) == Scale(0.0, 1.0)
    assert linear([0.0]) == Scale(0.0, 1.0)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 1e16, None])
def test_what_no_measurement_has_is_not_drawn(value: float | None) -> None:
    assert not drawable(value)
    assert linear([5.0, value or 0.0] if value is not None else [5.0]) == linear([5.0])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.05, "0.05"), (12.5, "12.5"), (1500.0, "1,500"), (20000.0, "20k"), (3e6, "3M"), (2.5e9, "2.5G")],
)
def test_labels(value: float, text: str) -> None:
    assert label(value) == text
