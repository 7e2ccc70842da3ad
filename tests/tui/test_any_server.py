"""Chats with servers that the wizard did not start, and models that are switched inside a conversation."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tests.tui.chatting import chatting, lines, notes, to_running_chat, words
from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ENDPOINT, SECOND
from tests.tui.walking import StillApp, asked, choose, screen, to_welcome, wait_for
from wizard.chat.ask import unreachable
from wizard.chat.conversation import Conversation, Sampling, models
from wizard.chat.history import Kept
from wizard.chat.nearby import Nearby
from wizard.chat.openai import elsewhere
from wizard.serve.endpoint import Endpoint
from wizard.tui.opening import Opening
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.screens.welcome import WelcomeScreen
from wizard.tui.widgets.picker import Picker

URL = "http://127.0.0.1:11434/v1"
LLAMA, QWEN = elsewhere(URL, "llama3.1:8b"), elsewhere(URL, "qwen3:[bold]4b")
OLLAMA = Nearby("Ollama", (LLAMA, QWEN))
ROW = "nearby:127.0.0.1:11434"


@dataclass
class SlowJourney(FakeJourney):
    """Its look at other programs waits for `looked`."""

    looked: threading.Event = field(default_factory=threading.Event)

    def nearby(self, known: Iterable[Endpoint] = ()) -> list[Nearby]:
        assert self.looked.wait(30)
        return super().nearby(known)


def text(picked: WelcomeScreen | AskScreen) -> str:
    return "\n".join(str(option.prompt) for option in picked.query_one(Picker).options)


async def test_a_server_of_another_program_is_offered_without_moving_the_cursor() -> None:
    made = SlowJourney(strangers=(OLLAMA, Nearby("", (elsewhere("http://127.0.0.1:8080/v1", "x"),))))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        welcome = await to_welcome(pilot)
        assert "llama" not in text(welcome)
        before = welcome.rows[welcome.query_one(Picker).highlighted or 0].id
        made.looked.set()
        await wait_for(pilot, lambda: welcome.view.nearby)
        assert welcome.rows[welcome.query_one(Picker).highlighted or 0].id == before == "serve"
        assert [row.id for row in welcome.rows][:3] == ["serve", ROW, "nearby:127.0.0.1:8080"]
        shown = text(welcome)
    assert "Chat with llama3.1:8b" in shown
    assert "a server is running: Ollama, 127.0.0.1:11434 · 1 more model" in shown
    assert "a server is running: 127.0.0.1:8080\n" in f"{shown}\n"


async def test_an_error_of_the_look_is_no_noise() -> None:
    made = FakeJourney(strangers=unreachable("x", "y"))  # type: ignore[arg-type]
    async with StillApp(made).run_test() as pilot:
        await to_welcome(pilot)
        await pilot.pause()
        assert notes(pilot) == ""


async def test_the_chat_with_it_names_the_model_and_can_be_left_for_the_first_screen() -> None:
    made = FakeJourney(strangers=(OLLAMA,))
    async with StillApp(made).run_test(size=(100, 30)) as pilot:
        welcome = await to_welcome(pilot)
        await wait_for(pilot, lambda: welcome.view.nearby)
        await choose(pilot, ROW)
        chat = await screen(pilot, ChatScreen)
        assert words(chat, ".heading") == f"Chat with llama3.1:8b at {URL}"
        assert "not started by the wizard" in words(chat, "#welcome")
        await asked(pilot, "Hello", chat)
        assert made.asked_servers == [LLAMA]
        await pilot.press("ctrl+q")
        leaving = await screen(pilot, AskScreen)
        assert text(leaving).split("\n") == [
            "▸ Quit",
            "  Go to the first screen",
            "  Measure this server",
            "  Stay here",
        ]
        await pilot.press("down", "enter")
        await screen(pilot, WelcomeScreen)
    assert made.stopped == []


async def test_a_server_that_is_not_ours_is_never_restarted() -> None:
    made = FakeJourney(strangers=(OLLAMA,), chat_error=unreachable(URL, "refused"))
    opening = Opening(LLAMA, Conversation(), None)
    async with StillApp(made, opening=opening).run_test() as pilot:
        chat = await screen(pilot, ChatScreen)
        await asked(pilot, "Hello", chat)
        assert chat.view.error is not None
        assert not chat.check_action("restart", ())
        assert "^O chooses another model" in "\n".join(str(each.render()) for each in chat.query("Figures"))


async def test_the_conversation_goes_on_with_another_model_and_each_turn_says_whose_it_is() -> None:
    made = FakeJourney(running=(ENDPOINT, SECOND), strangers=(OLLAMA,))
    async with chatting(made) as (pilot, chat):
        await asked(pilot, "One", chat)
        assert "demo" not in lines(chat.talks.here.transcript)
        await pilot.press("ctrl+o")
        window = await screen(pilot, AskScreen)
        assert [line[2:] for line in text(window).split("\n")] == [
            f"second at {SECOND.http}",
            f"llama3.1:8b at {URL}",
            f"qwen3:[bold]4b at {URL}",
            "Another server, by address",
        ]
        await pilot.press("down", "enter")
        await screen(pilot, ChatScreen)
        await asked(pilot, "Two", chat)
        assert made.asked_servers == [ENDPOINT, LLAMA]
        assert [message.content for message in made.asked[1].messages][::2] == ["One", "Two"]
        assert models(chat.view.conversation.messages) == ("demo", "llama3.1:8b")
        shown = lines(chat.talks.here.transcript)
        assert shown.index("demo") < shown.index("Two") < shown.index("llama3.1:8b")
        assert words(chat, ".heading") == f"Chat with llama3.1:8b at {URL}"
        await pilot.press("ctrl+o")
        window = await screen(pilot, AskScreen)
        assert text(window).startswith("▸ qwen3:[bold]4b"), "models of the same server come first"
        await pilot.press("escape")
        await screen(pilot, ChatScreen)
        await wait_for(pilot, lambda: chat.keeping.kept.id)
        await pilot.press("ctrl+n")
        await asked(pilot, "Three", chat)
        assert "llama3.1:8b" not in lines(chat.talks.here.transcript)


async def test_a_model_is_switched_by_a_command() -> None:
    made = FakeJourney(running=(ENDPOINT, SECOND), strangers=(OLLAMA,))
    async with chatting(made) as (pilot, chat):
        await pilot.press(*"/model second", "enter")
        await wait_for(pilot, lambda: chat.endpoint == SECOND)
        await pilot.press(*f"/model {URL} qwen3", "enter")
        await wait_for(pilot, lambda: chat.endpoint == replace(made.at(URL), model="qwen3"))
        await pilot.press(*"/model", "enter")
        window = await screen(pilot, AskScreen)
        assert "llama3.1:8b" in text(window)
        await pilot.press("escape")
        await screen(pilot, ChatScreen)
        made.hold_chat = True
        await pilot.press(*"Hi", "enter")
        await wait_for(pilot, lambda: chat.talks.answering)
        await pilot.press(*"/model demo", "enter")
        await wait_for(pilot, lambda: "/model is not possible now" in notes(pilot))
        assert [message.content for message in made.asked[-1].messages] == ["Hi"]


async def test_a_model_that_does_not_answer_is_reported_and_the_next_one_can_be_chosen() -> None:
    made = FakeJourney(running=(ENDPOINT,), strangers=(OLLAMA,), dead=("demo",))
    made.again = (ENDPOINT,)
    async with chatting(made) as (pilot, chat):
        made.chat_error = unreachable(ENDPOINT.http, "refused")
        await asked(pilot, "One", chat)
        made.chat_error = None
        await pilot.press("ctrl+o", "enter")
        await wait_for(pilot, lambda: chat.endpoint == LLAMA)
        assert chat.view.error is None
        await pilot.press("ctrl+r")
        await wait_for(pilot, lambda: chat.view.stats)
        assert made.asked_servers[-1] == LLAMA


async def test_a_chat_can_be_the_first_screen_with_its_settings_and_saved_copy() -> None:
    made = FakeJourney(strangers=(OLLAMA,))
    talk = replace(Conversation(), sampling=Sampling(seed=7)).with_message("system", "Be brief.")
    async with StillApp(made, opening=Opening(QWEN, talk, Kept(talk))).run_test() as pilot:
        chat = await screen(pilot, ChatScreen)
        await asked(pilot, "Hello", chat)
        assert made.asked[0].sampling.seed == 7
        assert made.asked[0].system == "Be brief."
        assert made.asked_servers == [QWEN]
        await wait_for(pilot, lambda: chat.keeping.kept.id)
    private = FakeJourney()
    async with StillApp(private, opening=Opening(QWEN, talk, None)).run_test() as pilot:
        chat = await screen(pilot, ChatScreen)
        assert chat.keeping.private


async def test_servers_of_the_workspace_are_not_offered_twice() -> None:
    made = FakeJourney(running=(ENDPOINT,))
    asked_for: list[Endpoint] = []
    made.nearby = lambda known=(): asked_for.extend(known) or []  # type: ignore[method-assign,func-returns-value]
    async with StillApp(made).run_test() as pilot:
        await to_running_chat(pilot)
    assert ENDPOINT in asked_for
