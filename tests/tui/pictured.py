"""States that are pictured or read: the journey of each, and the keys that lead to it."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Static

from tests.tui.chatting import to_running_chat, words
from tests.tui.fake_journey import FakeJourney
from tests.tui.test_machine import at_work, here
from tests.tui.test_model import VERDICTS
from tests.tui.test_race import FakeStream, racing, token, tokens
from tests.tui.values import (
    ANSWER,
    ENDPOINT,
    GPU_HOST,
    HOME,
    INFEASIBLE,
    LLAMA,
    NO_PYTHON,
    SECOND,
    WORKSPACE,
    events,
    gpu_advice,
)
from tests.tui.walking import (
    answered,
    choose,
    screen,
    to_advice,
    to_build,
    to_chat,
    to_machine,
    to_model,
    to_review,
    to_welcome,
    wait_for,
)
from wizard.chat.conversation import Conversation, Stats, TokenLogprob
from wizard.chat.history import Kept
from wizard.kernel.errors import InfeasibleError, ServerError, StepError
from wizard.plan.plan import Plan
from wizard.probe.shorthand import host
from wizard.run.diagnose import CommandError, Failure
from wizard.run.events import Event, Output
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.keys import KeysScreen, PressScreen
from wizard.tui.screens.logprobs import LogprobsScreen
from wizard.tui.screens.modal import AskScreen, ReaderScreen
from wizard.tui.screens.recipes import RecipesScreen
from wizard.tui.screens.settings import SettingsScreen
from wizard.tui.screens.welcome import WelcomeScreen
from wizard.tui.views.build import Phase
from wizard.tui.widgets.live_log import LiveLog
from wizard.tui.widgets.picker import Picker

NOT_YET = InfeasibleError(
    "TW-L05",
    "this version of the wizard sets up llama.cpp only, not vLLM; the advice stands",
    "Take its figures to the image by hand, or give a GGUF file of the model.",
)
Route = Callable[[Pilot[Any]], Awaitable[Any]]
FAILED = StepError("TW-R03", "step 'Start Triton' failed: no space left on device", "Free some space and try again.")
GONE = ServerError("TW-C03", "the server at 127.0.0.1:8011 went away", "See what happened with `triton-wizard logs`.")


def then(walk: Route, *keys: str, to: type[Screen[Any]] | None = None) -> Route:
    async def go(pilot: Pilot[Any]) -> None:
        await walk(pilot)
        await pilot.press(*keys)
        if to is not None:
            await screen(pilot, to)
        await pilot.pause()

    return go


async def to_recipes(pilot: Pilot[Any]) -> None:
    await to_welcome(pilot)
    await choose(pilot, "recipes")
    recipes = await screen(pilot, RecipesScreen)
    await wait_for(pilot, lambda: recipes.query_one(Picker).option_count)
    await pilot.pause()


async def to_shell_settings(pilot: Pilot[Any]) -> None:
    await to_welcome(pilot)
    await pilot.press("f2")
    await screen(pilot, SettingsScreen)
    await pilot.press("down")


async def to_keys(pilot: Pilot[Any]) -> None:
    await to_shell_settings(pilot)
    await pilot.press("up", "up", "enter")
    await screen(pilot, KeysScreen)


async def to_model_error(pilot: Pilot[Any]) -> None:
    model = await to_model(pilot)
    await pilot.press(*"no/such", "enter")
    await wait_for(pilot, lambda: model.view.error)


async def to_running(pilot: Pilot[Any]) -> None:
    build = await to_build(pilot)
    await wait_for(pilot, lambda: build.view.progress)
    await settled(pilot, build)


async def to_end(pilot: Pilot[Any]) -> None:
    build = await to_build(pilot)
    await wait_for(pilot, lambda: build.view.phase in (Phase.READY, Phase.FAILED))
    await settled(pilot, build)


async def settled(pilot: Pilot[Any], build: BuildScreen) -> None:
    """Wait until all lines are measured and the end is in sight."""
    log = build.query_one(LiveLog)
    longest = max(map(len, log.lines))
    await wait_for(pilot, lambda: log.virtual_size.width == longest and log.is_vertical_scroll_end)


async def to_found(pilot: Pilot[Any]) -> None:
    await to_running(pilot)
    await pilot.press("slash", *"[bold]")
    position = pilot.app.screen.query_one("#found", Static)
    await wait_for(pilot, lambda: "of" in str(position.render()))
    await pilot.pause()


async def to_building(pilot: Pilot[Any]) -> None:
    await to_running(pilot)
    await pilot.press("b")
    welcome = await screen(pilot, WelcomeScreen)
    await wait_for(pilot, lambda: welcome.view.servers and welcome.view.host and welcome.view.suggestions)
    pilot.app.clear_notifications()
    await pilot.pause()


async def screen_is_there(pilot: Pilot[Any]) -> None:
    await pilot.pause()


async def to_answer(pilot: Pilot[Any]) -> None:
    chat = await to_chat(pilot)
    await wait_for(pilot, lambda: chat.view.served)
    await pilot.press(*"What is Triton?", "enter")
    await answered(pilot, chat)


async def to_empty_chat(pilot: Pilot[Any]) -> None:
    chat = await to_chat(pilot)
    await wait_for(pilot, lambda: chat.view.served)


async def to_settings(pilot: Pilot[Any]) -> None:
    await to_empty_chat(pilot)
    await pilot.press("ctrl+t")
    await screen(pilot, FormScreen)


def at_work_on(hardware: str) -> FakeJourney:
    host = here(hardware)
    return FakeJourney(host=host, reading=at_work(host, 0, 3))


CODE_AND_TABLE = (
    "# A server\n\n```python\nwith serve('demo') as server:\n    print(server.url)  # here it is\n```\n\n"
    "| stack | tokens/s |\n|---|---|\n| vLLM | many |\n| llama.cpp | fewer |\n"
)
TOKENS = tuple(TokenLogprob(text, logprob, ((" a", -1.0),)) for text, logprob in (("It", -0.01), (" is", -1.5)))


def two_servers() -> FakeJourney:
    return FakeJourney(running=(SECOND,), chat_stats={"second": Stats(48, 0.09, 2.0, "stop")})


async def to_streaming(pilot: Pilot[Any]) -> None:
    """All has come but the end."""
    chat = await to_chat(pilot)
    await pilot.press(*"Q", "enter")
    await wait_for(pilot, lambda: chat.view.tokens == math.ceil(len(ANSWER) / 7))
    await wait_for(pilot, lambda: chat.talks.first.transcript.is_vertical_scroll_end)
    await pilot.pause()


async def to_conversations(pilot: Pilot[Any]) -> None:
    """Two that are kept, on a day that is the same in every time zone."""
    history = FakeJourney().history(WORKSPACE)
    for number, title in enumerate(("What is Triton?", "Why quantise [bold]a model?")):
        talk = Conversation().with_message("user", title).with_message("assistant", "It depends.")
        history.save(Kept(talk, model="demo", endpoint="demo"))
        with closing(sqlite3.connect(history.path)) as store, store:
            day = time.mktime((2026, 1, 2, 3, 4 + number, 0, 0, 0, -1))
            store.execute("UPDATE chat SET updated = ? WHERE title = ?", (day, title))
    await to_empty_chat(pilot)
    await pilot.press("f4")
    await wait_for(pilot, lambda: [*pilot.app.screen.query("#entries")])
    entries = pilot.app.screen.query_one("#entries", Picker)
    await wait_for(pilot, lambda: entries.option_count == 2)
    await pilot.pause()


async def to_log(pilot: Pilot[Any]) -> None:
    """The log of a server that runs already, beside the chat."""
    lines = [f"I0102 03:04:0{at}.000000 42 server.cc:{600 + at}] Triton [bold]says{at}" for at in range(9)]
    Path("triton.log").write_text("".join(f"{line}\n" for line in lines))
    chat = await to_running_chat(pilot)
    await to_question(pilot)
    await pilot.press("f7")
    await wait_for(pilot, lambda: [*chat.query(LiveLog)] and len(chat.query_one(LiveLog).lines) == len(lines))
    log = chat.query_one(LiveLog)
    longest = max(map(len, lines))
    await wait_for(pilot, lambda: log.virtual_size.width == longest and log.is_vertical_scroll_end)
    await pilot.pause()


def with_log() -> FakeJourney:
    return FakeJourney(running=(replace(ENDPOINT, log="triton.log"),))


async def to_compared(pilot: Pilot[Any]) -> None:
    chat = await to_chat(pilot)
    await pilot.press("f6")
    await screen(pilot, AskScreen)
    await pilot.press("enter")
    talks = chat.talks
    await wait_for(pilot, lambda: talks.second and talks.second.is_mounted)
    await pilot.pause()
    await pilot.press(*"Q", "enter")
    await wait_for(pilot, lambda: talks.second and talks.second.view.stats and chat.view.stats and not talks.busy)
    pilot.app.clear_notifications()
    await wait_for(pilot, lambda: "as fast" in words(chat, "#comparison"))
    await wait_for(pilot, lambda: all(talk.transcript.is_vertical_scroll_end for talk in chat.talks.chats))
    await pilot.pause()


async def to_racing(pilot: Pilot[Any]) -> None:
    """Two models answer, one of them faster, the other after a thought."""
    chat = await to_running_chat(pilot)
    made = chat.calls.send.__self__  # type: ignore[attr-defined]
    await racing(pilot, chat, made)
    made.put("demo", *tokens(60, 0.2, 0.03))
    made.put("second", *(token(number, 0.3 + number * 0.08, ttft=0.38, thought=number < 9) for number in range(1, 21)))
    await wait_for(pilot, lambda: [len(lane.arrivals) for lane in chat.talks.race.lanes] == [60, 20])  # type: ignore[union-attr]
    pilot.app.clear_notifications()
    chat.show_state()
    await wait_for(pilot, lambda: all(talk.transcript.is_vertical_scroll_end for talk in chat.talks.chats))
    await pilot.pause()


async def to_probabilities(pilot: Pilot[Any]) -> None:
    await to_empty_chat(pilot)
    await pilot.press("f8")
    await to_question(pilot)
    pilot.app.clear_notifications()
    await pilot.press("f8")
    await screen(pilot, LogprobsScreen)
    await pilot.pause()


async def to_question(pilot: Pilot[Any]) -> None:
    chat = pilot.app.screen
    assert isinstance(chat, ChatScreen)
    await pilot.press(*"Q", "enter")
    await answered(pilot, chat)


def gpus() -> FakeJourney:
    return FakeJourney(host=host("2xH100"), facts=LLAMA, advice=gpu_advice)


def running() -> FakeJourney:
    return FakeJourney(script=lambda plan: events(plan, until="repository"), hold_run=True)


def failing() -> FakeJourney:
    return FakeJourney(script=lambda plan: events(plan, until="start", error=FAILED), run_error=FAILED)


def diagnosed() -> FakeJourney:
    why = "error: write /opt/lib.so: no space left on device"
    failure = Failure("exit status 1", why, "Free some space.", f"{HOME}/servers/demo/logs/start.log", "docker pull x")
    error = CommandError(f"step 'Start Triton' failed: {why}", "Free some space.", failure)

    def script(plan: Plan) -> list[Event]:
        recorded = events(plan, until="start", error=error)
        return [*recorded[:-1], Output("start", (why, "exiting"), 0.0), recorded[-1]]

    return FakeJourney(script=script, run_error=error)


STATES: dict[str, tuple[Callable[[], FakeJourney], Route]] = {
    "welcome": (FakeJourney, to_welcome),
    "welcome_with_gpus": (lambda: FakeJourney(host=GPU_HOST), to_welcome),
    "welcome_with_a_server": (lambda: FakeJourney(running=(ENDPOINT,)), to_welcome),
    "welcome_without_python": (lambda: FakeJourney(host=NO_PYTHON), to_welcome),
    "welcome_help": (FakeJourney, then(to_welcome, "f1", to=ReaderScreen)),
    "recipes": (lambda: FakeJourney(host=GPU_HOST), to_recipes),
    "settings": (FakeJourney, to_shell_settings),
    "keys": (FakeJourney, then(to_keys, "down")),
    "keys_press": (FakeJourney, then(to_keys, "down", "enter", to=PressScreen)),
    "machine": (FakeJourney, to_machine),
    "machine_with_gpus": (lambda: FakeJourney(host=GPU_HOST), to_machine),
    "machine_one_gpu_at_work": (lambda: at_work_on("1xH200"), to_machine),
    "machine_eight_gpus": (lambda: at_work_on("8xH200"), to_machine),
    "machine_without_python": (lambda: FakeJourney(host=NO_PYTHON), to_machine),
    "model": (FakeJourney, to_model),
    "model_verdicts": (lambda: FakeJourney(offered=VERDICTS), to_model),
    "model_error": (FakeJourney, to_model_error),
    "model_token": (lambda: FakeJourney(token="hf_good"), then(to_model, "enter", to=FormScreen)),
    "advice": (FakeJourney, to_advice),
    "advice_other_way": (FakeJourney, then(to_advice, "down")),
    "advice_infeasible": (lambda: FakeJourney(advice=INFEASIBLE), to_advice),
    "advice_gpus": (gpus, to_advice),
    "advice_what_if": (gpus, then(to_advice, "plus", "right", "plus")),
    "advice_why": (gpus, then(to_advice, "e", to=ReaderScreen)),
    "advice_refused": (gpus, then(to_advice, "x", to=ReaderScreen)),
    "advice_constraints": (FakeJourney, then(to_advice, "w", to=FormScreen)),
    "review": (FakeJourney, to_review),
    "review_cannot_build": (lambda: FakeJourney(planned=NOT_YET), to_review),
    "review_other_step": (FakeJourney, then(to_review, "down", "down")),
    "review_export": (FakeJourney, then(to_review, "x", to=AskScreen)),
    "build": (running, to_running),
    "build_failed": (failing, to_end),
    "build_ready": (FakeJourney, to_end),
    "build_search": (running, to_found),
    "build_diagnosis": (diagnosed, to_end),
    "welcome_building": (running, to_building),
    "chat": (FakeJourney, to_empty_chat),
    "chat_questions": (FakeJourney, then(to_empty_chat, "down")),
    "chat_answer": (FakeJourney, to_answer),
    "chat_error": (lambda: FakeJourney(chat_error=GONE), to_answer),
    "chat_settings_without_chance": (FakeJourney, then(to_settings, "down", "0")),
    "chat_save": (FakeJourney, then(to_answer, "ctrl+s", to=FormScreen)),
    "chat_endpoint": (FakeJourney, then(to_empty_chat, "f10", to=ReaderScreen)),
    "chat_code_and_table": (lambda: FakeJourney(answer=CODE_AND_TABLE), to_answer),
    "chat_streaming": (lambda: FakeJourney(hold_chat=True), to_streaming),
    "chat_conversations": (FakeJourney, to_conversations),
    "chat_compare": (two_servers, to_compared),
    "chat_racing": (FakeStream, to_racing),
    "chat_log": (with_log, to_log),
    "chat_logprobs": (lambda: FakeJourney(logprobs=TOKENS), to_probabilities),
    "help": (FakeJourney, then(to_answer, "f1", to=ReaderScreen)),
    "machine_explained": (FakeJourney, then(to_machine, "f3")),
    "review_explained": (FakeJourney, then(to_review, "down", "f3")),
}
"""Name of a state → the journey, and the way to what is shown."""
