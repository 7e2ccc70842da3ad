"""Stage 1."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import CPU_HOST, GIB, GPU_HOST, NO_PYTHON, reading
from tests.tui.walking import StillApp, screen, to_machine, wait_for
from wizard.kernel.errors import HostError, UsageError
from wizard.probe.host import Gpu, GpuLink, GpuProcess, Host, Problem
from wizard.probe.live import GpuReading, MigReading, Reading, Traffic
from wizard.probe.shorthand import host
from wizard.tui.screens.machine import MachineScreen, judgement, rows
from wizard.tui.views.machine import cards, gauge, links_text
from wizard.tui.widgets.cards import LiveCards
from wizard.tui.widgets.chrome import KeyBar


async def test_the_first_screen_says_that_it_is_looking_until_the_probe_is_done() -> None:
    gate = threading.Event()
    made = FakeJourney(gate=gate)
    async with StillApp(made, answers={"model": "demo"}).run_test(size=(80, 24)) as pilot:
        machine = await screen(pilot, MachineScreen)
        await wait_for(pilot, lambda: "Checking this machine" in str(machine.query_one("#verdict").render()))
        await pilot.press("enter")
        assert pilot.app.screen is machine
        gate.set()
        await wait_for(pilot, lambda: machine.view.host)


async def test_quitting_does_not_wait_for_a_probe_that_hangs() -> None:
    gate = threading.Event()
    app = StillApp(FakeJourney(gate=gate), answers={"model": "demo"})
    async with app.run_test(size=(80, 24)) as pilot:
        await screen(pilot, MachineScreen)
        await pilot.press("ctrl+q")
    gate.set()
    assert app.return_value == 0


async def test_a_probe_that_ends_while_its_screen_closes_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A screen's widgets are removed before the screen: nothing is left to show the result on."""
    ended, machine = threading.Event(), MachineScreen(lambda: CPU_HOST if ended.wait(30) else NO_PYTHON, first=False)

    async def unmounted(_bar: KeyBar) -> None:
        while machine.query(LiveCards):  # noqa: ASYNC110  # Textual has no event for it
            await asyncio.sleep(0)
        ended.set()
        while not all(worker.is_finished for worker in probes):  # noqa: ASYNC110
            await asyncio.sleep(0)

    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        await pilot.app.push_screen(machine)
        probes = [worker for worker in pilot.app.workers if worker.node is machine]
        assert probes
        with monkeypatch.context() as patch:
            patch.setattr(KeyBar, "on_unmount", unmounted, raising=False)
            await pilot.app.pop_screen()
        assert all(worker.is_cancelled for worker in probes)


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
    assert "No NVIDIA GPU was detected: models run on the CPU" in judgement(CPU_HOST).plain
    assert "4 NVIDIA GPUs" in judgement(GPU_HOST).plain


def test_a_machine_needs_an_interpreter_but_another_machine_is_only_planned_for() -> None:
    assert CPU_HOST.runs_triton
    assert not NO_PYTHON.runs_triton
    assert replace(NO_PYTHON, source="4xH100").runs_triton


def test_every_detected_device_is_listed_with_its_usability() -> None:
    text = "\n".join(f"{label} {value.plain}" for label, value in rows(CPU_HOST))
    for word in ("121 GiB free", "glibc 2.36", "TW-P03", "docker 27.1.1", "8000"):
        assert word in text
    assert "✓ 3.11.7 /usr/bin/python3.11" in text
    assert "✗ 3.13.0" in text


def here(hardware: str) -> Host:
    """A machine of this kind, as if it were this one."""
    return replace(host(hardware), source="this machine")


def at_work(host: Host, *indices: int) -> Reading:
    """What goes on where programs hold most of the memory of some GPUs."""
    idle = reading(host)
    processes = (GpuProcess(812, "/opt/tritonserver", 8 * GIB), GpuProcess(4711, "/usr/bin/python3", 60 * GIB))

    def busy(gpu: GpuReading) -> GpuReading:
        return replace(
            gpu,
            memory_used_bytes=68 * GIB,
            memory_free_bytes=(gpu.memory_total_bytes or 0) - 68 * GIB,
            utilisation=0.87,
            temperature_c=61,
            power_watts=412.0,
            nvlink=Traffic(3 * GIB, 2 * GIB),
            processes=processes,
        )

    return replace(idle, gpus=tuple(busy(gpu) if gpu.index in indices else gpu for gpu in idle.gpus))


def text(host: Host, now: Reading | None, width: int = 76) -> str:
    lines = cards(host, now, width)
    assert max(line.cell_length for line in lines) <= width
    return "\n".join(line.plain for line in lines)


@pytest.mark.parametrize("width", [34, 76, 116])
def test_a_card_says_who_holds_the_memory_and_what_is_free(width: int) -> None:
    host = here("1xH200")
    shown = " ".join(text(host, at_work(host, 0), width).split())
    for word in ("GPU 0 NVIDIA H200", "72.4 GiB free of 140 GiB", "87%", "61 °C · 412 of 700 W", "345 MHz"):
        assert word in shown
    assert "python3 (4711) 60.0 GiB, tritonserver (812) 8.0 GiB" in shown  # the greatest first
    assert "NVLink ↑ 3.0 GiB/s ↓ 2.0 GiB/s" in shown


@pytest.mark.parametrize("width", [34, 76, 116])
def test_eight_gpus_have_a_row_each_and_those_that_are_held_a_second(width: int) -> None:
    host = here("8xH200")
    lines = text(host, at_work(host, 3), width).splitlines()
    rows = [line for line in lines if line[:2].strip().isdigit() and line[2:4] == "  "]
    assert len(rows) == 8
    assert "72.4 GiB free" in rows[3]
    assert "used by python3 (4711)" in lines[lines.index(rows[3]) + 1]
    assert "8 GPUs: NVIDIA H200" in lines[0]


