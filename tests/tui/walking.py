"""How the tests drive the app: with keys, waiting for conditions and never for time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

import textual.app
import textual.pilot
from textual._wait import wait_for_idle
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, TextArea

from tests.tui.fake_journey import WORKSPACE, FakeJourney
from wizard.kernel.paths import Workspace
from wizard.tui.app import WizardApp
from wizard.tui.screens.advice import AdviceScreen
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.machine import MachineScreen
from wizard.tui.screens.model import ModelScreen
from wizard.tui.screens.review import ReviewScreen
from wizard.tui.screens.welcome import WelcomeScreen
from wizard.tui.views.build import Phase
from wizard.tui.widgets.picker import Picker

S = TypeVar("S", bound=Screen[Any])
Walk = Pilot[int]
SECONDS = 60
"""Bounds a wait in vain."""
TURNS = 1000
"""Of the event loop; in each all is done that was ready before it."""


async def idle(*about: float) -> None:
    """Let the app do everything that it can do now.

    Textual takes a process that gets little of the processor for one that has nothing to do, which on a busy machine
    it is not; what the event loop could run at once is then still to be done (asyncio keeps it in ``_ready``). An app
    that always has something to do has done what there was by so many `TURNS`.
    """
    await wait_for_idle(*about)
    loop: Any = asyncio.get_running_loop()
    for _ in range(TURNS):
        await asyncio.sleep(0)
        if not loop._ready:
            return


textual.app.wait_for_idle = textual.pilot.wait_for_idle = idle  # what a pilot waits for, and between two keys


class StillApp(WizardApp):
    """The app without a blinking cursor, an animation or a running clock."""

    def __init__(self, journey: FakeJourney, workspace: Workspace = WORKSPACE, **options: Any) -> None:
        super().__init__(workspace, journey=journey, clock=lambda: 0.0, **options)
        self.animation_level = "none"

    def exit(self, result: Any = None, return_code: int = 0, message: Any = None) -> None:
        """Whoever takes a picture leaves with it; a build that is held in it is not asked about."""
        if isinstance(result, str):
            self.runs.clear()
        super().exit(result, return_code, message)

    def on_descendant_focus(self) -> None:
        if isinstance(self.focused, (Input, TextArea)):
            self.focused.cursor_blink = False


async def wait_for(pilot: Pilot[Any], condition: Callable[[], object], *, seconds: float = SECONDS) -> None:
    """Let the app work until ``condition`` holds; ``seconds`` only bounds a wait in vain."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        await pilot.pause()
        await asyncio.sleep(0.005)


async def screen(pilot: Pilot[Any], kind: type[S]) -> S:
    """Wait until a screen of this kind is on top and takes keys, and return it."""

    def settled() -> bool:
        current = pilot.app.screen
        return (
            isinstance(current, kind)
            and current.is_mounted
            and (current.focused is not None or not current.focus_chain)
        )

    await wait_for(pilot, settled)
    await pilot.pause()
    current = pilot.app.screen
    assert isinstance(current, kind)
    return current


def shown(app: textual.app.App[Any]) -> list[str]:
    """The lines of the screen."""
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


async def to_welcome(pilot: Pilot[Any]) -> WelcomeScreen:
    """Wait until everything is known that the welcome looks for."""
    welcome = await screen(pilot, WelcomeScreen)
    await wait_for(pilot, lambda: welcome.view.error or None not in (welcome.view.suggestions, welcome.view.servers))
    await pilot.pause()
    return welcome


async def choose(pilot: Pilot[Any], row: str) -> None:
    """Choose this row of the welcome."""
    welcome = await screen(pilot, WelcomeScreen)
    picker = welcome.query_one(Picker)
    while welcome.rows[picker.highlighted or 0].id != row:
        await pilot.press("down")
    await pilot.press("enter")


async def to_machine(pilot: Pilot[Any]) -> MachineScreen:
    await wait_for(pilot, lambda: isinstance(pilot.app.screen, (WelcomeScreen, MachineScreen)))
    if isinstance(pilot.app.screen, WelcomeScreen):
        await choose(pilot, "machine")
    machine = await screen(pilot, MachineScreen)
    await wait_for(pilot, lambda: (machine.view.host or machine.view.error) and not machine.is_waiting)
    await pilot.pause()
    return machine


async def to_model(pilot: Pilot[Any]) -> ModelScreen:
    await to_machine(pilot)
    await pilot.press("enter")
    model = await screen(pilot, ModelScreen)
    await wait_for(pilot, lambda: model.view.suggestions is not None and not model.view.looking)
    await pilot.pause()
    return model


async def to_advice(pilot: Pilot[Any]) -> AdviceScreen:
    app = pilot.app
    assert isinstance(app, WizardApp)
    named = "model" in app.answers and "model" not in app.guide.workshop.pin
    await (to_machine(pilot) if named else to_model(pilot))
    await pilot.press("enter")
    advice = await screen(pilot, AdviceScreen)
    await wait_for(pilot, lambda: advice.view.advice or advice.view.error)
    await pilot.pause()
    return advice


async def to_review(pilot: Pilot[Any]) -> ReviewScreen:
    await to_advice(pilot)
    await pilot.press("enter")
    review = await screen(pilot, ReviewScreen)
    await wait_for(pilot, lambda: review.view.plan or review.view.error)
    await pilot.pause()
    return review


async def to_build(pilot: Pilot[Any]) -> BuildScreen:
    await to_review(pilot)
    await pilot.press("enter")
    return await screen(pilot, BuildScreen)


async def to_chat(pilot: Pilot[Any], *, seconds: float = SECONDS) -> ChatScreen:
    return await chat_after(pilot, await to_build(pilot), seconds=seconds)


async def chat_after(pilot: Pilot[Any], build: BuildScreen, *, seconds: float = SECONDS) -> ChatScreen:
    """Wait until the build is done, in ``seconds`` at most, and go to the chat."""
    await wait_for(pilot, lambda: build.view.phase is not Phase.RUNNING, seconds=seconds)
    assert build.view.error is None
    await pilot.press("enter")
    chat = await screen(pilot, ChatScreen)
    await wait_for(pilot, lambda: chat.view.served or chat.view.error, seconds=seconds)
    await pilot.pause()
    return chat


async def asked(pilot: Pilot[Any], question: str, chat: ChatScreen) -> None:
    """Type the ``question``, send it, and wait for the whole answer."""
    await pilot.press(*question, "enter")
    await answered(pilot, chat)


async def answered(pilot: Pilot[Any], chat: ChatScreen) -> None:
    """Wait until the answer under way is complete."""
    await wait_for(pilot, lambda: not chat.view.busy and (chat.view.stats or chat.view.error or chat.view.stopped))
    await pilot.pause()
