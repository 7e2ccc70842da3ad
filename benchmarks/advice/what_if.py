"""How long one "what if" takes: the advice alone, and in the full-screen wizard until the new screen is drawn.

``python benchmarks/advice/what_if.py`` changes format, tensor parallel size, context and users of three models and
prints the median and the slowest change, in milliseconds. The screen is drawn at most every 1/60 s by Textual, so the
time until it is drawn contains waiting; processor time does not.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from functools import partial
from pathlib import Path

from wizard.advise.advice import Wishes
from wizard.advise.explain import figures
from wizard.journey import advise
from wizard.kernel.paths import Workspace
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host
from wizard.probe.shorthand import host
from wizard.tui.app import WizardApp
from wizard.tui.screens.advice import AdviceScreen

CONFIGS = json.loads((Path(__file__).parents[2] / "tests" / "model" / "configs" / "public.json").read_text())
MODELS = (
    ("meta-llama/Llama-3.1-8B", "1xA6000"),
    ("meta-llama/Llama-3.1-70B", "4xA6000"),
    ("Qwen/Qwen3-235B-A22B", "8xH100"),
)
CHANGES = [(field, by) for field in range(5) for by in (1, -1, -1, 1)] * 3


class Alone(WizardApp):
    """The wizard with no other screen than the advice's."""

    def __init__(self, screen: AdviceScreen) -> None:
        super().__init__(Workspace.at(None))
        self.alone = screen

    def _walk(self) -> None:  # type: ignore[override]  # a worker there
        self.push_screen(self.alone)


async def drawn(machine: Host, facts: ModelFacts) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds of each change: the advice, processor time until it is drawn, wall time until it is drawn."""
    alone: list[float] = []

    def timed(wishes: Wishes) -> object:
        begun = time.perf_counter()
        found = advise(machine, facts, wishes)
        alone.append((time.perf_counter() - begun) * 1e3)
        return found

    screen = AdviceScreen(facts, timed, partial(figures, machine, facts), Wishes())  # type: ignore[arg-type]
    processor, wall = [], []
    async with Alone(screen).run_test(size=(120, 40)) as pilot:
        while screen.view.advice is None:
            await pilot.pause()
        await pilot.pause()
        alone.clear()
        for field, by in CHANGES:
            screen.action_field(field - screen.view.field)
            await pilot.pause()
            done = asyncio.Event()
            cpu, begun = time.process_time(), time.perf_counter()
            screen.action_change(by)
            screen.call_after_refresh(done.set)
            await done.wait()
            wall.append((time.perf_counter() - begun) * 1e3)
            processor.append((time.process_time() - cpu) * 1e3)
    return alone, processor, wall


def main() -> None:
    print(f"{'model':28}{'machine':>10}{'advice':>16}{'drawn, CPU':>16}{'drawn, wall':>16}   ms: median / slowest")
    for name, hardware in MODELS:
        facts = describe(ModelFacts(name, "folder", name, name, None, None), CONFIGS[name]["config"])
        found = asyncio.run(drawn(host(hardware), facts))
        cells = "".join(f"{f'{statistics.median(one):.1f} / {max(one):.1f}':>16}" for one in found)
        print(f"{name:28}{hardware:>10}{cells}")


if __name__ == "__main__":
    main()
