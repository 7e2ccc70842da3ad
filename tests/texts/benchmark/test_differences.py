"""What differs between two reports is told, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from tests.bench.sample import REPORT
from wizard.texts.benchmark.differences import differences


def test_equal_ones_have_none() -> None:
    assert differences(REPORT, replace(REPORT, made="later", points=(), command="another", partial="stopped")) == ()


def test_each_difference_is_a_line() -> None:
    machine = replace(REPORT.machine, gpus=("Example GPU", "Example GPU"), memory_bytes=None)
    target = replace(REPORT.target, setup={**REPORT.target.setup, "tp": "2"}, slots=None)
    versions = {"triton-wizard": "0.2.0", **{name: text for name, text in REPORT.versions.items() if name == "aiperf"}}
    now = replace(REPORT, machine=machine, target=target, versions=versions)
    assert differences(REPORT, now) == (
        "Requests at once: unknown, was 32",
        "tp: 2, was 1",
        "Memory: unknown, was 128 GiB",
        "GPUs: Example GPU, Example GPU, was Example GPU",
        "triton-wizard: 0.2.0, was 0.1.0",
        "python: unknown, was 3.12.3",
        "triton: unknown, was 2.63.0",
    )
