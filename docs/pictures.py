"""Draw the pictures of the README and the documentation: ``make pictures``.

First, a session of the real wizard with the real Triton and the offline demo model is recorded (`recording.py`). Then
the real screens draw every picture from that recording, so that a test can draw them again and detect a stale one. The
moving picture starts with a plan for a machine with a GPU, whose description was recorded on one (`GPU_MACHINE`).

    python docs/pictures.py            record, then draw
    python docs/pictures.py --draw     draw from docs/pictures/session.json
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]  # for tests/, which is in no wheel, and for the two beside this file

from animation import animated  # noqa: E402
from recording import Recorder, Replay  # noqa: E402
from textual.pilot import Pilot  # noqa: E402

from tests.tui.walking import StillApp, answered, chat_after, choose, screen, to_machine, to_model, to_welcome, wait_for  # noqa: E402
from wizard import journey  # noqa: E402
from wizard.kernel.paths import Workspace  # noqa: E402
from wizard.tui.screens.advice import AdviceScreen  # noqa: E402
from wizard.tui.screens.build import BuildScreen  # noqa: E402
from wizard.tui.screens.chat import ChatScreen  # noqa: E402
from wizard.tui.screens.machine import MachineScreen  # noqa: E402
from wizard.tui.screens.review import ReviewScreen  # noqa: E402
from wizard.tui.views.build import Phase  # noqa: E402
from wizard.tui.widgets.live_log import LiveLog  # noqa: E402

GPU_MACHINE = ROOT / "tests" / "cases" / "hosts" / "host-h200-x1.json"
FOLDER = Path(__file__).with_name("pictures")
SESSION = FOLDER / "session.json"
HOME = "/home/ada"
"""Whose home folder it is in the pictures."""
SIZE = (92, 26)
QUESTIONS = ("What is Triton?", "What is dynamic batching?")
LONG, SHORT, KEY, TOKEN = 3.5, 0.8, 0.05, 0.08
"""Seconds for which a picture of the animation is seen: to read it, to notice it, for a key, for a piece of text."""
Pictures = dict[str, str]
Take = Callable[..., None]


def record() -> None:
    """Walk through the real wizard and write what it was told."""
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder:
        workspace, recorder = Workspace.at(folder), Recorder()
        try:
            asyncio.run(_walk(StillApp(recorder, workspace, offline=True)))  # type: ignore[arg-type]  # the same functions
        finally:
            journey.stop(workspace, "demo")
        places = {
            str(workspace.root): f"{HOME}/.local/share/triton-wizard",
            sys.prefix: f"{HOME}/triton-wizard/.venv",
            str(ROOT): f"{HOME}/triton-wizard",
            str(Path.home()): HOME,
        }
        text = json.dumps(_harmless(recorder.calls), ensure_ascii=False, indent=1)
    for here, there in places.items():
        text = text.replace(here, there)
    SESSION.write_text(text + "\n", encoding="utf-8")


def _harmless(calls: Any) -> Any:
    """Without the lines that say where packages came from: that is nobody's business."""
    for events in calls["run"]:
        for _seconds, data in events:
            if data["event"] == "Output":
                data["lines"] = [line for line in data["lines"] if not re.search("://|Processing /|Looking in", line)]
    return calls


