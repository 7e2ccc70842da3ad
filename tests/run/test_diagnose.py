"""From what tools print when they fail to the cause and what to do; the texts are theirs, as they printed them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.run.runs import events_of
from tests.values import plan_of, python_step
from wizard.kernel.errors import StepError
from wizard.run.diagnose import FIX_THE_CAUSE, Cause
from wizard.run.diagnose import diagnose as diagnosed
from wizard.serve.causes import Scan


def diagnose(status: int, lines: list[str]) -> Cause:
    """As for a command with this output."""
    scan = Scan()
    scan.feed_lines(lines)
    return diagnosed(status, lines, scan.cause())


IMAGE = "nvcr.io/nvidia/tritonserver:26.05-vllm-python-py3"


@pytest.mark.parametrize(
    ("line", "todo"),
    [
        ("Error response from daemon: manifest unknown", "--release"),
        (
            "Error response from daemon: no matching manifest for linux/arm64/v8 in the manifest list entries: no "
            "match for platform in manifest: not found",
            "x86_64 machine",
        ),
        (
            f"Error response from daemon: manifest for {IMAGE} not found: manifest unknown: manifest unknown",
            "--release",
        ),
        (
            f"Error: initializing source docker://{IMAGE}: reading manifest 26.05-vllm-python-py3 in "
            "nvcr.io/nvidia/tritonserver: manifest unknown",
            "--release",
        ),
        ("Error response from daemon: unauthorized", "docker login nvcr.io"),
        ("Error response from daemon: denied", "docker login nvcr.io"),
        ("Error response from daemon: toomanyrequests: You have reached your pull rate limit.", "Wait"),
        ("Error response from daemon: received unexpected HTTP status: 500 Internal Server Error", "Try again"),
        (
            'Error response from daemon: Get "https://nvcr.io/v2/": dial tcp: lookup nvcr.io on 10.0.0.2:53: no such '
            "host",
            "network",
        ),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", "Start"),
        ("fatal: unable to access 'https://github.com/NVIDIA/TensorRT-LLM.git/': Could not resolve host", "network"),
        ("failed to register layer: write /opt/lib.so: no space left on device", "Free some space"),
        ("error: Failed to fetch: https://packages.invalid/simple/numpy/", "package index"),
        ("ERROR: No matching distribution found for numpy==1.26.4", "pip config list"),
        ("ERROR: No matching distribution found for torch==2.9.1+cu130", "PIP_EXTRA_INDEX_URL"),
        ("╰─▶ Because there is no version of torch==2.9.1+cu130 and you require torch==2.9.1+cu130", "UV_INDEX"),
        ("error: the disk is made of cheese", FIX_THE_CAUSE),
    ],
)
def test_the_line_and_what_to_do(line: str, todo: str) -> None:
    cause = diagnose(1, ["Using default tag: latest", line])
    assert cause.why == f"exit status 1: {line}"
    assert todo in cause.todo


def test_a_hint_after_the_error_is_not_the_cause() -> None:
    """As huggingface_hub 2.4 prints it, in colour although nobody looks on."""
    lines = [
        "\x1b[1m\x1b[31mError: Access denied. Model 'org/gated' requires approval.\x1b[0m",
        "\x1b[90mHint: set HF_DEBUG=1 as environment variable for full traceback.\x1b[0m",
    ]
    cause = diagnose(1, lines)
    assert cause.why == "exit status 1: Error: Access denied. Model 'org/gated' requires approval."
    assert "license" in cause.todo


def test_a_full_disk_is_the_cause_of_what_follows() -> None:
    lines = ["OSError: [Errno 28] No space left on device", "ERROR: the engine was not written", "Traceback ends"]
    assert diagnose(1, lines).why.endswith("No space left on device")


def test_an_index_that_is_not_reached_is_the_cause_of_nothing_being_found() -> None:
    """As pip 23 prints it; a connection that broke once and came back is not the cause of what else goes wrong."""
    broken = (
        "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError('<pip...>: "
        "Failed to establish a new connection: [Errno -2] Name or service not known')': /simple/numpy/"
    )
    consequence = "ERROR: Could not find a version that satisfies the requirement numpy==1.26.4 (from versions: none)"
    cause = diagnose(1, [broken, consequence, "ERROR: No matching distribution found for numpy==1.26.4"])
    assert cause.line == broken
    assert "proxy" in cause.todo
    silent = "WARNING: Retrying after connection broken by 'ReadTimeoutError(\"Read timed out.\")': /simple/numpy/"
    assert diagnose(1, [silent, "ERROR: No matching distribution found for numpy"]).line == silent
    assert diagnose(1, [broken, "ERROR: the hashes do not match"]).line == "ERROR: the hashes do not match"


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (["ERROR: the first", "ERROR: the second", "Traceback ends"], "ERROR: the second"),
        (["no space left on device: a", "No space left on device: b", "ERROR: c"], "no space left on device: a"),
        (["Disk quota exceeded", "ERROR: c"], "Disk quota exceeded"),
        (["first", "  second  ", " "], "second"),
    ],
)
def test_the_line_of_several_that_counts(lines: list[str], cause: str) -> None:
    assert diagnose(1, lines).line == cause


def test_silence_and_signals() -> None:
    assert diagnose(1, ["", " "]).why == "exit status 1: no output"
    assert diagnose(-9, ["half"]).why == "killed by signal 9: half"
    assert diagnose(-1, ["half"]).why == "killed by signal 1: half"


@pytest.mark.parametrize(
    "line",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "RuntimeError: CUDA error: out of memory",
        "[TensorRT-LLM][ERROR] CUDA runtime error in cudaMallocAsync(ptr, size, stream): out of memory",
    ],
)
def test_a_full_gpu_is_the_cause_of_what_follows(line: str) -> None:
    cause = diagnose(1, [line, "ERROR: the engine was not written"])
    assert cause.why == f"exit status 1: {line}"
    assert "GPU" in cause.todo


@pytest.mark.parametrize("status", [-9, 137])
def test_what_is_killed_had_mostly_no_memory(status: int) -> None:
    """A shell and a container's client say 128 more than the signal's number."""
    assert "memory" in diagnose(status, ["Loading checkpoint shards:  43%"]).todo
    assert diagnose(status, ["write /opt/lib.so: no space left on device"]).known == "disk-full"
    assert diagnose(-15, ["half"]).todo == diagnose(143, ["half"]).todo == FIX_THE_CAUSE


async def test_a_disk_that_fills_during_a_step(tmp_path: Path) -> None:
    """Every write to /dev/full fails as on a full disk; the step is not taken for done afterwards."""
    made = tmp_path / "made"
    code = f"open({str(made)!r}, 'w').write('half'); open('/dev/full', 'wb', 0).write(b'x')"
    plan = plan_of(tmp_path / "w", python_step("one", code, made))
    for _ in range(2):  # the second time, too: what is half made is there
        events, error = await events_of(plan)
        assert isinstance(error, StepError)
        assert error.code == "TW-R03"
        assert "No space left on device" in error.what
        assert "Free some space" in error.todo
        assert [getattr(event, "outcome", None) for event in events][-1] == "failed"
    whole = plan_of(tmp_path / "w", python_step("one", f"open({str(made)!r}, 'w').write('whole')", made))
    await events_of(whole)
    assert made.read_text() == "whole"


async def test_an_image_that_there_is_none_of(tmp_path: Path) -> None:
    message = "Error response from daemon: manifest unknown"
    _, error = await events_of(plan_of(tmp_path / "w", python_step("image", f"import sys; sys.exit({message!r})")))
    assert isinstance(error, StepError)
    assert error.code == "TW-R03"
    assert "manifest unknown" in error.what
    assert "--release" in error.todo
    assert sys.executable in error.todo  # the command is there to be tried by hand
