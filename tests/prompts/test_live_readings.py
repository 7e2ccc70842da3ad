"""Readings as lines, from recorded devices with made-up activity."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pexpect
import pytest

from tests.probe.fake_driver import FakeDriver
from tests.probe.test_live import GIB, active, alive
from tests.prompts.terminal import environment
from wizard.probe.live import GpuReading, Monitor, Reading
from wizard.probe.load import CpuReading
from wizard.prompts.live_readings import FIRST_S, reading_text, readings


def test_the_second_reading_is_the_first_that_is_printed(tmp_path: Path, driver: FakeDriver) -> None:
    driver.says(active())
    slept = list[float]()
    watched = readings(Monitor(tmp_path), 30, slept.append)
    texts = [reading_text(reading) for reading in islice(watched, 3)]
    watched.close()
    assert slept == [FIRST_S, 30, 30]
    assert not any(map(alive, driver.starts))
    assert texts[0].splitlines()[1] == "GPU 0 (NVIDIA H200): 87% busy, 100 GiB free of 140 GiB, 61 °C, 412 of 700 W"


def test_what_is_unknown_is_left_out_and_a_gpu_that_is_gone_says_why() -> None:
    gone = GpuReading(1, "NVIDIA \x1b[31mL4", unknown={"memory": "it fell off the bus"})
    assert reading_text(Reading(CpuReading(0.25, None, 8 * GIB, 2 * GIB, 54), (gone,))).splitlines() == [
        "CPU: 25% busy, 2.0 GiB free of 8.0 GiB, 54 °C",
        "GPU 1 (NVIDIA L4): No readings: it fell off the bus",
    ]


def test_it_is_spoken_where_somebody_listens() -> None:
    command = ["-m", "wizard", "probe", "--watch", "1"]
    with pexpect.spawn(sys.executable, command, env=environment(), encoding="utf-8", timeout=60) as child:
        child.expect(r"CPU: [^\n]*bibytes free of")


@pytest.mark.parametrize("json_output", [False, True])
def test_it_continues_until_ctrl_c(json_output: bool) -> None:
    command = [sys.executable, "-m", "wizard", "probe", "--watch", "1", *["--json"] * json_output]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "Traceback" not in err
    if json_output:
        assert json.loads(first)["cpu"]["memory_total_bytes"]
    else:
        assert first.startswith("CPU: ")
