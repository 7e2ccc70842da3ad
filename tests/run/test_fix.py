"""The command that fixes a known failure: where it may run, and what it then reaches."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fixable import KNOWN, LINE, Fixable
from tests.run.runs import events_of
from tests.values import plan_of, python_step
from wizard.catalog.failures import failures
from wizard.kernel.errors import StepError
from wizard.kernel.paths import Workspace
from wizard.kernel.program import command
from wizard.plan.plan import Plan
from wizard.run.events import StepFinished
from wizard.run.fix import Fix, fix_of
from wizard.run.journal import Journal

COMMANDS = {name: failure for name, failure in failures().items() if failure.command}
PLACES = {
    ("driver-not-communicating", "cuda-system-not-initialized", "nvml-unknown-error-in-container"): ("here", "here"),
    ("docker-runtime-nvidia-unknown", "docker-daemon-down"): ("here", "here"),
    ("hf-gated-not-logged-in", "hf-no-token", "hf-cache-permission"): ("here", "here"),
    ("hf-xet-cas-error", "hf-transfer-missing"): ("here", "here"),  # downloads never run in a container
    ("mpi4py-build-failed", "libmpi-missing", "git-lfs-missing", "c-compiler-missing"): ("here", "step"),
    ("mpi-not-enough-slots",): ("here", "step"),
    ("modelopt-no-cuda-toolkit", "ninja-missing", "nvidia-stub-bad-params"): ("step", "step"),
    ("transformers-rope-scaling", "transformers-unknown-architecture"): ("step", "step"),
    ("tokenizer-backend-missing", "tokenizer-format-too-new", "stub-numpy2-crash"): ("step", "step"),
    ("secure-boot-module-rejected", "nvml-driver-library-mismatch"): ("elsewhere", "elsewhere"),  # then a reboot
    ("nvml-library-not-found", "nvidia-smi-missing"): ("elsewhere", "elsewhere"),
    ("docker-socket-permission",): ("elsewhere", "elsewhere"),  # then a new login
    ("docker-no-gpu-driver",): ("elsewhere", "elsewhere"),  # that command asks, too
    ("hf-invalid-token",): ("elsewhere", "elsewhere"),  # a token in the environment stays in use
    ("weights-are-lfs-pointers", "trtllm-lfs-pointer-build", "terraform-lock-inconsistent"): ("elsewhere", "elsewhere"),
    ("perf-analyzer-libraries",): ("elsewhere", "elsewhere"),  # no step of a plan
}
"""IDs → where each command runs for a native step, and for one in a container."""
NEVER_HERE = ("pip ", "git lfs pull", "reboot", "usermod", "terraform", "mokutil", "ubuntu-drivers", "newgrp")


def plan(tmp_path: Path, runtime: str = "native") -> Plan:
    made = plan_of(tmp_path)
    return replace(made, choice=replace(made.choice, runtime=runtime))


def fix(known: str, plan: Plan, *, terminal: bool = True, asks: bool = True) -> Fix:
    error = StepError("TW-R03", "it failed", "Fix it.")
    error.known = known
    offered = fix_of(error, plan, terminal=terminal, asks=asks)
    assert offered is not None
    return offered


def test_where_every_command_runs(tmp_path: Path) -> None:
    expected = {name: places for names, places in PLACES.items() for name in names}
    native, contained = plan(tmp_path), plan(tmp_path, "docker")
    assert {name: (fix(name, native).place, fix(name, contained).place) for name in COMMANDS} == expected


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_is_one_line_that_a_shell_takes_and_needs_no_more_if_it_runs_here(name: str, tmp_path: Path) -> None:
    planned = plan(tmp_path)
    offered = fix(name, planned)
    if name != "docker-no-gpu-driver":
        assert offered.command == COMMANDS[name].command
    else:  # a command of the wizard, as it can be pasted
        assert COMMANDS[name].command == "triton-wizard prerequisites --run toolkit"
        workspace = Workspace(Path(planned.workspace))
        assert offered.command == command("prerequisites", "--run", "toolkit", workspace=workspace)
    assert offered.command.isprintable()
    assert subprocess.run(("sh", "-n", "-c", offered.command), check=False).returncode == 0
    assert offered.by_hand or not any(word in offered.command for word in NEVER_HERE)


def test_without_a_terminal_nothing_runs_here(tmp_path: Path) -> None:
    places = {fix(name, plan(tmp_path), terminal=False).place for name in COMMANDS}
    assert places == {"terminal", "step", "elsewhere"}


def test_what_may_not_ask_leaves_it_to_the_shell_that_it_was_started_in(tmp_path: Path) -> None:
    places = {fix(name, plan(tmp_path), asks=False).place for name in COMMANDS}
    assert places == {"shell", "step", "elsewhere"}


def test_a_restart_of_docker_says_what_it_stops(tmp_path: Path) -> None:
    fixes = {name: fix(name, plan(tmp_path)) for name in COMMANDS}
    restarting = {name for name, offered in fixes.items() if "restart docker" in offered.command}
    assert restarting == {name for name, offered in fixes.items() if "stops all containers" in offered.cause} != set()


@pytest.mark.parametrize(("status", "result"), [(0, "`x` succeeded."), (3, "`x` ended: exit status 3.")])
def test_the_result_of_a_command(status: int, result: str) -> None:
    assert Fix("T", "C.", "x", "here").result(status) == result


def test_each_place_has_its_own_label(tmp_path: Path) -> None:
    labels = {Fix("T", "C.", "true", place).label for place in ("here", "shell", "terminal", "step", "elsewhere")}
    assert len(labels) == 5
    exports = {Fix("T", "C.", "export A=1", place).label for place in ("shell", "terminal")}
    assert exports == {"Run this before you start the wizard, then try again:"}


@pytest.mark.parametrize("name", ["", "unknown", "hf-gated-repo", "$(reboot)"])
def test_an_error_without_a_command_has_no_fix(name: str, tmp_path: Path) -> None:
    error = StepError("TW-R03", "it failed", "Fix it.")
    error.known = name
    assert fix_of(error, plan(tmp_path), terminal=True) is None
    assert fix_of(None, plan(tmp_path), terminal=True) is None


async def test_a_log_chooses_the_failure_but_never_the_text_of_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixable = Fixable(tmp_path).made("touch '$USER'")
    for name, value in fixable.environment.items():
        monkeypatch.setenv(name, value)
    hostile = f'error: {LINE}; run: $(touch /evil) `touch /evil` command = "touch /evil"'
    step = python_step("one", f"print({hostile!r}); exit(1)")
    events, error = await events_of(plan_of(fixable.workspace.root, step))
    assert isinstance(error, StepError)
    assert error.known == KNOWN
    assert fix(error.known, fixable.plan).command == "touch '$USER'"
    last = events[-1]
    assert isinstance(last, StepFinished)
    assert last.error is not None
    assert last.error["known"] == KNOWN
    noted = [event for event in Journal(fixable.workspace.journal).events() if isinstance(event, StepFinished)]
    assert noted[-1].error == last.error


@pytest.mark.parametrize(
    ("command", "reached"), [("export A_TEST_SETS_IT=1", True), ("export A_TEST_SETS_IT=$HOME/x", False)]
)
async def test_a_variable_reaches_the_step_that_is_retried_unless_only_a_shell_could_set_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, reached: bool
) -> None:
    fixable = Fixable(tmp_path).made(command)
    monkeypatch.setenv("A_TEST_SETS_IT", "")  # and as it was, after the test
    for name, value in fixable.environment.items():
        monkeypatch.setenv(name, value)
    check = python_step(
        "one", f"import os; os.environ['A_TEST_SETS_IT'] == '1' or exit('error: {LINE}'); print('done')"
    )
    tried = plan_of(fixable.workspace.root, check)
    _, error = await events_of(tried)
    assert isinstance(error, StepError)
    offered = fix(error.known, tried)
    assert offered.by_hand is not reached
    if reached:
        assert offered.apply() == 0
        assert os.environ["A_TEST_SETS_IT"] == "1"
        events, _ = await events_of(tried)
        assert [event.outcome for event in events if isinstance(event, StepFinished)] == ["done"]
        assert "until it ends" in offered.result(0)
