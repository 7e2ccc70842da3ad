"""The lanes of two models: what they show while both answer, in every size, and what becomes of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from textual.pilot import Pilot

from tests.tui.chatting import chatting, words
from tests.tui.fake_journey import FakeJourney
from tests.tui.test_comparing import with_second
from tests.tui.values import ENDPOINT, SECOND
from tests.tui.walking import asked, screen, wait_for
from wizard.chat.ask import unreachable
from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation, Stats
from wizard.chat.race import Race
from wizard.kernel.text import width as cell_width
from wizard.serve.endpoint import Endpoint
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.views.race import panel
from wizard.tui.widgets.model_chat import ModelChat
from wizard.tui.widgets.race import RacePanel

ASKED = Conversation().with_message("user", "Why?")


class FakeStream(FakeJourney):
    """Servers whose pieces come when a test says so, as `wizard.chat.stream.answer` yields them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(running=(ENDPOINT, SECOND), **options)
        self.pieces: dict[str, asyncio.Queue[Chunk | Exception | None]] = {}
        self.open: list[str] = []
        self.closed_by: list[str] = []

    async def chat(self, endpoint: Endpoint, conversation: Conversation) -> AsyncGenerator[Chunk, None]:
        self.asked.append(conversation)
        self.open.append(endpoint.name)
        queue = self.pieces[endpoint.name] = asyncio.Queue()
        try:
            while (chunk := await queue.get()) is not None:
                if isinstance(chunk, Exception):
                    raise chunk
                yield chunk
        except (GeneratorExit, asyncio.CancelledError):
            self.closed_by.append(endpoint.name)
            raise
        finally:
            self.open.remove(endpoint.name)

    def put(self, name: str, *chunks: Chunk | Exception | None) -> None:
        for chunk in chunks:
            self.pieces[name].put_nowait(chunk)


def token(number: int, at: float, *, ttft: float = 0.2, thought: bool = False) -> Chunk:
    text = f"t{number} "
    return Chunk("" if thought else text, thought=text if thought else "", tokens=number, ttft_s=ttft, at_s=at)


def end(tokens: int, ttft: float, total: float) -> Chunk:
    return Chunk("", Stats(tokens, ttft, total, "stop", answer_s=ttft), tokens=tokens, at_s=total)


def tokens(count: int, ttft: float, step: float) -> list[Chunk]:
    return [token(number + 1, ttft + number * step, ttft=ttft) for number in range(count)]


def lanes(chat: ChatScreen) -> list[str]:
    return words(chat, "#comparison").splitlines()


async def racing(pilot: Pilot[Any], chat: ChatScreen, made: FakeStream) -> ModelChat:
    """Both are asked, and answer."""
    rival = await with_second(pilot, chat)
    await pilot.press(*"Why?", "enter")
    await wait_for(pilot, lambda: sorted(made.open) == ["demo", "second"])
    return rival


# The lines


def test_both_lanes_have_one_scale_marks_and_figures() -> None:
    race = Race((ENDPOINT, SECOND), "together", 0.0)
    for lane, ttft, step in zip(race.lanes, (0.2, 1.0), (0.1, 0.2), strict=True):
        lane.start(0.0, ASKED)
        for chunk in tokens(9, ttft, step):
            lane.take(chunk, chunk.at_s or 0.0)
    head, first, second, below = [line.plain for line in panel(race, 3.0, 76, headed=True)]
    assert head.split() == ["0", "s", "─" * head.count("─"), "3.0", "s", "TTFT", "tokens/s", "tokens", "time"]
    assert first.split()[:2] == ["◌", "demo"]
    assert first.split()[-6:] == ["200", "ms", "2.9", "9", "3.0", "s"]
    assert second.split()[-6:] == ["1.0", "s", "4.0", "9", "3.0", "s"]
    start, cells = head.index("0 s"), head.index("3.0 s") + 5 - head.index("0 s") - 1
    for line, ttft in ((first, 0.2), (second, 1.0)):
        assert line.index("◆") - start == int(ttft / 3 * cells), "where the first token came, on the scale"
        assert set(line[start : line.index("◆")]) == {"·"}
    assert below == "Both answer at once and share the machine."


