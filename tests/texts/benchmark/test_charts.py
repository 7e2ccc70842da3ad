"""Charts: what they show, what they leave out and why, in SVG and in characters."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.sample import HOSTILE, LEVELS, REPORT, RUNS
from tests.bench.test_values import REPORT as ANY_REPORT
from tests.bench.test_values import RUN as ANY_RUN
from wizard.bench.load import Point, ServiceLevel
from wizard.bench.measured import Interval, Spread
from wizard.bench.report import Report
from wizard.bench.run import Run
from wizard.kernel.text import width
from wizard.texts.benchmark import canvas
from wizard.texts.benchmark.chart import MOST_SERIES, Chart, LeftOut
from wizard.texts.benchmark.charts import charts
from wizard.texts.benchmark.colors import LIGHT
from wizard.texts.benchmark.svg import svg

SVG = "{http://www.w3.org/2000/svg}"
ALL = ["throughput-ttft", "throughput-tpot", "ttft", "predicted-throughput", "predicted-tpot", "time"]


def chart(name: str, report: Report = REPORT) -> Chart:
    points = next(each for each in charts(report, RUNS) if each.id == name)
    assert isinstance(points, Chart)
    return points


def test_a_complete_report_has_all_charts() -> None:
    made = charts(REPORT, RUNS)
    assert [each.id for each in made] == ALL
    assert all(isinstance(each, Chart) for each in made)


def test_throughput_against_latency_has_every_level_and_the_service_level() -> None:
    drawn = chart("throughput-ttft")
    median, tail = drawn.series
    assert [dot.label for dot in median.dots] == [str(level) for level in LEVELS]
    for dot, far, point in zip(median.dots, tail.dots, REPORT.points, strict=True):
        assert point.tokens_per_s
        assert point.ttft_ms
        assert (dot.x, dot.y) == (point.ttft_ms.p50.value, point.tokens_per_s.value)
        assert (dot.y_low, dot.y_high) == (point.tokens_per_s.low, point.tokens_per_s.high)
        assert (far.x, far.x_high) == (point.ttft_ms.p99.value, point.ttft_ms.p99.high)
        assert drawn.x.scale.low <= dot.x <= (far.x_high or 0) <= drawn.x.scale.high
    assert [limit.x for limit in drawn.limits] == [120.0]
    assert chart("throughput-tpot").limits == ()


def test_a_limit_beyond_the_data_is_on_the_axis() -> None:
    drawn = chart("throughput-ttft", replace(REPORT, level=ServiceLevel(ttft_ms=9000)))
    assert drawn.x.scale.high >= 9000


def test_the_distribution_ends_at_0_and_100_percent() -> None:
    for series, point in zip(chart("ttft").series, REPORT.points, strict=True):
        assert point.ttft_ms
        assert [dot.x for dot in series.dots] == list(point.ttft_ms.quantiles)
        assert (series.dots[0].y, series.dots[-1].y) == (0, 100)


def test_many_levels_are_thinned_and_that_is_told() -> None:
    many = replace(REPORT, points=tuple(replace(REPORT.points[0], point=Point(concurrency=at)) for at in range(1, 31)))
    drawn = chart("ttft", many)
    assert len(drawn.series) == MOST_SERIES
    assert (drawn.series[0].name, drawn.series[-1].name) == ("1 at once", "30 at once")
    assert "6 of 30 levels are drawn" in drawn.about


def test_predictions_keep_their_own_range() -> None:
    predicted, measured = chart("predicted-tpot").series
    for before, after, point in zip(predicted.dots, measured.dots, REPORT.points, strict=True):
        speed = REPORT.predicted[point.point.id]
        assert point.tpot_ms
        assert (before.y, before.y_low, before.y_high) == (speed.tpot_ms, speed.low, speed.high)
        assert after.y == point.tpot_ms.mean.value


def test_tokens_over_time_add_up() -> None:
    """The area under the line of a level is what its requests produced, but for the last, incomplete part."""
    for series, run in zip(chart("time").series, RUNS, strict=True):
        seconds = series.dots[1].x - series.dots[0].x
        total = sum(request.output_tokens or 0 for request in run.requests)
        assert sum(dot.y for dot in series.dots) * seconds == pytest.approx(total, rel=0.05)


@pytest.mark.parametrize(
    ("changes", "left_out", "why"),
    [
        ({"points": ()}, ["throughput-ttft", "throughput-tpot", "ttft", "predicted"], "No level"),
        ({"predicted": {}}, ["predicted"], "The wizard had no estimate"),
        ({"points": tuple(replace(point, ttft_ms=None) for point in REPORT.points)}, ["throughput-ttft", "ttft"], ""),
    ],
)
def test_what_is_unknown_is_left_out_with_a_sentence(changes: dict[str, object], left_out: list[str], why: str) -> None:
    missing = [each for each in charts(replace(REPORT, **changes), RUNS) if isinstance(each, LeftOut)]  # type: ignore[arg-type]
    assert [each.id for each in missing] == left_out
    assert all(each.why.endswith(".") for each in missing)
    assert any(why in each.why for each in missing)


def test_without_runs_or_token_counts_there_is_nothing_over_time() -> None:
    assert "not beside the report" in charts(REPORT)[-1].why  # type: ignore[union-attr]
    uncounted = [
        replace(run, requests=tuple(replace(each, output_tokens=None) for each in run.requests)) for run in RUNS
    ]
    assert "counted no tokens" in charts(REPORT, uncounted)[-1].why  # type: ignore[union-attr]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -5.0, 1e300])
def test_impossible_figures_are_not_drawn(value: float) -> None:
    broken = Interval(value, value, value)
    points = [
        replace(
            point, tokens_per_s=broken, ttft_ms=Spread(broken, broken, broken, broken, (value, value)), tpot_ms=None
        )
        for point in REPORT.points
    ]
    runs = [replace(run, requests=tuple(replace(each, end_s=value) for each in run.requests)) for run in RUNS]
    assert not [each for each in charts(replace(REPORT, points=tuple(points)), runs) if isinstance(each, Chart)]


# -- SVG ---------------------------------------------------------------------------------------------------------------


def boxes(drawing: ET.Element) -> list[tuple[float, float]]:
    """All coordinates."""
    points = []
    for element in drawing.iter():
        for x, y in (("x", "y"), ("x1", "y1"), ("x2", "y2"), ("cx", "cy")):
            if x in element.attrib and y in element.attrib:
                points.append((float(element.attrib[x]), float(element.attrib[y])))
        for pair in element.get("points", "").split():
            across, down = pair.split(",")
            points.append((float(across), float(down)))
    return points


@pytest.mark.parametrize("name", ALL)
def test_svg_has_its_text_alternative_and_stays_in_its_frame(name: str) -> None:
    drawn = chart(name)
    drawing = ET.fromstring(svg(drawn, LIGHT))
    wide, high = (float(part) for part in drawing.attrib["viewBox"].split()[2:])
    assert all(0 <= x <= wide and 0 <= y <= high for x, y in boxes(drawing))
    assert drawing.attrib["role"] == "img"
    named = drawing.attrib["aria-labelledby"].split()
    texts = {element.get("id"): element.text for element in (drawing[0], drawing[1])}
    assert [texts[each] for each in named] == [drawn.title, " ".join((drawn.about, *drawn.sentences))]
    assert len(drawn.sentences) >= 2


@pytest.mark.parametrize("name", ["ttft", "time"])
def test_series_differ_by_more_than_color(name: str) -> None:
    drawing = ET.fromstring(svg(chart(name), LIGHT))
    lines = [element.attrib["style"].split(";") for element in drawing.iter(f"{SVG}polyline")]
    assert len({style[3] if len(style) > 3 else "" for style in lines}) == len(lines) == 6


def test_text_in_svg_is_text() -> None:
    drawn = chart("ttft")
    named = replace(drawn, title=HOSTILE, series=tuple(replace(each, name=HOSTILE) for each in drawn.series))
    drawing = ET.fromstring(svg(named, LIGHT, alone=True))
    assert {element.tag.removeprefix(SVG) for element in drawing.iter()} <= {
        "svg", "title", "desc", "text", "line", "polyline", "polygon", "circle", "rect"
    }  # fmt: skip
    assert "<img src=x onerror=alert(1)>" in "".join(drawing.itertext())


@given(ANY_REPORT, st.lists(ANY_RUN, max_size=2))
def test_any_report_is_drawn(report: Report, runs: list[Run]) -> None:
    for each in charts(report, runs):
        if isinstance(each, Chart):
            drawing = ET.fromstring(svg(each, LIGHT))
            wide, high = (float(part) for part in drawing.attrib["viewBox"].split()[2:])
            assert all(0 <= x <= wide and 0 <= y <= high for x, y in boxes(drawing))


# -- characters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("size", [(76, 16), (116, 30), (36, 9), (24, 8)])
def test_in_characters_it_fits_and_shows_every_series(name: str, size: tuple[int, int]) -> None:
    drawn = chart(name)
    lines = canvas.plot(drawn, *size)
    assert lines
    assert len(lines) <= size[1]
    assert all(width(line) <= size[0] for line in lines)
    if size[0] > 40:
        for at, series in enumerate(drawn.series):
            assert any(f"{canvas.MARKS[at]} {series.name}" in line for line in lines)
            assert sum(line.count(canvas.MARKS[at]) for line in lines) > 3


def test_a_curve_has_no_gaps() -> None:
    drawn = replace(chart("ttft"), series=chart("ttft").series[:1], limits=())
    rows = [line.split("│")[-1].split("┤")[-1] for line in canvas.plot(drawn, 76, 20)[1:-3]]
    places = sorted((row.index("o"), row.rindex("o")) for row in rows if "o" in row)
    assert len(places) == len(rows)
    assert all(after[0] - before[1] <= 1 for before, after in pairwise(places))


@pytest.mark.parametrize("size", [(15, 20), (76, 5), (0, 0)])
def test_what_is_too_small_is_not_drawn(size: tuple[int, int]) -> None:
    assert canvas.plot(chart("ttft"), *size) == []


@given(ANY_REPORT, st.integers(0, 90), st.integers(0, 30))
def test_any_report_fits_in_characters(report: Report, columns: int, lines: int) -> None:
    for each in charts(report):
        if isinstance(each, Chart):
            made = canvas.plot(each, columns, lines)
            assert len(made) <= lines
            assert all(width(line) <= columns for line in made)
