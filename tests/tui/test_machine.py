"""Stage 1."""

from __future__ import annotations

import threading

from tests.tui.fake_journey import CPU_HOST, GPU_HOST, NO_PYTHON, FakeJourney
from tests.tui.walking import StillApp, screen, to_machine, wait_for
from wizard.kernel.errors import UsageError
from wizard.tui.screens.machine import MachineScreen, judgement, rows, usable


async def test_the_first_screen_says_that_it_is_looking_until_the_probe_is_done() -> None:
    gate = threading.Event()
    made = FakeJourney(gate=gate)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        machine = await screen(pilot, MachineScreen)
        await wait_for(pilot, lambda: "Looking at this machine" in str(machine.query_one("#verdict").render()))
        await pilot.press("enter")
        assert pilot.app.screen is machine
        gate.set()
        await wait_for(pilot, lambda: machine.view.host)


async def test_quitting_does_not_wait_for_a_probe_that_hangs() -> None:
    gate = threading.Event()
    app = StillApp(FakeJourney(gate=gate))
    async with app.run_test(size=(80, 24)) as pilot:
        await screen(pilot, MachineScreen)
        await pilot.press("q")
    gate.set()
    assert app.return_value == 0


async def test_a_probe_that_fails_is_shown_with_its_code_and_can_be_repeated() -> None:
    made = FakeJourney(host=UsageError("TW-P10", "no hardware named [bold]5xX[/]", "Name a file or 4xA6000."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        machine = await to_machine(pilot)
        shown = str(machine.query_one("ErrorPanel").render())
        assert "TW-P10" in shown
        assert "[bold]5xX[/]" in shown
        assert "4xA6000" in shown
        made.host = CPU_HOST
        await pilot.press("r")
        await wait_for(pilot, lambda: machine.view.host)
        assert not machine.query_one("ErrorPanel").display


def test_without_a_gpu_the_cpu_serves() -> None:
    assert "No NVIDIA GPU was found: the CPU will serve" in judgement(CPU_HOST).plain
    assert "4 NVIDIA GPUs" in judgement(GPU_HOST).plain


def test_a_machine_needs_an_interpreter_but_another_machine_is_only_planned_for() -> None:
    from dataclasses import replace

    assert usable(CPU_HOST)
    assert not usable(NO_PYTHON)
    assert usable(replace(NO_PYTHON, source="4xH100"))


def test_everything_that_was_found_is_listed_with_what_is_usable() -> None:
    text = "\n".join(f"{label} {value.plain}" for label, value in rows(CPU_HOST))
    for word in ("AMD EPYC", "2 cores", "24.0 GiB", "121 GiB free", "glibc 2.36", "TW-P03", "docker 27.1.1", "8000"):
        assert word in text
    assert "✓ 3.11.7 /usr/bin/python3.11" in text
    assert "✗ 3.13.0" in text