def test_a_lane_is_as_high_as_its_rate_and_ends_with_a_sign() -> None:
    race = Race((ENDPOINT, SECOND), "turns", 0.0)
    for lane, step in zip(race.lanes, (0.05, 0.2), strict=True):
        lane.start(0.0, ASKED)
        for chunk in [*tokens(11, 0.2, step), end(11, 0.2, 0.2 + 10 * step)]:
            lane.take(chunk, chunk.at_s or 0.0)
        lane.end(9.0, end(11, 0.2, 0.2 + 10 * step).stats)
    first, second, *_rest = [line.plain for line in panel(race, 9.0, 76, headed=False)]
    assert set(first[first.index("◆") + 1 : first.index("✓", 3)]) == {"▇"}
    assert set(second[second.index("◆") + 1 : second.index("✓", 3)]) == {"▂", "▃"} & set(second)
    assert first.index("✓", 3) < second.index("✓", 3)


def test_the_thought_is_apart_from_the_answer_without_color() -> None:
    race = Race((ENDPOINT, SECOND), "together", 0.0)
    for lane in race.lanes:
        lane.start(0.0, ASKED)
        for number in range(20):
            chunk = token(number + 1, 0.2 + number / 10, thought=number < 10)
            lane.take(chunk, chunk.at_s or 0.0)
    first = panel(race, 2.1, 76, headed=False)[0]
    assert first.plain.index("◆") < first.plain.index("◇")
    shades = {str(span.style) for span in first.spans}
    assert {"$text-muted", "$primary"} <= shades


@pytest.mark.parametrize(("outcome", "sign"), [("stopped", "■"), ("failed", "✗")])
def test_an_answer_that_did_not_end_well_has_a_sign_of_its_own(outcome: str, sign: str) -> None:
    race = Race((ENDPOINT, SECOND), "together", 0.0)
    for lane in race.lanes:
        lane.start(0.0, ASKED)
        lane.take(token(1, 0.2), 0.2)
    race.lanes[0].end(0.9, Stats(1, 0.2, 0.9, "stop"))
    race.lanes[1].end(1.0, None, "TW-C03" if outcome == "failed" else "")
    _first, second, *below = [line.plain for line in panel(race, 1.0, 76, headed=False)]
    assert second.count(sign) == 2, "at the name and where it ended"
    assert "No comparison: second" in " ".join(below)


@pytest.mark.parametrize("width", [10, 20, 30, 36, 50, 76, 196])
@pytest.mark.parametrize("headed", [True, False])
@pytest.mark.parametrize("name", ["demo", "a-model-with-a-name-of-more-than-forty-characters", "모델이름이길다" * 4])
def test_no_line_is_wider_than_the_panel(width: int, headed: bool, name: str) -> None:
    race = Race((replace(ENDPOINT, name=name), SECOND), "together", 0.0)
    for now in (0.0, 2.5):
        for lane in race.lanes:
            lane.start(0.0, ASKED) if now else None
            for chunk in tokens(9, 0.2, 0.1) if now else ():
                lane.take(chunk, chunk.at_s or 0.0)
        assert all(line.cell_length <= max(width, 20) for line in panel(race, now, width, headed=headed))
    assert cell_width(panel(race, 2.5, 76, headed=True)[0].plain) <= 76


def test_a_lane_that_nothing_was_sent_to_yet_waits_for_its_turn() -> None:
    race = Race((ENDPOINT, SECOND), "turns", 0.0)
    race.lanes[0].start(0.0, ASKED)
    first, second, below = [line.plain for line in panel(race, 0.5, 76, headed=False)]
    assert first.startswith("◌ demo")
    assert second.startswith("○ second")
    assert second.rstrip().endswith("–")
    assert below == "They answer one after the other."


# The screen


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 15), (20, 8)])
async def test_two_lanes_grow_while_both_answer_and_become_the_result(size: tuple[int, int]) -> None:
    made = FakeStream()
    async with chatting(made, size) as (pilot, chat):
        await racing(pilot, chat, made)
        made.put("demo", *tokens(41, 0.2, 0.05))
        await wait_for(pilot, lambda: "20.0" in words(chat, "#comparison") or size[0] < 40)
        await pilot.resize_terminal(size[0] + 7, size[1] + 3)  # in the middle
        await wait_for(pilot, lambda: chat.size.width == size[0] + 7)
        await pilot.resize_terminal(*size)
        made.put("second", *tokens(41, 0.8, 0.1))
        made.put("demo", end(41, 0.2, 2.2), None)
        await wait_for(pilot, lambda: not chat.talks.first.view.busy)
        assert chat.talks.busy
        made.put("second", end(41, 0.8, 4.8), None)
        await wait_for(pilot, lambda: not chat.talks.busy)
        await wait_for(pilot, lambda: "demo is" in words(chat, "#comparison") or size[1] < 12)
        text = " ".join(words(chat, "#comparison").split())
        if size[1] > 12:
            assert "demo is 2.0× as fast as second: 20.0 vs. 10.0 tokens/s" in text
        panel_region = chat.query_one(RacePanel).region
        assert panel_region.height <= size[1] * 0.3 + 1
        assert panel_region.bottom <= size[1]


