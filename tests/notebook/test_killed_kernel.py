"""A real kernel over real processes: interrupted, and killed in the middle of a build."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebook.kernel import Kernel
from tests.values import plan_of, python_step
from wizard.kernel import proctable
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json
from wizard.plan.plan import Plan
from wizard.run.events import StepFinished
from wizard.run.journal import Journal

TOKEN = "hf_" + "a1B2" * 8
WITH_PLAN = """
from dataclasses import replace
from pathlib import Path
from wizard import Journey
from wizard.kernel.values import from_json
from wizard.plan.plan import Plan
plan = from_json(Plan, Path({plan!r}).read_text(), where="plan")
journey = Journey("test", workspace=plan.workspace, name="test")
journey._state = replace(journey._state, plan=plan)
"""


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Kernel]]:
    """Kernels that are ended after the test, with their builds, which would survive them."""
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    started: list[Kernel] = []
    yield started
    for kernel in started:
        kernel.end()
    for record in tmp_path.rglob("build.jsonl"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(json.loads(record.read_text().splitlines()[0])["pid"], signal.SIGTERM)


def kernel_of(kernels: list[Kernel]) -> Kernel:
    kernels.append(Kernel.start())
    return kernels[-1]


def steps(folder: Path) -> Plan:
    """A step that is done at once, and one that waits until somebody writes into a pipe."""
    os.mkfifo(folder / "go")
    wait = (
        f"import os; print('{TOKEN} pid', os.getpid(), flush=True); open({str(folder / 'go')!r}).read(); "
        f"open({str(folder / 'two')!r}, 'a').write('x')"
    )
    first = python_step("one", f"open({str(folder / 'one')!r}, 'a').write('x')", folder / "one")
    plan = plan_of(folder / "ws", first, python_step("two", wait, folder / "two"))
    (folder / "plan.json").write_text(to_json(plan))
    return plan


def pid_of_step(plan: Plan) -> int:
    log = Path(plan.workspace) / "servers" / "test" / "logs" / "two.log"
    return int(log.read_text().split("pid ")[-1].split()[0])


def ends(plan: Plan) -> list[tuple[str, str]]:
    events = Journal(Workspace(Path(plan.workspace)).journal).events()
    return [(event.step, event.outcome) for event in events if isinstance(event, StepFinished)]


def test_an_interrupt_stops_the_processes_of_a_build(kernels: list[Kernel], tmp_path: Path) -> None:
    plan, kernel = steps(tmp_path), kernel_of(kernels)
    assert kernel.shows(WITH_PLAN.format(plan=str(tmp_path / "plan.json"))) == []
    last = kernel.interrupted("journey.up()", "pid")
    assert last["content"]["ename"] == "KeyboardInterrupt"
    assert TOKEN not in json.dumps(last, default=str)
    assert proctable.read(pid_of_step(plan)) is None
    assert ends(plan) == [("one", "done"), ("two", "cancelled")]


def test_a_build_survives_its_kernel_and_is_found_again(kernels: list[Kernel], tmp_path: Path) -> None:
    plan, kernel = steps(tmp_path), kernel_of(kernels)
    kernel.shows(WITH_PLAN.format(plan=str(tmp_path / "plan.json")))
    for message in kernel.messages("journey.up()"):
        shown = message["content"].get("data", {}).get("text/html", "")
        assert TOKEN not in shown
        if "pid" in shown:
            kernel.kill()
            break
    step = pid_of_step(plan)
    assert proctable.read(step) is not None

    kernel = kernel_of(kernels)
    assert kernel.shows(f"from wizard import Journey\njourney = Journey.attach(workspace={plan.workspace!r})") == []
    assert kernel.value("journey.name") == "test"
    shown = []
    for message in kernel.messages("journey.up()"):
        shown.append(message["content"].get("data", {}).get("text/html", ""))
        if "pid" in shown[-1] and not (tmp_path / "two").exists():
            (tmp_path / "go").write_text("go")
    assert "[1/2] Step one" in shown[-2]
    assert "[2/2] Step two" in shown[-2]
    assert ends(plan) == [("one", "done"), ("two", "done")]
    assert pid_of_step(plan) == step, "the step of the first kernel's build went on to its end"
    assert [(tmp_path / name).read_text() for name in ("one", "two")] == ["x", "x"]


def test_nothing_to_attach_to(kernels: list[Kernel], tmp_path: Path) -> None:
    kernel = kernel_of(kernels)
    ((kind, text),) = kernel.shows(f"from wizard import Journey\nJourney.attach(workspace={str(tmp_path)!r})")
    assert kind == "error"
    assert text.startswith("TW-N10: there is no build or server in "), "no traceback"
    ((_, text),) = kernel.shows(f"Journey.attach('other', workspace={str(tmp_path)!r})")
    assert text.startswith("TW-N10: there is no build or server other in ")
