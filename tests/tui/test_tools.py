"""Tools in the full-screen chat: a stand-in's model calls them, on a real MCP server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from tests.chat.fake_openai import WORDS, FakeOpenAI, calling, serving
from tests.chat.tools.conftest import real, says, scripted, toolbox
from tests.tui.chatting import chatting, in_sight, lines, notes
from tests.tui.fake_journey import FakeJourney
from tests.tui.walking import screen, wait_for
from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation
from wizard.chat.openai import at
from wizard.chat.tools.answer import answer
from wizard.chat.tools.consent import Consent
from wizard.chat.tools.loop import ToolUse
from wizard.chat.tools.toolbox import Toolbox
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace
from wizard.serve.endpoint import Endpoint
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.modal import AskScreen, ReaderScreen
from wizard.tui.screens.tool_windows import ConsentScreen
from wizard.tui.widgets.picker import Picker

__all__ = ["toolbox"]
Make = Callable[..., Toolbox]
ADD = ("add", '{"a": 2, "b": 3}')
ANSWER = "".join(WORDS)


@dataclass
class ToolJourney(FakeJourney):
    """Its chat is the real one, with the stand-in at ``url``."""

    use: ToolUse | None = None
    url: str = ""
    invalid: bool = False

    def tools(self, workspace: Workspace) -> ToolUse | None:  # type: ignore[override]
        if self.invalid:
            raise UsageError("TW-C40", "cannot use the tool servers in [bold]mcp.json", "Fix the file.")
        return self.use

    def chat_with_tools(
        self, endpoint: Endpoint, conversation: Conversation, use: ToolUse
    ) -> AsyncGenerator[Chunk, None]:
        return answer(at(self.url), conversation, use)


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    with serving(FakeOpenAI()) as server:
        yield server


@asynccontextmanager
async def talking(
    fake: FakeOpenAI, box: Toolbox, *, size: tuple[int, int] = (100, 30), path: Path | None = None
) -> AsyncGenerator[tuple[Pilot[Any], ChatScreen, ToolUse], None]:
    use = ToolUse(box, Consent(path))
    async with chatting(ToolJourney(use=use, url=fake.url), size) as (pilot, chat):
        yield pilot, chat, use


async def ask(pilot: Pilot[Any], *keys: str) -> ConsentScreen:
    await pilot.press(*(keys or "Hello"), "enter")
    return await screen(pilot, ConsentScreen)


async def idle(pilot: Pilot[Any], chat: ChatScreen) -> None:
    await wait_for(pilot, lambda: pilot.app.screen is chat and not chat.talks.busy)
    await pilot.pause()


def text(window: AskScreen) -> str:
    return "\n".join(str(each.render()) for each in window.query("Static"))


@pytest.mark.parametrize("size", [(100, 30), (80, 24), (40, 11)])
async def test_a_call_is_shown_and_asked_about(fake: FakeOpenAI, toolbox: Make, size: tuple[int, int]) -> None:
    fake.bodies = [calling(ADD, before="Let me add.")]
    async with talking(fake, toolbox(real()), size=size) as (pilot, chat, _):
        window = await ask(pilot)
        shown = text(window)
        assert "The model wants to call a tool: real/add" in shown
        assert "Add two numbers." in shown
        assert '{\n  "a": 2,\n  "b": 3\n}' in shown
        picker = window.query_one(Picker)
        assert picker.region.bottom <= size[1], "every answer can be seen or scrolled to"
        assert picker.highlighted == 2
        await pilot.press("up", "up", "enter")
        await idle(pilot, chat)
        shown = " ".join(lines(chat.talks.first.transcript)[3:])
        assert shown == f'Let me add. ▸ ✓ real/add {{"a": 2, "b": 3}} · 5 · 1 B  {ANSWER}'
        (call,) = chat.view.conversation.messages[-1].calls
        assert (call.outcome, call.result) == ("done", "5")
        assert chat.view.conversation.messages[-1].content == ANSWER


@pytest.mark.parametrize("key", ["enter", "escape"])
async def test_what_is_typed_ahead_allows_nothing(fake: FakeOpenAI, toolbox: Make, key: str) -> None:
    fake.bodies = [calling(ADD)]
    async with talking(fake, toolbox(real())) as (pilot, chat, _):
        await ask(pilot)
        await pilot.press("o", "a", "y", "space", "1", key)
        await idle(pilot, chat)
        assert [each.outcome for each in chat.view.conversation.messages[-1].calls] == ["denied"]
        assert "denied" in "\n".join(in_sight(chat.talks.first.transcript))


async def test_results_are_folded_and_one_key_opens_them(fake: FakeOpenAI, toolbox: Make) -> None:
    fake.bodies = [calling(("echo", '{"text": "first\\nsecond [bold]\\u001b[31m"}'))]
    async with talking(fake, toolbox(real())) as (pilot, chat, _):
        await ask(pilot)
        await pilot.press("up", "up", "enter")
        await idle(pilot, chat)
        transcript = chat.talks.first.transcript
        assert "second [bold]" not in "\n".join(lines(transcript)[3:]).split("first")[-1]
        assert not any("\x1b" in line for line in lines(transcript))
        await pilot.press("f12")
        await pilot.pause()
        opened = lines(transcript)
        assert "  → first" in opened
        assert "  second [bold]" in opened
        await pilot.press("f12")
        await pilot.pause()
        assert "  second [bold]" not in lines(transcript)


async def test_always_asks_once_and_never_asks_no_more(fake: FakeOpenAI, toolbox: Make, tmp_path: Path) -> None:
    fake.bodies = [calling(ADD), calling(ADD)]
    async with talking(fake, toolbox(real()), path=tmp_path / "tools.json") as (pilot, chat, _):
        await ask(pilot)
        await pilot.press("up", "enter")
        await idle(pilot, chat)
        calls = chat.view.conversation.messages[-1].calls
        assert [each.outcome for each in calls] == ["done", "done"]
        await pilot.press("alt+u")
        await screen(pilot, AskScreen)
        assert "real/add: always allowed" in _rows(pilot)
        await pilot.press("enter")
        await wait_for(pilot, lambda: "ask each time" in _rows(pilot) and "real/add" not in _rows(pilot))
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: "real/add: never allowed" in _rows(pilot))
        await pilot.press("escape")
        await idle(pilot, chat)
        await pilot.press(*"Hi", "enter")
        await wait_for(pilot, lambda: len(fake.asked) == 4)
        assert "add" not in [each["function"]["name"] for each in fake.asked[-1]["tools"]]


def _rows(pilot: Pilot[Any]) -> str:
    return "\n".join(str(option.prompt) for option in pilot.app.screen.query_one(Picker).options)


async def test_tools_are_turned_off(fake: FakeOpenAI, toolbox: Make) -> None:
    async with talking(fake, toolbox(real())) as (pilot, chat, use):
        await pilot.press(*"/tools", "enter")
        await screen(pilot, AskScreen)
        await pilot.press("up", "enter")
        await idle(pilot, chat)
        assert use.off
        await pilot.press(*"Hi", "enter")
        await wait_for(pilot, lambda: fake.asked)
        assert "tools" not in fake.asked[-1]


async def test_tools_are_turned_off_and_decided_by_typed_commands(
    fake: FakeOpenAI, toolbox: Make, tmp_path: Path
) -> None:
    async with talking(fake, toolbox(real()), path=tmp_path / "tools.json") as (pilot, chat, use):
        for state in ("off", "on"):
            await pilot.press(*f"/tools {state}", "enter")
            await wait_for(pilot, lambda off=state == "off": use.off is off)
        await pilot.press(*"/tools never real/add", "enter")
        window = await screen(pilot, ReaderScreen)
        rows = str(window.query_one(".window Static", Static).render()).splitlines()
        assert rows[0].split()[:3] == ["real/add", "never", "allowed"]
        await pilot.press("escape")
        await idle(pilot, chat)
    assert fake.asked == []


async def test_escape_stops_a_running_call(fake: FakeOpenAI, toolbox: Make, tmp_path: Path) -> None:
    file = tmp_path / "state"
    fake.bodies = [calling(("wait", f'{{"file": "{file}"}}'))]
    async with talking(fake, toolbox(real())) as (pilot, chat, _):
        await ask(pilot)
        await pilot.press("up", "up", "enter")
        await says(file, "called")
        await wait_for(pilot, lambda: "running …" in "\n".join(in_sight(chat.talks.first.transcript)))
        await pilot.press("escape")
        await idle(pilot, chat)
        await says(file, "cancelled")
        (call,) = chat.view.conversation.messages[-1].calls
        assert call.outcome == "stopped"
        await pilot.press(*"Next", "enter")
        await wait_for(pilot, lambda: len(fake.asked) == 2)
        assert fake.asked[1]["messages"][-2]["role"] == "tool"


async def test_a_stopped_answer_closes_its_question(fake: FakeOpenAI, toolbox: Make) -> None:
    fake.bodies = [calling(ADD)]
    async with talking(fake, toolbox(real())) as (pilot, chat, _):
        await ask(pilot)
        chat.talks.stop()  # as leaving and stopping the server do
        await idle(pilot, chat)
        assert [each.outcome for each in chat.view.conversation.messages[-1].calls] == ["stopped"]


async def test_calls_come_back_with_a_saved_conversation(fake: FakeOpenAI, toolbox: Make) -> None:
    fake.bodies = [calling(ADD)]
    async with talking(fake, toolbox(real())) as (pilot, chat, _):
        await ask(pilot)
        await pilot.press("up", "up", "enter")
        await idle(pilot, chat)
        conversation = chat.view.conversation
        await pilot.press("ctrl+n")
        await pilot.pause()
        assert lines(chat.talks.first.transcript) == []
        await wait_for(pilot, chat.calls.history.newest)
        kept = await asyncio.to_thread(chat.calls.history.newest)
        assert kept is not None
        assert kept.conversation == conversation
        chat.talks.go_on(kept.conversation)
        await pilot.pause()
        assert '▸ ✓ real/add {"a": 2, "b": 3} · 5 · 1 B' in lines(chat.talks.first.transcript)


async def test_two_models_are_asked_about_one_after_the_other(fake: FakeOpenAI, toolbox: Make) -> None:
    fake.bodies = [calling(ADD), calling(ADD)]
    async with talking(fake, toolbox(real()), size=(120, 40)) as (pilot, chat, _):
        await chat.talks.join(at(fake.url))
        first = await ask(pilot)
        assert sum(isinstance(each, ConsentScreen) for each in pilot.app.screen_stack) == 1
        await pilot.press("up", "up", "enter")
        await wait_for(pilot, lambda: isinstance(pilot.app.screen, ConsentScreen) and pilot.app.screen is not first)
        await pilot.press("enter")
        await idle(pilot, chat)
        outcomes = [talk.view.conversation.messages[-1].calls[0].outcome for talk in chat.talks.chats]
        assert sorted(outcomes) == ["denied", "done"]


async def test_problems_are_notified(fake: FakeOpenAI, toolbox: Make) -> None:
    async with talking(fake, toolbox(scripted("exit"))) as (pilot, chat, _):
        await pilot.press(*"Hi", "enter")
        await wait_for(pilot, lambda: "cannot find the database" in notes(pilot))
        await idle(pilot, chat)
        assert chat.view.texts("assistant") == [ANSWER]


async def test_a_configuration_that_cannot_be_used(fake: FakeOpenAI) -> None:
    async with chatting(ToolJourney(invalid=True)) as (pilot, chat):
        assert "TW-C40: cannot use the tool servers in [bold]mcp.json" in notes(pilot)
        await pilot.press("alt+u")
        await pilot.pause()
        assert pilot.app.screen is chat