async def test_taking_turns_the_second_is_asked_when_the_first_has_answered() -> None:
    made = FakeStream()
    async with chatting(made, (100, 30)) as (pilot, chat):
        await with_second(pilot, chat)
        await pilot.press("shift+f6", *"Why?", "enter")
        await wait_for(pilot, lambda: made.open == ["demo"])
        assert "They answer one after the other." in lanes(chat)
        await pilot.press(*"And then?", "enter")  # waits until both have answered
        made.put("demo", *tokens(41, 0.2, 0.05), end(41, 0.2, 2.2), None)
        await wait_for(pilot, lambda: made.open == ["second"])
        assert chat.talks.busy
        made.put("second", *tokens(41, 0.2, 0.1), end(41, 0.2, 4.2), None)
        await wait_for(pilot, lambda: made.open == ["demo"])
        assert [conversation.messages[-1].content for conversation in made.asked] == ["Why?", "Why?", "And then?"]
        await pilot.press("escape")
        await wait_for(pilot, lambda: not chat.talks.busy)
        await pilot.press("shift+f6")
        await pilot.press(*"Q", "enter")
        await wait_for(pilot, lambda: sorted(made.open) == ["demo", "second"])


async def test_stopping_the_first_turn_leaves_the_second_out_and_again_asks_it() -> None:
    made = FakeStream()
    async with chatting(made, (100, 30)) as (pilot, chat):
        rival = await with_second(pilot, chat)
        await pilot.press(*"One", "enter")
        await wait_for(pilot, lambda: len(made.open) == 2)
        for name in ("demo", "second"):
            made.put(name, *tokens(41, 0.2, 0.05), end(41, 0.2, 2.2), None)
        await wait_for(pilot, lambda: not chat.talks.busy)
        await pilot.press("shift+f6", *"Two", "enter")
        await wait_for(pilot, lambda: made.open == ["demo"])
        made.put("demo", *tokens(5, 0.2, 0.1))
        await wait_for(pilot, lambda: "t5" in chat.talks.first.transcript.turns[-1].text)
        await pilot.press("escape")
        await wait_for(pilot, lambda: not chat.talks.busy)
        assert made.closed_by == ["demo"]
        assert chat.view.texts("user") == ["One", "Two"]
        assert "t5" in chat.view.texts("assistant")[-1], "what came is kept"
        assert rival.view.texts("user") == ["One"]
        assert "No comparison: demo was stopped, second was not queried." in " ".join(lanes(chat))
        await pilot.press("ctrl+r")
        await wait_for(pilot, lambda: made.open == ["demo"])
        made.put("demo", *tokens(9, 0.2, 0.1), end(9, 0.2, 1.0), None)
        await wait_for(pilot, lambda: made.open == ["second"])
        made.put("second", *tokens(9, 0.2, 0.1), end(9, 0.2, 1.0), None)
        await wait_for(pilot, lambda: not chat.talks.busy)
        assert rival.view.texts("user") == ["One", "Two"], "its own last turn was not replaced"


async def test_a_failure_of_the_first_does_not_keep_the_second_from_its_turn() -> None:
    made = FakeStream()
    async with chatting(made, (100, 30)) as (pilot, chat):
        rival = await with_second(pilot, chat)
        await pilot.press("shift+f6", *"Why?", "enter")
        await wait_for(pilot, lambda: made.open == ["demo"])
        made.put("demo", unreachable("http://127.0.0.1:8010", "refused"))
        await wait_for(pilot, lambda: made.open == ["second"])
        made.put("second", *tokens(9, 0.2, 0.1), end(9, 0.2, 1.0), None)
        await wait_for(pilot, lambda: not chat.talks.busy)
        assert "No comparison: demo failed (TW-C01)." in " ".join(lanes(chat))
        assert rival.view.stats is not None


async def test_esc_stops_both_and_both_keep_what_came() -> None:
    made = FakeStream()
    async with chatting(made, (100, 30)) as (pilot, chat):
        rival = await racing(pilot, chat, made)
        made.put("demo", *tokens(11, 0.2, 0.1))
        await wait_for(pilot, lambda: "t11" in chat.talks.first.transcript.turns[-1].text)
        await pilot.press("escape")
        await wait_for(pilot, lambda: not chat.talks.busy)
        assert sorted(made.closed_by) == ["demo", "second"]
        assert "No comparison: demo was stopped, second was stopped." in " ".join(lanes(chat))
        assert "t11" in chat.view.texts("assistant")[-1]
        assert rival.view.texts("assistant") == []
        await pilot.press("ctrl+r")
        await wait_for(pilot, lambda: sorted(made.open) == ["demo", "second"])
        for name, step in (("demo", 0.05), ("second", 0.1)):
            made.put(name, *tokens(41, 0.2, step), end(41, 0.2, 0.2 + 40 * step), None)
        await wait_for(pilot, lambda: "demo is 2.0× as fast" in words(chat, "#comparison"))


