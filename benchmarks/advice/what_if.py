"""How long one "what if" takes: the advice alone, and in the full-screen wizard until bar and speed are drawn.

``python benchmarks/advice/what_if.py`` changes format, tensor parallel size, context and users of three models and
prints the median and the slowest change, in milliseconds of processor time: the advice alone, until the first frame is
drawn (constraints, bar, speed, or the refusal), and all frames that follow (list, reasons, keys). The changes are
made several times and the quickest of each counts: the slower ones are the machine's doing.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from functools import partial
from pathlib import Path
from typing import Any

from wizard.advise.advice import Constraints
from wizard.journey import advise, pareto
from wizard.kernel.paths import Workspace
from wizard.model.config import describe
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host
from wizard.probe.shorthand import host
from wizard.texts.explain import figures
from wizard.tui.app import WizardApp
from wizard.tui.screens.advice import AdviceScreen

CONFIGS = json.loads((Path(__file__).parents[2] / "tests" / "model" / "configs" / "public.json").read_text())
MODELS = (
    ("meta-llama/Llama-3.1-8B", "1xA6000"),
    ("meta-llama/Llama-3.1-70B", "4xA6000"),
    ("Qwen/Qwen3-235B-A22B", "8xH100"),
)
CHANGES = [(field, by) for field in range(5) for by in (1, -1, -1, 1)] * 3
REPEATS = 3
SETTLED = 0.15
NOTHING = 2.0


class Alone(WizardApp):
    """The wizard with no other screen than the advice's."""

    def __init__(self, screen: AdviceScreen) -> None:
        super().__init__(Workspace.at(None))
        self.alone = screen

    def _walk(self) -> None:  # type: ignore[override]  # a worker there
        self.push_screen(self.alone)


async def settled(frames: list[float]) -> None:
    """Wait until the first frame, and then until none has come for `SETTLED` seconds; for `NOTHING` at most if no
    frame comes, because some changes alter nothing that is shown.
    """
    seen, begun = -1, time.monotonic()
    while not frames or seen != len(frames):
        if not frames and time.monotonic() - begun > NOTHING:
            return
        seen = len(frames)
        await asyncio.sleep(SETTLED)


async def drawn(machine: Host, facts: ModelFacts) -> list[tuple[float, float, float]]:
    """Milliseconds of processor time of each change: the advice, until the first frame is drawn, and all of it."""
    alone: list[float] = []
    frames: list[float] = []

    def timed(constraints: Constraints) -> object:
        begun = time.process_time()
        advice = advise(machine, facts, constraints)
        alone.append(time.process_time() - begun)
        return advice

    front = partial(pareto, machine, facts)
    screen = AdviceScreen(facts, timed, partial(figures, machine, facts), front, Constraints())  # type: ignore[arg-type]
    walls = []
    async with Alone(screen).run_test(size=(120, 40)) as pilot:
        while screen.view.advice is None:
            await pilot.pause()
        await pilot.pause()
        display = screen.app._display

        def framed(*frame: Any) -> None:
            display(*frame)
            frames.append(time.process_time())

        screen.app._display = framed  # type: ignore[method-assign,assignment]  # Textual draws every frame by it
        for field, by in CHANGES:
            screen.action_field(field - screen.view.field)
            await asyncio.sleep(SETTLED)
            frames.clear()
            begun, constraints = time.process_time(), screen.view.constraints
            screen.action_change(by)
            if screen.view.constraints == constraints:  # at the end of the values: nothing to draw
                continue
            await settled(frames)
            if not frames:
                continue
            walls.append(
                tuple(1e3 * seconds for seconds in (alone[-1], frames[0] - begun, time.process_time() - begun))
            )
    return walls  # type: ignore[return-value]


def main() -> None:
    print(f"{'model':28}{'machine':>10}{'advice':>16}{'first frame':>16}{'all frames':>16}   ms: median / slowest")
    for name, hardware in MODELS:
        facts = describe(ModelFacts(name, "folder", name, name, None, None), CONFIGS[name]["config"])
        repeats = [asyncio.run(drawn(host(hardware), facts)) for _ in range(REPEATS)]
        best = [[min(column) for column in zip(*same, strict=True)] for same in zip(*repeats, strict=True)]
        columns = zip(*best, strict=True)
        cells = "".join(
            f"{f'{statistics.median(column):.1f} / {max(column):.1f}':>16}" for column in map(list, columns)
        )
        print(f"{name:28}{hardware:>10}{cells}")


if __name__ == "__main__":
    main()
