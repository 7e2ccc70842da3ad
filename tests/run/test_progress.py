from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wizard.catalog.progress import Message, messages
from wizard.plan.plan import Estimate
from wizard.run.progress import Meter, Reading
from wizard.serve.log_patterns import pattern

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


LOGS = tomllib.loads((Path(__file__).parent / "progress" / "threads.toml").read_text(encoding="utf-8"))["log"]


def read(meter: Meter, line: str) -> Reading | None:
    last = meter.read([line])
    return last[0] if last else None


def fraction_of(meter: Meter, line: str) -> float | None:
    reading = read(meter, line)
    return reading.fraction if reading else None


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log["source"].split()[0])
def test_real_logs(log: dict[str, list[str]]) -> None:
    meter = Meter(Estimate(1))

    def described(line: str) -> str:
        reading = read(meter, line)
        if reading is None:
            return "-"
        return reading.activity + ("" if reading.fraction is None else f" {reading.fraction:.0%}")

    assert [described(line) for line in log["lines"]] == log["readings"]


def test_of_several_lines_the_last_report_counts() -> None:
    lines = ["Load weight begin. avail mem=139.13 GB", "Loading weights: 50%|█| 1/2 [", "nothing"]
    last = Meter(Estimate(1)).read(lines)
    assert last is not None
    assert (last[0].fraction, last[1]) == (0.5, lines[1])
    assert Meter(Estimate(1)).read([*lines, "Compiling a graph for general shape"]) == (
        Reading("compiling"),
        "Compiling a graph for general shape",
    )
    assert Meter(Estimate(1)).read([]) is None


def test_every_known_message_is_in_a_real_log() -> None:
    lines = [line for log in LOGS for line in log["lines"]]
    unseen = {name for name, each in messages().items() if not any(is_in(each, line) for line in lines)}
    assert unseen == {"tune"}  # from the source code


def is_in(message: Message, line: str) -> bool:
    return any(pattern(each).matches(line.lower().encode()) for each in message.lines)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("model.gguf:  45%|████      | 230M/512M [00:11<00:13, 21.2MB/s]", 230 / 512),
        ("config.json: 100%|██████████| 290/290 [00:00<00:00, 1.21MB/s]", 1.0),
        ("   ━━━━━━━━━━ 12.5/50.0 MB 30.2 MB/s eta 0:00:02", 0.25),
        ("3.0M/12M", 0.25),
        ("512k/1M", 0.512),
        (" 45% done", 0.45),
        ("100%", 1.0),
        ("Receiving objects:  45% (230/512)", 0.45),
        ("Installing collected packages: numpy", None),
        ("version 1.26.4", None),
        ("0/0 B", None),
        ("x: 0%|          | 0/0 [00:00<?, ?it/s]", None),
        ("250% of normal", None),
        ("101%", None),
        ("page 3/4 of it", None),
    ],
)
def test_what_tools_print_as_a_fraction(line: str, expected: float | None) -> None:
    assert fraction_of(Meter(Estimate(1)), line) == (pytest.approx(expected) if expected is not None else None)


def test_files_that_are_fetched_one_after_another_are_added_up() -> None:
    meter = Meter(Estimate(1, download_bytes=100_000_000))
    lines = ["10/20 MB", "20/20 MB", "Collecting the next", "0/50 MB", "50/50 MB", "0/30 MB", "30/30 MB"]
    assert [fraction_of(meter, line) for line in lines] == [0.1, 0.2, None, 0.2, 0.7, 0.7, 1.0]


def test_files_that_are_fetched_at_the_same_time_are_added_up() -> None:
    meter = Meter(Estimate(1, download_bytes=100_000_000))
    lines = [
        "a: 50%|█| 10M/20M [",
        "b: 1%|█| 0/80M [",
        "a: 75%|█| 15M/20M [",
        "b: 50%|█| 40M/80M [",
        "a: 100%|█| 20M/20M [",
    ]
    assert [fraction_of(meter, line) for line in lines] == [0.1, 0.1, 0.15, 0.55, 0.6]


def test_an_estimate_that_was_too_small_never_gives_more_than_all_nor_less_than_before() -> None:
    meter = Meter(Estimate(1, download_bytes=1))
    assert [fraction_of(meter, line) for line in ("20/20 MB", "10/20 MB", "20/20 MB")] == [1.0, 1.0, 1.0]


def test_several_ranks_that_report_the_same_bar_do_not_go_back() -> None:
    meter = Meter(Estimate(1))
    lines = [f"Loading weights: {n}%|█| {n}/100 [00:01<00:01, 50it/s]" for n in (0, 50, 0, 70, 50, 100, 70, 0, 10)]
    assert [fraction_of(meter, line) for line in lines] == [0, 0.5, 0.5, 0.7, 0.7, 1, 1, 0, 0.1]


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        (("Collecting", "0%"), None),  # an estimate is not a measurement
        (("Collecting", "0%", "2%"), None),
        (("Collecting", "0%", "5%"), 19.0),  # by the speed: a second for 5 %
        (("50%", "51%"), None),
        (("50%", "75%"), 1.0),
        (("50%", "nothing", "100%"), 0.0),
        (("20/20 MB", "50/50 MB"), 0.6),  # what came before the first fraction says nothing of the speed
        (("Fetching 4 files:   0%|█| 0/4 [", "Fetching 4 files:  50%|█| 2/4 ["), None),  # of any size
        (("3d1dca071243: Pulling fs layer", "3d1dca071243: Download complete"), None),
    ],
)
def test_the_time_left_follows_from_the_speed_alone(
    monkeypatch: pytest.MonkeyPatch, lines: tuple[str, ...], seconds: float | None
) -> None:
    now = [105.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    meter = Meter(Estimate(20, download_bytes=100_000_000))
    for line in lines[:-1]:
        meter.read([line])
    now[0] += 1
    reading = read(meter, lines[-1])
    assert reading is not None
    assert reading.eta_s == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(("unit", "size"), [("", 1), ("k", 1e3), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)])
def test_every_unit_counts_against_the_estimated_bytes(unit: str, size: float) -> None:
    assert fraction_of(Meter(Estimate(1, download_bytes=int(4 * size))), f"1/2 {unit}B") == 0.25


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
    assert [fraction_of(meter, line) for line in lines][-1] == pytest.approx(fraction)


def test_a_layer_never_goes_back() -> None:
    meter = Meter(Estimate(1))
    states = ("Pulling fs layer", "Download complete", "Verifying Checksum", "Pull complete", "Waiting")
    assert [fraction_of(meter, f"3d1dca071243: {state}") for state in states] == [0, 0.5, 0.5, 1, 1]


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
    fractions = [fraction_of(meter, line) for line in PULL.splitlines()]
    sixths = [0, 0, 0, 0, 0, 1, 2, 2, 3, 4, 5, 6]
    assert fractions == [None, None, *(pytest.approx(sixth / 6) for sixth in sixths), None, None]


@given(st.lists(st.text()))
@example(["9" * 400 + "/" + "9" * 400])  # more than a float holds
def test_any_lines_give_fractions_or_nothing(lines: list[str]) -> None:
    meter = Meter(Estimate(1, 1000))
    assert all(value is None or 0 <= value <= 1 for value in (fraction_of(meter, line) for line in lines))
