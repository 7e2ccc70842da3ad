from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wizard.plan.plan import Estimate
from wizard.run.progress import Meter


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("model.gguf:  45%|████      | 230M/512M [00:11<00:13, 21.2MB/s]", 230 / 512),
        ("   ━━━━━━━━━━ 12.5/50.0 MB 30.2 MB/s eta 0:00:02", 0.25),
        ("3.0M/12M", 0.25),
        ("512k/1M", 0.512),
        (" 45% done", 0.45),
        ("100%", 1.0),
        ("Installing collected packages: numpy", None),
        ("version 1.26.4", None),
        ("0/0 B", None),
        ("250% of normal", None),
        ("101%", None),
    ],
)
def test_what_tools_print_as_a_fraction(line: str, expected: float | None) -> None:
    assert Meter(Estimate(1)).read(line) == (pytest.approx(expected) if expected is not None else None)


def test_files_that_are_fetched_one_after_another_are_added_up() -> None:
    meter = Meter(Estimate(1, download_bytes=100_000_000))
    lines = ["10/20 MB", "20/20 MB", "Collecting the next", "0/50 MB", "50/50 MB", "0/30 MB", "30/30 MB"]
    assert [meter.read(line) for line in lines] == [0.1, 0.2, None, 0.2, 0.7, 0.7, 1.0]


def test_an_estimate_that_was_too_small_never_gives_more_than_all() -> None:
    meter = Meter(Estimate(1, download_bytes=1))
    assert [meter.read(line) for line in ("20/20 MB", "10/20 MB", "20/20 MB")] == [1.0, 0.75, 1.0]


def left(meter: Meter, line: str) -> float | None:
    fraction = meter.read(line)
    assert fraction is not None
    return meter.left(fraction)


def test_without_a_reading_the_time_left_is_the_estimate() -> None:
    assert Meter(Estimate(1000)).left(0.5) == pytest.approx(1000, abs=100)  # no line was read
    assert Meter(Estimate(0)).left(0.5) is None


def test_what_came_before_the_first_fraction_says_nothing_of_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An environment is made for 9 s before pip fetches anything; then it fetches half of it in a second."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    meter = Meter(Estimate(20, download_bytes=100_000_000), began=0.0)
    now[0] = 9
    assert left(meter, "20/20 MB") == 11  # by the estimate
    now[0] = 10
    assert left(meter, "50/50 MB") == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        (("Collecting", "0%"), 14.0),  # by the estimate: 20 s less the 6 s since 100
        (("Collecting", "0%", "2%"), 14.0),
        (("Collecting", "0%", "5%"), 19.0),  # by the speed: a second for 5 %
        (("50%", "51%"), 14.0),
        (("50%", "75%"), 1.0),
        (("50%", "nothing", "100%"), 0.0),
    ],
)
def test_the_time_left_follows_the_speed_when_enough_is_done(
    monkeypatch: pytest.MonkeyPatch, lines: tuple[str, ...], seconds: float
) -> None:
    now = [105.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    meter = Meter(Estimate(20), began=100.0)
    for line in lines[:-1]:
        meter.read(line)
    now[0] += 1
    assert left(meter, lines[-1]) == pytest.approx(seconds)


@pytest.mark.parametrize(("seconds", "rest"), [(19.5, 0.5), (20.0, None), (20.5, None)])
def test_an_estimate_that_has_run_out_gives_no_time(
    monkeypatch: pytest.MonkeyPatch, seconds: float, rest: float | None
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 100 + seconds)
    assert Meter(Estimate(20), began=100.0).left(0.5) == rest


@pytest.mark.parametrize(("unit", "size"), [("", 1), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)])
def test_every_unit_counts_against_the_estimated_bytes(unit: str, size: float) -> None:
    assert Meter(Estimate(1, download_bytes=int(4 * size))).read(f"1/2 {unit}B") == 0.25


@pytest.mark.parametrize(
    ("lines", "fraction"),
    [
        (("20/20 MB", "25/50 MB"), 0.45),  # the next file is further than the last one was
        (("20/50 MB", "20/50 MB"), 0.2),  # the same again is no next file
        (("20/20 MB", "0/20 MB"), 0.2),
        (("60/50 MB",), 0.5),
    ],
)
def test_a_next_file_is_known_by_its_size_or_by_beginning_anew(lines: tuple[str, ...], fraction: float) -> None:
    meter = Meter(Estimate(1, download_bytes=100_000_000))
    assert [meter.read(line) for line in lines][-1] == pytest.approx(fraction)


def test_a_layer_never_goes_back() -> None:
    meter = Meter(Estimate(1))
    states = ("Pulling fs layer", "Download complete", "Verifying Checksum", "Pull complete", "Waiting")
    assert [meter.read(f"3d1dca071243: {state}") for state in states] == [0, 0.5, 0.5, 1, 1]


PULL = """\
1: Pulling from nvidia/tritonserver
a2318d6c47ec: Already exists
3d1dca071243: Pulling fs layer
190b922aeaeb: Pulling fs layer
c20a2e0c8e92: Pulling fs layer
c20a2e0c8e92: Waiting
c20a2e0c8e92: Verifying Checksum
c20a2e0c8e92: Download complete
3d1dca071243: Download complete
190b922aeaeb: Verifying Checksum
190b922aeaeb: Download complete
3d1dca071243: Pull complete
190b922aeaeb: Pull complete
c20a2e0c8e92: Pull complete
Digest: sha256:c33cffd77b36c2f98ec9f2fb56edc03217990c1a2caa7a4cd62eef3c3c9b3cfe
Status: Downloaded newer image for nvcr.io/nvidia/tritonserver:1
"""


def test_a_pull_is_measured_by_its_layers() -> None:
    meter = Meter(Estimate(1, download_bytes=10**9))
    fractions = [meter.read(line) for line in PULL.splitlines()]
    sixths = [0, 0, 0, 0, 0, 1, 2, 2, 3, 4, 5, 6]
    assert fractions == [None, None, *(pytest.approx(sixth / 6) for sixth in sixths), None, None]


@given(st.lists(st.text()))
@example(["9" * 400 + "/" + "9" * 400])  # more than a float holds
def test_any_lines_give_fractions_or_nothing(lines: list[str]) -> None:
    meter = Meter(Estimate(1, 1000))
    assert all(value is None or 0 <= value <= 1 for value in map(meter.read, lines))