async def _walk(app: StillApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await to_welcome(pilot)
        await choose(pilot, "machine")
        machine = await screen(pilot, MachineScreen)
        await wait_for(pilot, lambda: machine.view.host and not machine.is_waiting)
        await pilot.press("escape")
        await _to_review(pilot)
        await pilot.press("enter")
        await chat_after(pilot, await screen(pilot, BuildScreen), seconds=300)
        for question in QUESTIONS:
            await _ask(pilot, question)


async def _to_review(pilot: Pilot[Any]) -> None:
    await to_welcome(pilot)
    await choose(pilot, "serve")
    advice = await screen(pilot, AdviceScreen)
    await wait_for(pilot, lambda: advice.view.advice)
    await pilot.press("enter")
    review = await screen(pilot, ReviewScreen)
    await wait_for(pilot, lambda: review.view.plan)
    await pilot.pause()


async def _ask(pilot: Pilot[Any], question: str) -> None:
    await pilot.press(*question, "enter")
    await answered(pilot, await screen(pilot, ChatScreen))


def draw() -> Pictures:
    """Name → SVG of every picture, from the recording alone."""
    calls = json.loads(SESSION.read_text(encoding="utf-8"))
    return asyncio.run(drawn(Replay(calls)))


async def drawn(replay: Replay, *, keystrokes: bool = True) -> Pictures:
    """Name → SVG of every picture; ``wizard`` is the one that moves.

    Without ``keystrokes``, it shows questions and answers only when they are complete, which is much faster to draw.
    """
    pictures: Pictures = {}
    frames: list[tuple[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        app = StillApp(replay, Workspace.at(folder), offline=True)  # type: ignore[arg-type]  # the same functions
        app.clock = lambda: replay.seconds
        planned = StillApp(
            journey,  # type: ignore[arg-type]  # the same functions
            Workspace.at(f"{HOME}/.local/share/triton-wizard"),
            hardware=str(GPU_MACHINE),
            offline=True,
        )
        await _gpu_machine(planned, frames)

        def take(name: str, seconds: float = LONG) -> None:
            svg = app.export_screenshot(title="triton-wizard")
            if name:
                pictures[name] = svg
            frames.append((svg, seconds))

        async with app.run_test(size=SIZE) as pilot:
            await _stages(pilot, take)
            await _build(pilot, replay, take)
            for question in QUESTIONS:
                await _chat(pilot, replay, take, question, keystrokes=keystrokes)
            take("chat", 2 * LONG)
    pictures["wizard"] = animated(frames)
    return pictures


async def _gpu_machine(app: StillApp, frames: list[tuple[str, float]]) -> None:
    """Machine, model, advice, a what-if and the plan, computed for the recorded machine; nothing is run."""

    def take(seconds: float = LONG) -> None:
        frames.append((app.export_screenshot(title="triton-wizard"), seconds))

    async with app.run_test(size=SIZE) as pilot:
        await to_machine(pilot)
        take()
        await to_model(pilot)
        await pilot.press("down", "down")  # to the first models of which the configuration is known offline
        await pilot.pause()
        take()
        await pilot.press("enter")
        advice = await screen(pilot, AdviceScreen)
        await wait_for(pilot, lambda: advice.view.advice)
        await pilot.pause()
        take()
        await pilot.press("right", "right", "right", "right")  # to the number of users
        for _ in range(4):
            await pilot.press("+")
            await pilot.pause()
            take(SHORT)
        await pilot.press("enter")
        review = await screen(pilot, ReviewScreen)
        await wait_for(pilot, lambda: review.view.plan)
        await pilot.press(*["down"] * 5)  # to the model repository
        await pilot.pause()
        take()


async def _stages(pilot: Pilot[Any], take: Take) -> None:
    """From the welcome to the plan."""
    await to_welcome(pilot)
    take("welcome")
    await choose(pilot, "machine")
    machine = await screen(pilot, MachineScreen)
    await wait_for(pilot, lambda: machine.view.host and not machine.is_waiting)
    take("machine")
    await pilot.press("escape")
    await to_welcome(pilot)
    await choose(pilot, "serve")
    advice = await screen(pilot, AdviceScreen)
    await wait_for(pilot, lambda: advice.view.advice)
    await pilot.pause()
    take("advice")
    await pilot.press("enter")
    review = await screen(pilot, ReviewScreen)
    await wait_for(pilot, lambda: review.view.plan)
    await pilot.press("down", "down")
    await pilot.pause()
    take("review")
    await pilot.press("enter")


async def _build(pilot: Pilot[Any], replay: Replay, take: Take) -> None:
    """A picture whenever a step has ended, and one in the middle of the longest."""
    build = await screen(pilot, BuildScreen)
    events = replay.coming("run")
    ends = [at for at, data in enumerate(events, 1) if data["event"] == "StepFinished"]
    for at in [ends[0] // 2, *ends, len(events)]:
        replay.go_on(at - replay.given)
        lines = sum(len(data["lines"]) for data in events[:at] if data["event"] == "Output")
        ended = sum(end <= at for end in ends)
        await wait_for(pilot, lambda: len(build.run.lines) == lines and _ended(build) == ended)  # noqa: B023
        await _settled(pilot, build)
        take("build" if ended == 0 else "", LONG if ended == 0 else SHORT)
    await wait_for(pilot, lambda: build.view.phase is Phase.READY)
    await _settled(pilot, build)
    take("ready")
    await pilot.press("enter")
    chat = await screen(pilot, ChatScreen)
    await wait_for(pilot, lambda: chat.view.served)


def _ended(build: BuildScreen) -> int:
    return sum(step.state in ("done", "skipped") for step in build.view.steps)


async def _settled(pilot: Pilot[Any], build: BuildScreen) -> None:
    """The log measures its lines a little later."""
    log = build.query_one(LiveLog)
    await wait_for(pilot, lambda: log.is_vertical_scroll_end)
    await pilot.pause()


async def _chat(pilot: Pilot[Any], replay: Replay, take: Take, question: str, *, keystrokes: bool) -> None:
    """A question as it is typed, an answer as it streams; without ``keystrokes``, each in one piece."""
    chat = await screen(pilot, ChatScreen)
    already, pieces = replay.given, len(replay.coming("chat"))
    for keys in question if keystrokes else [question]:
        await pilot.press(*keys)
        take("", KEY)
    await pilot.press("enter")
    for at in range(1, pieces + 1) if keystrokes else [pieces]:
        replay.go_on(already + at - replay.given)
        await wait_for(pilot, lambda: replay.given == already + at)  # noqa: B023
        await pilot.pause(1 / 20)  # the answer is drawn 24 times a second
        take("", TOKEN)
    await answered(pilot, chat)
    take("", SHORT)


def main() -> None:
    """Record unless told not to, and write every picture."""
    FOLDER.mkdir(exist_ok=True)
    if "--draw" not in sys.argv:
        record()
    for name, svg in draw().items():
        (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
