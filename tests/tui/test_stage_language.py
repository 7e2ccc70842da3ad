"""The machine's and the model's screens say everything through the catalog."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests import pseudo
from tests.tui.fake_journey import FakeJourney
from tests.tui.test_machine import at_work, here
from tests.tui.test_model import HITS, PATHS, VERDICTS
from tests.tui.values import CPU_HOST, GPU_HOST, NO_PYTHON, SUGGESTIONS, reading
from tests.tui.walking import StillApp, to_machine
from wizard.advise.advice import Constraints
from wizard.advise.ranking import advise
from wizard.advise.verdict import verdict
from wizard.kernel.errors import HostError
from wizard.model.source import find
from wizard.probe.host import GpuProcess, Host, Problem
from wizard.probe.live import GpuReading, MigReading, Reading, Traffic
from wizard.texts.advise import verdict as words
from wizard.tui.screens.machine import MachineView, judgement, verdict_text
from wizard.tui.views.machine import cards
from wizard.tui.views.model import ModelView, content, state

LOST = GpuReading(0, "NVIDIA H200", unknown={"memory": "lost", "utilisation": "lost"})
DATA = (
    *(hit.ref for hit in HITS),
    *(suggestion.title for suggestion in SUGGESTIONS),
    *(words(suggestion.verdict)[1] for suggestion in VERDICTS if suggestion.verdict),
    *(CPU_HOST.cpu.model or "", "python", "tritonserver", "lost", "NVIDIA H200", "GPU", "CPU", "NVLink", "PCIe", "MHz"),
    *("MIG", "apache", "mit", "x86"),
)


def machines() -> list[tuple[Host, Reading | None]]:
    single, eight = here("1xH200"), here("8xH200")
    busy = reading(single).gpus[0]
    odd = replace(
        busy,
        mig_slices=(MigReading("1g.18gb", 4, 2),),
        processes=(GpuProcess(7, None, None),),
        pcie=Traffic(1, 2),
        utilisation=None,
        memory_is_shared_with_host=True,
        unknown={"utilisation": "lost"},
    )
    idle = reading(single).cpu
    return [
        (CPU_HOST, None),
        (CPU_HOST, reading(CPU_HOST)),
        (single, at_work(single, 0)),
        (single, Reading(idle, (odd,))),
        (single, Reading(idle, (LOST,))),
        (eight, at_work(eight, 3)),
        (eight, replace(reading(eight), gpus=(LOST, *reading(eight).gpus[1:]))),
        (GPU_HOST, replace(reading(GPU_HOST), gpus=(), problem=Problem("TW-P02", "lost", ""))),
    ]


@pytest.mark.parametrize("width", [34, 76])
@pytest.mark.parametrize("number", range(8))
def test_the_cards(number: int, width: int) -> None:
    with pseudo.spoken():
        host, now = machines()[number]
        text = " ".join(line.plain for line in cards(host, now, width))
        assert pseudo.escaped(text, DATA) == []
        view = MachineView(host, None, now, HostError("TW-P04", "lost", ""))
        assert pseudo.escaped(f"{judgement(host, now)} {verdict_text(view)}", DATA) == []


def test_the_verdict_of_a_machine_that_cannot_serve() -> None:
    with pseudo.spoken():
        assert pseudo.escaped(judgement(NO_PYTHON).plain, DATA) == []
        assert pseudo.escaped(verdict_text(MachineView()).plain) == []


def test_the_rows_of_the_list() -> None:
    view = ModelView(tuple(VERDICTS), unjudged={HITS[1].ref: "lost"}, judging=HITS[0].ref)
    with pseudo.spoken():
        for row in (*VERDICTS, *HITS):
            assert pseudo.escaped(content(row, view).plain, (*DATA, str(row.why_not or ""))) == []
        for entry in PATHS:
            assert pseudo.escaped(content(entry, view).plain, DATA) == []
        assert pseudo.escaped(content("word", view).plain, ("word",)) == []


@pytest.mark.parametrize(
    "view",
    [
        ModelView(reading="word"),
        ModelView(),
        ModelView((), text="word", searching=True),
        ModelView((), text="word", trouble="word"),
        ModelView((), text="word", searched="word"),
        ModelView((), looking=True),
        ModelView(()),
    ],
)
def test_the_state_line_of_the_model_list(view: ModelView) -> None:
    with pseudo.spoken():
        line = state(view)
        assert line
        assert pseudo.escaped(line, ("word",)) == []


def test_the_reasons_of_verdicts() -> None:
    for kind, ref in (
        ("1xT4", "Qwen/Qwen3-32B"),
        ("1xT4", "Qwen/Qwen3-8B"),
        ("1xH100", "Qwen/Qwen3-8B"),
        ("cpu", "demo"),
    ):
        host = here(kind)
        with pseudo.spoken():
            facts = find(ref, offline=True)
            _, why = words(verdict(host, facts, advise(host, facts, Constraints())))
        assert pseudo.escaped(why, ("awq", "int4_awq")) == []


async def test_the_whole_machine_screen() -> None:
    with pseudo.spoken():
        app = StillApp(FakeJourney(host=here("1xH200")), answers={"model": "demo"})
        async with app.run_test(size=(120, 40)) as pilot:
            machine = await to_machine(pilot)
            text = " ".join(str(widget.render()) for widget in machine.query(".heading, #verdict"))
            assert pseudo.escaped(text, DATA) == []
