"""The table of a benchmark fits into 80 columns, and says what it does not know."""

from __future__ import annotations

from dataclasses import replace

from tests.bench.test_values import example
from wizard.advise.reasons import Note
from wizard.bench.load import Point, ServiceLevel
from wizard.bench.measured import Interval, Measured, Spread
from wizard.kernel.text import width
from wizard.texts import bench_table


def wide(value: float, share: float) -> Interval:
    return Interval(value, value * (1 - share), value * (1 + share))


def measured() -> Measured:
    """A level with the widest numbers that are usual."""
    times = [
        Spread(wide(value, 3), wide(value, 3), wide(value, 3), wide(2 * value, 3)) for value in (8123, 12.34, 9876)
    ]
    rates = wide(12_345.6, 0.12), wide(123.4, 0.1)
    point = Measured(Point(64), ("c64-1",), "batches", 640, {"HTTP 503": 19}, 704, 30.0)
    return replace(
        point, ttft_ms=times[0], tpot_ms=times[1], latency_ms=times[2], tokens_per_s=rates[0], requests_per_s=rates[1]
    )


def test_a_row_fits_into_a_terminal_of_80_columns() -> None:
    report = replace(example(), points=(measured(),), level=ServiceLevel())
    table = [line for line in bench_table.text(report).splitlines() if line.startswith(("load", "64 at once  "))]
    assert len(table) == 2
    assert [width(line) for line in table if width(line) > 80] == []
    assert "±>99%" in table[1]
    assert "12,346 ±12%" in table[1]
    assert table[1].rstrip().endswith("19/704")


def test_what_is_unknown_is_a_dash_and_small_numbers_have_a_digit() -> None:
    row = bench_table.row(Measured(Point(rate=2.5), (), "none", 0, {}, 0, 0.0), example())
    assert row == ("2.5/s", "–", "–", "–", "–", "–", "–", "–", "0")
    assert [bench_table.number(value) for value in (0.00398, 0.123, 12.34, 1234.5)] == [
        "0.004",
        "0.123",
        "12.3",
        "1,234",
    ]


def test_the_same_warning_is_shown_once_with_its_levels() -> None:
    point = replace(measured(), warnings=(Note("bench-few", {"requests": 5}),))
    report = replace(example(), points=(point, replace(point, point=Point(128))), partial="stopped")
    assert list(bench_table.warnings(report)) == [
        "! Incomplete (stopped): not all levels or runs were measured.",
        "! 64 at once, 128 at once: Only 5 requests were counted, so the percentiles are rough.",
    ]