def test_before_the_first_reading_the_cards_show_the_probed_host() -> None:
    shown = text(GPU_HOST, None)
    assert "79.0 GiB free of 80.0 GiB" in shown
    assert "°C" not in shown
    assert "24.0 GiB" in text(CPU_HOST, None)


def test_a_machine_without_a_gpu_has_a_card_of_its_processor() -> None:
    shown = text(CPU_HOST, reading(CPU_HOST))
    for word in ("AMD EPYC", "2 cores", "21.3 GiB free of 24.0 GiB", "3%", "load 0.2", "41 °C"):
        assert word in shown
    assert "GPU" not in shown


def test_unknown_readings_are_marked_unknown_and_never_zero() -> None:
    host = here("1xH200")
    why = {"utilisation": "Not Supported (nvmlDeviceGetUtilizationRates)"}
    known = reading(host).gpus[0]
    now = replace(known, utilisation=None, temperature_c=None, power_watts=None, unknown=why)
    shown = text(host, Reading(reading(host).cpu, (now,)))
    assert "unknown: Not Supported" in shown
    for word in ("0%", " W", "°C\n\n"):
        assert word not in shown.partition("CPU")[0]


def test_a_gpu_that_vanishes_says_so_alone_and_among_others() -> None:
    lost = {"memory": "GPU is lost", "utilisation": "GPU is lost"}
    for kind in ("1xH200", "8xH200"):
        host = here(kind)
        idle = reading(host)
        now = replace(idle, gpus=(GpuReading(0, "NVIDIA H200", unknown=lost), *idle.gpus[1:]))
        assert "GPU is lost" in text(host, now)
        assert "GPU is lost" in text(host, now, 34).replace("\n", " ")
    gone = replace(reading(GPU_HOST), gpus=(), problem=Problem("TW-P02", "the driver is not loaded", "Load it."))
    assert "TW-P02" in text(GPU_HOST, gone)


def test_slices_and_hidden_processes() -> None:
    host = here("1xH200")
    part = MigReading("1g.18gb", 18 * GIB, 17 * GIB)
    now = replace(reading(host).gpus[0], mig_slices=(part,), processes=(GpuProcess(7, None, None),))
    shown = text(host, replace(reading(host), gpus=(now,)))
    assert "1g.18gb  1.0 GiB free of 18.0 GiB" in shown
    assert "name hidden (7) size hidden" in shown


@pytest.mark.parametrize(
    ("links", "sentence"),
    [
        ((), ""),
        ((GpuLink(0, 1, "NV18"),), "18 NVLinks"),
        ((GpuLink(0, 1, "SYS"),), "PCIe between processor sockets"),
        (tuple(GpuLink(0, b, "NV1") for b in (1, 2)), "all pairs via 1 NVLink"),
        (
            (GpuLink(0, 1, "NV4"), GpuLink(0, 2, "SYS"), GpuLink(1, 2, "SYS")),
            "0–1 via 4 NVLinks; all others via PCIe between processor sockets",
        ),
    ],
)
def test_links_in_words(links: tuple[GpuLink, ...], sentence: str) -> None:
    gpus = tuple(Gpu(index, "a") for index in range(1 + max((link.b for link in links), default=0)))
    assert links_text(replace(GPU_HOST, gpus=gpus, gpu_links=links)) == sentence


@pytest.mark.parametrize(("share", "used"), [(0.0, 0), (0.001, 1), (0.5, 5), (1.0, 10), (1.3, 10)])
def test_a_gauge_is_as_full_as_it_should_be(share: float, used: int) -> None:
    assert gauge(share, 10).plain == "█" * used + "·" * (10 - used)


async def test_readings_are_taken_until_the_screen_is_left_and_the_last_one_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(MachineScreen, "EVERY", 0.01)
    host = here("1xH200")
    made = FakeJourney(host=host, reading=at_work(host, 0))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        machine = await to_machine(pilot)
        assert "72.4 GiB of GPU memory is free" in str(machine.query_one("#verdict").render())
        made.reading = at_work(host)
        await wait_for(pilot, lambda: "140 GiB of GPU" in str(machine.query_one("#verdict").render()))
        made.reading = at_work(host, 0)
        await wait_for(pilot, lambda: machine.view.reading == made.reading)
        assert made.closed == []
        given = []
        machine.dismiss = given.append  # type: ignore[method-assign,assignment]
        machine.action_accept()
        assert given[0].gpus[0].memory_free_bytes == host.gpus[0].memory_total_bytes - 68 * GIB


async def test_the_monitor_is_closed_when_the_screen_is_left() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        await pilot.press("enter")
        await wait_for(pilot, lambda: made.closed == ["monitor"])


async def test_readings_that_fail_half_way_leave_the_last_one_and_are_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(MachineScreen, "EVERY", 0.01)
    host = here("1xH200")
    made = FakeJourney(host=host)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        machine = await to_machine(pilot)
        made.reading = HostError("TW-P04", "NVML has [bold]gone[/]", "Restart it.")
        await wait_for(pilot, lambda: machine.view.silent)
        await pilot.pause()
        shown = str(machine.query_one("#verdict").render())
        assert "out of date: NVML has [bold]gone[/] (TW-P04)" in shown
        assert machine.view.reading is not None
        made.reading = at_work(host, 0)
        await wait_for(pilot, lambda: machine.view.silent is None)


async def test_another_machine_has_no_readings() -> None:
    made = FakeJourney(host=GPU_HOST)
    async with StillApp(made, hardware="4xH100").run_test(size=(80, 24)) as pilot:
        machine = await to_machine(pilot)
        assert machine.view.reading is None
        await pilot.press("enter")
    assert made.closed == []
