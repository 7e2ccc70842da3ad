"""Findings as text: for a terminal, in one line, and the same in JSON in every language."""

from __future__ import annotations

from tests.doctor.test_checks import BROKEN, GPU_HOST, PODMAN, cpu, gpu, states
from wizard.doctor.examine import judged
from wizard.doctor.finding import failed, passed, warned
from wizard.kernel import language
from wizard.texts.data import data
from wizard.texts.doctor.report import details, headline, report, summary

FULL = failed("shm.full-container", free_bytes=1 << 20, total_bytes=64 << 20)
LOW = warned("disk.low", free_bytes=9 << 30, path="/data")
OFF = warned("persistence.off", "sudo nvidia-smi -pm 1", gpus=(0, 1))
GOOD = passed("driver.works", version="580.95.05", cuda="13.0")


def test_a_report_has_the_reason_the_fix_and_the_commands_of_a_problem() -> None:
    assert report([GOOD, OFF, LOW, FULL], 80) == (
        "GPUs\n"
        "  ✓ NVIDIA driver: driver 580.95.05, CUDA up to 13.0\n"
        "  ! Persistence mode: off for GPU 0, 1\n"
        "    Without it, the driver unloads an idle GPU, and each start waits for its\n"
        "      initialization.\n"
        "    → Turn it on until the next reboot; the service nvidia-persistenced keeps it\n"
        "      on.\n"
        "    $ sudo nvidia-smi -pm 1\n"
        "Storage\n"
        "  ! Disk space: only 9.0 GiB free at /data\n"
        "    Weights, images and environments take tens of gigabytes.\n"
        "    → Free some space (`triton-wizard clean` lists what the wizard made), or use\n"
        "      another disk: --workspace.\n"
        "  ✗ Shared memory: only 1.0 MiB of 64.0 MiB free in this container\n"
        "    Triton's Python backend and NCCL exchange data through /dev/shm.\n"
        "    → Start the container with `--shm-size=4g` or `--ipc=host`.\n"
        "\n"
        "1 failed, 2 warnings, 1 passed"
    )


def test_lines_fit_and_commands_stay_whole() -> None:
    lines = report(judged(gpu(engines=(BROKEN, PODMAN))), 60).splitlines()
    assert max(len(line) for line in lines if not line.startswith("    $ ")) <= 60
    assert report(judged(gpu(engines=())), 40).count("    $ sudo") == len(
        [command for each in judged(gpu(engines=())) for command in each.commands if command.startswith("sudo")]
    )


def test_checks_that_do_not_apply_for_the_same_reason_are_in_one_line() -> None:
    assert "  – Docker, Podman, GPUs in containers: no NVIDIA GPU\n" in report(judged(cpu()), 100)


def test_the_headline_is_about_the_worst() -> None:
    assert headline([GOOD]) is None
    assert headline([GOOD, OFF]) == ("warn", "Persistence mode: off for GPU 0, 1")
    worst = "Shared memory: only 1.0 MiB of 64.0 MiB free in this container (and 2 more)"
    assert headline([OFF, LOW, FULL]) == ("fail", worst)


def test_the_summary_counts() -> None:
    assert summary([GOOD, GOOD, OFF]) == "1 warning, 2 passed"
    assert summary(judged(states())).endswith("unknown")


def test_what_passes_has_no_details() -> None:
    assert details(GOOD) == []


def test_json_is_english_in_every_language() -> None:
    before = data(judged(gpu()))
    with language.speaking("ko"):
        assert data(judged(gpu())) == before
    first = before[0]
    assert first["check"] == "driver"
    assert first["text"] == f"driver {GPU_HOST.driver_version}, CUDA up to 13.0"
    assert {"code", "status", "params", "commands", "known", "check", "title", "text", "why", "fix"} == {*first}
