"""Stage 6: streaming, stopping, settings, copying, leaving."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.widgets import Input, Static

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ENDPOINT, WORKSPACE, events, plan
from tests.tui.walking import StillApp, answered, asked, choose, screen, to_chat, to_machine, wait_for
from wizard.chat.conversation import Conversation, Sampling, Stats
from wizard.chat.settings import SETTINGS
from wizard.chat.wire import OWN, OWN_KINDS
from wizard.kernel.errors import ServerError, WorkspaceError
from wizard.kernel.paths import Workspace
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.chat_windows import GROUPS
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen, ReaderScreen
from wizard.tui.screens.welcome import WelcomeScreen
from wizard.tui.views.build import Phase
from wizard.tui.views.chat import ChatView, figures, still_running
from wizard.tui.widgets.model_chat import Figures
from wizard.tui.widgets.prompt import Prompt
from wizard.tui.widgets.turn import BAR


def shown(chat: ChatScreen) -> str:
    """Everything in the transcript as text."""
    transcript = chat.talks.first.transcript
    return "\n".join(transcript.line(number).plain[BAR:].rstrip() for number in range(transcript.virtual_size.height))


def roles(chat: ChatScreen) -> list[str]:
    """Who speaks in the transcript."""
    return [turn.role for turn in chat.talks.first.transcript.turns]


def figures_shown(chat: ChatScreen) -> str:
    """The line below the transcript."""
    return str(chat.talks.first.query_one(Figures).render())


async def test_an_answer_streams_in_and_its_measurements_are_shown() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"What is it?", "enter")
        await answered(pilot, chat)
        assert chat.talks.first.transcript.turns[-1].text == made.answer
        for word in ("94.0 tokens/s", "TTFT 31 ms", "48 tokens"):
            assert word in figures_shown(chat)
        await pilot.press(*"And?", "enter")
        await answered(pilot, chat)
    assert [message.role for message in made.asked[1].messages] == ["user", "assistant", "user"]


async def test_markup_and_tags_in_questions_and_answers_appear_as_they_are() -> None:
    made = FakeJourney(answer="See `[/]`, [bold]not bold[/] and <b>tag</b> \x1b[31mred\x1b[0m")
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"[/] [bold]x", "enter")
        await answered(pilot, chat)
        text = shown(chat)
        for word in ("[/] [bold]x", "[bold]not bold[/]", "<b>tag</b>", "red"):
            assert word in text
        assert "\x1b" not in text


async def test_escape_stops_the_answer_and_closes_the_stream() -> None:
    made = FakeJourney(hold_chat=True)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"Go", "enter")
        await wait_for(pilot, lambda: chat.view.tokens > 20)
        assert "Esc to stop" in figures_shown(chat)
        await pilot.press(*"next")  # kept until the answer is there
        assert len(made.asked) == 1
        await pilot.press("escape")
        await answered(pilot, chat)
        assert "chat" in made.closed
        assert chat.view.stopped
        assert chat.view.texts("assistant") == [made.answer]
        assert chat.query_one(Prompt).text == "next"


async def test_a_line_break_is_written_with_ctrl_j_and_the_arrows_move_in_the_text() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"ab", "ctrl+j", *"cd", "up", "end", "X", "down", "end", "Y", "enter")
        await answered(pilot, chat)
    assert made.asked[0].messages[0].content == "abX\ncdY"


async def test_an_empty_question_is_not_sent() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_chat(pilot)
        await pilot.press("enter", "space", "enter")
        await pilot.pause()
    assert made.asked == []


async def test_up_in_the_empty_field_brings_the_last_question_back() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"First", "enter")
        await answered(pilot, chat)
        await pilot.press("up", "!")
        assert chat.query_one(Prompt).text == "First!"


async def test_an_offered_question_is_asked_as_it_is_written() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await wait_for(pilot, lambda: chat.view.served)
        await pilot.pause()
        await pilot.press("down", "down", "enter")
        await answered(pilot, chat)
        assert isinstance(chat.focused, Prompt)
        assert not chat.query_one("#questions").display
        await pilot.press("down")
        assert chat.query_one("#questions").has_focus
        await pilot.press("escape")
        assert isinstance(chat.focused, Prompt)
    assert made.asked[0].messages[0].content == "What does [bold]dynamic batching[/] do?"


async def test_again_regenerates_the_last_answer_and_clear_forgets() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"Q", "enter")
        await answered(pilot, chat)
        made.answer = "Another one"
        await pilot.press("ctrl+r")
        await wait_for(pilot, lambda: chat.view.texts("assistant") == ["Another one"])
        assert roles(chat) == ["user", "assistant"]
        assert [message.content for message in made.asked[1].messages] == ["Q"]
        await pilot.press("ctrl+l")
        await pilot.pause()
        assert chat.view.conversation.messages == ()
        assert roles(chat) == []
        assert chat.query_one("#welcome").display


async def test_settings_are_checked_and_used_and_the_system_prompt_stays_after_clear() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press("ctrl+t")
        form = await screen(pilot, FormScreen)
        assert form.query_one("#temperature", Input).placeholder == "0, the model's default"
        await pilot.press(*"Be [brief]", "down", "9", "enter")
        await pilot.pause()
        await pilot.pause()
        assert "temperature cannot be 9" in str(form.query_one("#about", Static).render())
        await pilot.press("backspace", *"0.5", *["down"] * 4, "7", *["down"] * 4, "ctrl+u", *"64", "enter")
        await screen(pilot, ChatScreen)
        await pilot.press(*"Q", "enter")
        await answered(pilot, chat)
        await pilot.press("ctrl+l")
        await pilot.pause()
        assert [message.role for message in chat.view.conversation.messages] == ["system"]
        assert "System: Be [brief]" in shown(chat)
    assert made.asked[0].sampling == Sampling(0.5, 0.95, 64, 7)
    assert [message.content for message in made.asked[0].messages] == ["Be [brief]", "Q"]


def test_the_form_has_every_setting_once() -> None:
    assert sorted(name for _heading, names in GROUPS for name in names) == sorted(setting.name for setting in SETTINGS)


async def test_every_setting_can_be_set_and_one_that_the_model_does_not_take_stays_and_says_so() -> None:
    taken = tuple((name, kind) for name, kind in OWN_KINDS.items() if name not in ("min_p", "presence_penalty"))
    made = FakeJourney(wire=replace(OWN, kinds=taken))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        before = replace(chat.view.conversation, sampling=Sampling(min_p=0.5))
        chat.talks.first.change(before)
        await pilot.press("ctrl+t")
        form = await screen(pilot, FormScreen)
        texts = [str(widget.render()) for widget in form.query(".text")]
        assert [text for text in texts if "not supported here" in text] == [
            "Thinking · not supported here",
            "Min-p · not supported here",
            "Presence penalty · not supported here",
        ]
        await pilot.press(*["down"] * 3, *"40", "down", "down", *"1.1", "down", *"0.2", "down", "down", *"END|[/]")
        await pilot.press("enter")
        await screen(pilot, ChatScreen)
        await wait_for(pilot, lambda: chat.view.conversation.sampling.top_k)
        assert chat.view.conversation.sampling == Sampling(
            top_k=40, min_p=0.5, repetition_penalty=1.1, frequency_penalty=0.2, stop=("END", "[/]")
        )


async def test_the_last_answer_and_its_code_are_copied() -> None:
    made = FakeJourney()
    app = StillApp(made)
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press("ctrl+y", "ctrl+b")
        assert app.clipboard == ""
        await pilot.press(*"Q", "enter")
        await answered(pilot, chat)
        await pilot.press("ctrl+y")
        assert app.clipboard == made.answer
        await pilot.press("ctrl+b")
        assert app.clipboard == "print('[bold]hello[/]')\n"


async def test_the_endpoint_is_shown_with_a_curl_line() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await to_chat(pilot)
        await pilot.press("f10")
        reader = await screen(pilot, ReaderScreen)
        assert "triton-wizard chat demo" in reader._text
        assert "gRPC     127.0.0.1:8011" in reader._text


async def test_a_server_that_died_is_an_error_with_the_way_to_restart_it() -> None:
    made = FakeJourney(chat_error=ServerError("TW-C03", "the server went away", "See the log."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"Q", "enter")
        await answered(pilot, chat)
        assert "TW-C03" in str(chat.query_one("ErrorPanel", Static).render())
        assert "F5 restarts the server" in figures_shown(chat)
        assert roles(chat) == ["user"]
        made.script, made.hold_run = (lambda made: events(made, until="start")), True
        await pilot.press("f5")
        build = await screen(pilot, BuildScreen)
        assert build.view.phase is Phase.RUNNING


async def test_without_a_plan_a_restart_begins_with_the_machine() -> None:
    made = FakeJourney(running=(ENDPOINT,), chat_error=ServerError("TW-C01", "nobody answers", "Start it."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await screen(pilot, WelcomeScreen)
        await pilot.press("enter")
        chat = await screen(pilot, ChatScreen)
        await pilot.press(*"Q", "enter")
        await answered(pilot, chat)
        await pilot.press("f5")
        await to_machine(pilot)


async def test_a_server_found_running_is_restarted_from_its_earlier_plan() -> None:
    made = FakeJourney(running=(ENDPOINT,), earlier=plan(), chat_error=ServerError("TW-C01", "nobody", "Start it."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await screen(pilot, WelcomeScreen)
        await pilot.press("enter")
        chat = await screen(pilot, ChatScreen)
        await asked(pilot, "Q", chat)
        await pilot.press("f5")
        build = await screen(pilot, BuildScreen)
        assert build.run.plan == made.earlier


@pytest.mark.parametrize(("downs", "stopped"), [(0, []), (1, ["demo"])])
async def test_quitting_asks_whether_the_server_keeps_running(
    downs: int, stopped: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    made = FakeJourney()
    app = StillApp(made)
    async with app.run_test(size=(80, 24)) as pilot:
        await to_chat(pilot)
        await pilot.press("ctrl+q")
        await screen(pilot, AskScreen)
        await pilot.press(*["down"] * downs, "enter")
        await wait_for(pilot, lambda: app._exit)
    assert app.return_value == 0
    assert made.stopped == stopped
    assert ("keeps running" in capsys.readouterr().err) == (not stopped)


async def test_another_model_can_be_set_up_and_escape_comes_back_to_the_conversation() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press(*"Q", "enter")
        await answered(pilot, chat)
        made.running = (ENDPOINT,)
        await pilot.press("ctrl+q")
        await screen(pilot, AskScreen)
        await pilot.press("down", "down", "enter")
        await to_machine(pilot)
        await pilot.press("escape")
        await choose(pilot, "server:demo")
        again = await screen(pilot, ChatScreen)
        assert again.view.texts("user") == ["Q"]
        assert roles(again) == ["user", "assistant"]


async def test_a_form_that_is_open_when_quitting_is_thought_better_of_keeps_what_it_holds_and_counts() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await pilot.press("ctrl+t")
        form = await screen(pilot, FormScreen)
        await pilot.press(*"Brief.", "ctrl+c")
        await screen(pilot, AskScreen)
        await pilot.press("escape")
        await wait_for(pilot, lambda: pilot.app.screen is form)
        await pilot.press("enter")
        await wait_for(pilot, lambda: chat.view.conversation.system == "Brief.")


async def test_another_model_can_be_set_up_while_a_form_is_open() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        await to_chat(pilot)
        await pilot.press("ctrl+t")
        await screen(pilot, FormScreen)
        await pilot.press("ctrl+c")
        await screen(pilot, AskScreen)
        await pilot.press("down", "down", "enter")
        await to_machine(pilot)
        assert not any(isinstance(screen, (ChatScreen, FormScreen)) for screen in pilot.app.screen_stack)


@pytest.mark.parametrize("size", [(80, 24), (40, 15), (20, 8)])
async def test_the_field_is_visible_before_the_first_message(size: tuple[int, int]) -> None:
    async with StillApp(FakeJourney()).run_test(size=size) as pilot:
        chat = await to_chat(pilot)
        await wait_for(pilot, lambda: chat.view.served)
        await pilot.pause()
        await pilot.pause()
        field = chat.query_one(Prompt)
        assert chat.query_one("#stage").region.contains_region(field.region)


async def test_ctrl_c_answers_no_question_but_the_one_whether_to_leave() -> None:
    made = FakeJourney()
    app = StillApp(made)
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        before = chat.view.conversation
        await pilot.press("f9")
        presets = await screen(pilot, AskScreen)
        await pilot.press("ctrl+c")
        await wait_for(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen is not presets)
        assert chat.view.conversation == before
        await pilot.press("ctrl+c")
        await wait_for(pilot, lambda: app._exit)
    assert app.return_value == 0


async def test_staying_and_a_server_that_does_not_stop_keep_the_chat() -> None:
    made = FakeJourney(stop_error=WorkspaceError("TW-K04", "another wizard is working", "Wait until it is done."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        await asked(pilot, "Hi", chat)
        await pilot.press("ctrl+q")
        await screen(pilot, AskScreen)
        await pilot.press("down", "down", "down", "down", "enter")
        await screen(pilot, ChatScreen)
        await pilot.press("ctrl+q")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: chat.view.error)
        assert not chat.view.busy
        assert pilot.app.screen is chat
        assert "94.0 tokens/s" in figures_shown(chat), "the question was answered: it is not to be asked again"


def test_the_message_after_quitting_names_a_workspace_that_is_not_the_default() -> None:
    assert f"triton-wizard --workspace {WORKSPACE.root} down demo" in still_running(ENDPOINT, WORKSPACE)
    assert "triton-wizard down demo" in still_running(ENDPOINT, Workspace.at(None))


def test_only_keys_that_do_something_are_offered_after_an_error() -> None:
    gone, late = ServerError("TW-C01", "nobody answers", "Start it."), WorkspaceError("TW-K04", "another", "Wait.")
    asked_once = Conversation().with_message("user", "Q", at=0.0)
    assert figures(ChatView(Conversation(), error=gone)).plain == "F5 restarts the server"
    assert figures(ChatView(asked_once, error=gone)).plain == "^R retries, F5 restarts the server"
    beside = figures(ChatView(asked_once, error=gone), beside=True).plain
    assert beside == "^R retries, F6 uses only the first model"
    assert "top-p" in figures(ChatView(Conversation(), error=late)).plain


def test_only_measured_figures_are_shown() -> None:
    none = figures(ChatView(Conversation(), stats=Stats(0, None, 0.1, "cancelled"))).plain
    assert none == "0 tokens"
    gate = figures(ChatView(Conversation(), stats=Stats(9, 1.5, 2.0, "gate"))).plain
    assert "TTFT 1.5 s" in gate
    assert "does not know" in gate
    assert "seed 7" in figures(ChatView(Conversation(sampling=Sampling(seed=7)))).plain
