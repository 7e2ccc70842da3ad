"""The values of a benchmark are written and read back, and what is not one is an error."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from docs import schemas
from wizard.advise.reasons import Note
from wizard.bench.dataset import Dataset
from wizard.bench.load import Load, Point, ServiceLevel
from wizard.bench.measured import GpuUse, Interval, Measured, Spread
from wizard.bench.report import Machine, Report, Target, read
from wizard.bench.run import GpuSample, Request, Run, Sample
from wizard.kernel.errors import UsageError
from wizard.kernel.values import from_json, to_json

NUMBER = st.floats(0, 1e9)
MAYBE = st.none() | NUMBER
COUNT = st.integers(0, 10**9)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
POINT = st.builds(Point, concurrency=st.integers(1, 4096)) | st.builds(Point, rate=st.floats(0.01, 1e4))
REQUEST = st.builds(Request, NUMBER, NUMBER, MAYBE, MAYBE, st.none() | COUNT, st.none() | COUNT, TEXT, NUMBER)
GPU = st.builds(GpuSample, COUNT, MAYBE, st.none() | COUNT, throttled=st.lists(TEXT, max_size=2).map(tuple))
SAMPLE = st.builds(Sample, NUMBER, MAYBE, gpus=st.tuples(GPU), server=st.dictionaries(TEXT, NUMBER, max_size=2))
RUN = st.builds(Run, POINT, COUNT, NUMBER, st.tuples(REQUEST), st.tuples(SAMPLE), TEXT, TEXT)
INTERVAL = st.builds(Interval, NUMBER, MAYBE, MAYBE)
SPREAD = st.builds(Spread, INTERVAL, INTERVAL, INTERVAL, INTERVAL, st.lists(NUMBER, max_size=3).map(tuple))
NOTE = st.builds(Note, st.just("bench-slots"), st.fixed_dictionaries({"slots": COUNT, "in_flight": NUMBER}))
MEASURED = st.builds(
    Measured,
    point=POINT,
    runs=st.tuples(TEXT),
    method=st.sampled_from(("runs", "batches", "none")),
    requests=COUNT,
    errors=st.dictionaries(TEXT, COUNT, max_size=2),
    sent=COUNT,
    seconds=NUMBER,
    ttft_ms=st.none() | SPREAD,
    good=st.none() | INTERVAL,
    gpus=st.tuples(st.builds(GpuUse, COUNT, MAYBE)),
    warnings=st.tuples(NOTE),
)
REPORT = st.builds(
    Report,
    format=st.just(1),
    made=st.just("2026-11-25T12:00:00+00:00"),
    command=TEXT,
    target=st.builds(Target, TEXT, TEXT, TEXT, slots=st.none() | COUNT),
    machine=st.builds(Machine, TEXT, COUNT, gpus=st.tuples(TEXT)),
    versions=st.dictionaries(TEXT, TEXT, max_size=2),
    load=st.builds(Load, st.lists(POINT, max_size=3).map(tuple), st.none() | COUNT, MAYBE, COUNT, COUNT, COUNT),
    dataset=st.builds(Dataset, st.just("cnn"), COUNT, changed=st.tuples(st.tuples(TEXT, COUNT))),
    level=st.builds(ServiceLevel, MAYBE, MAYBE),
    points=st.tuples(MEASURED),
    partial=TEXT,
    warnings=st.tuples(NOTE),
)


@given(RUN)
def test_a_run_is_written_and_read_back(run: Run) -> None:
    assert from_json(Run, to_json(run), where="a test") == run


@given(REPORT)
def test_a_report_is_written_and_read_back(report: Report) -> None:
    assert read(to_json(report), where="a test") == report


def example() -> Report:
    spread = Spread(Interval(12.5, 12.0, 13.0), Interval(12.0), Interval(20.0), Interval(30.0), (1.0, 12.0, 31.0))
    point = Measured(
        Point(concurrency=4), ("c4-1",), "batches", 100, {"HTTP 503": 3}, 104, 9.5, ttft_ms=spread, good=Interval(0.97)
    )
    return Report(
        format=1,
        made="2026-11-25T12:00:00+00:00",
        command="triton-wizard bench demo",
        target=Target("demo", "demo", "http://127.0.0.1:9000/v1"),
        machine=Machine("a processor", 2),
        versions={"aiperf": "0.13.0"},
        load=Load((Point(concurrency=4),), requests=100),
        dataset=Dataset(),
        level=ServiceLevel(ttft_ms=100),
        points=(point,),
    )


def test_a_report_fits_its_schema_and_a_missing_field_does_not() -> None:
    schema = Draft202012Validator(schemas.schema("bench"))
    written = json.loads(to_json(example()))
    schema.validate(written)
    del written["load"]["repeats"]
    assert not schema.is_valid(written)


def test_another_format_is_rejected() -> None:
    with pytest.raises(UsageError) as caught:
        read(to_json(example()).replace('"format": 1', '"format": 2'), where="report.json")
    assert caught.value.code == "TW-C60"
    assert "report.json has format 2, not 1" in caught.value.what


def test_the_time_between_tokens_needs_two_tokens() -> None:
    assert Request(0, 1, 100.0, 400.0, 5, 4).tpot_ms == 100.0
    assert Request(0, 1, 100.0, 100.0, 5, 1).tpot_ms is None
    assert Request(0, 1, error="HTTP 503").tpot_ms is None


def test_the_width_of_an_interval_is_relative() -> None:
    assert Interval(100.0, 95.0, 105.0).width == 0.05
    assert Interval(100.0, 95.0).width is None
    assert Interval(0.0, 0.0, 0.0).width is None