async def test_a_server_that_dies_in_the_middle_leaves_a_lane_with_what_was_measured() -> None:
    made = FakeStream()
    async with chatting(made, (100, 30)) as (pilot, chat):
        await racing(pilot, chat, made)
        made.put("second", *tokens(21, 0.2, 0.1), unreachable("http://127.0.0.1:8020", "reset"))
        made.put("demo", *tokens(41, 0.2, 0.05), end(41, 0.2, 2.2), None)
        await wait_for(pilot, lambda: "No comparison: second failed (TW-C01)." in " ".join(lanes(chat)))
        second = next(line for line in lanes(chat) if "second" in line)
        assert second.startswith("✗ second")
        assert second.split()[-6:-2] == ["200", "ms", "10.0", "21"]
        assert "F6 uses only the first model" in words(chat, "#second Figures")
        assert chat.query_one("#second Figures").display


async def test_each_question_is_a_race_of_its_own_until_the_conversation_changes() -> None:
    made = FakeStream()
    async with chatting(made, (100, 30)) as (pilot, chat):
        await with_second(pilot, chat)
        for step in (0.05, 0.2):
            await pilot.press(*"Why?", "enter")
            await wait_for(pilot, lambda: sorted(made.open) == ["demo", "second"])
            made.put("demo", *tokens(41, 0.2, step), end(41, 0.2, 0.2 + 40 * step), None)
            made.put("second", *tokens(41, 0.2, 0.1), end(41, 0.2, 4.2), None)
            winner = "demo is 2.0×" if step == 0.05 else "second is 2.0×"
            await wait_for(pilot, lambda: winner in words(chat, "#comparison"))  # noqa: B023
        assert chat.talks.race is not None
        assert chat.talks.race.result().earlier_messages == (2, 2)
        await pilot.press("ctrl+n")
        await wait_for(pilot, lambda: "are compared here" in words(chat, "#comparison"))


async def saved(pilot: Pilot[Any], chat: ChatScreen, name: str | None, *, there: Callable[[], bool]) -> None:
    """Save the comparison under the offered name, or another."""
    await pilot.press("ctrl+s")
    await screen(pilot, AskScreen)
    await pilot.press("down", "enter")
    await screen(pilot, FormScreen)
    await pilot.press(*(("ctrl+u", *name) if name else ()), "enter")
    await wait_for(pilot, there)
    await screen(pilot, ChatScreen)


async def test_the_result_is_saved_as_a_picture_and_as_data() -> None:
    made = FakeStream()
    async with chatting(made, (100, 30)) as (pilot, chat):
        await racing(pilot, chat, made)
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert pilot.app.screen is chat, "not while they answer"
        made.put("demo", *tokens(41, 0.2, 0.05), end(41, 0.2, 2.2), None)
        made.put("second", *tokens(41, 0.2, 0.1), end(41, 0.2, 4.2), None)
        await wait_for(pilot, lambda: not chat.talks.busy)
        picture, data = Path("demo-vs-second.svg"), Path("race.json")
        await saved(pilot, chat, None, there=picture.is_file)
        await saved(pilot, chat, data.name, there=data.is_file)
        assert ElementTree.fromstring(picture.read_text()).tag == "{http://www.w3.org/2000/svg}svg"
        assert [lane["tokens"] for lane in json.loads(data.read_text())["lanes"]] == [41, 41]
        await pilot.press("ctrl+s")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        form = await screen(pilot, FormScreen)
        await pilot.press("ctrl+u", *"race.md", "enter")
        await wait_for(pilot, lambda: "must end in .svg or .json" in str(form.query_one("#about").render()))


async def test_a_single_model_has_no_race() -> None:
    made = FakeJourney(running=(ENDPOINT, SECOND))
    async with chatting(made, (100, 30)) as (pilot, chat):
        await asked(pilot, "Q", chat)
        assert chat.talks.race is None
        assert not chat.query_one(RacePanel).display
        await pilot.press("ctrl+s")
        await screen(pilot, FormScreen)  # without a question what to save
