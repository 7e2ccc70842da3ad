"""The chat: editing, versions, new and private conversations, pasting, finding, copying, the context's gauge."""

from __future__ import annotations

import pytest
from textual import events

from tests.tui.chatting import chatting, in_sight, lines, notes, words
from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ENDPOINT, WORKSPACE, plan
from tests.tui.walking import asked, chat_after, screen, wait_for
from wizard.chat.ask import too_long
from wizard.chat.conversation import Conversation, Message, Stats
from wizard.chat.meter import Usage
from wizard.kernel.errors import ServerError
from wizard.tui.screens.build import BuildScreen
from wizard.tui.views.chat import ChatView, Live, figures, gauge
from wizard.tui.widgets.prompt import Prompt
from wizard.tui.widgets.transcript_search import TranscriptSearch

CODE = "First:\n\n```python\none()\n```\n\nthen\n\n```sh\ntwo\nthree\n```\n"


async def test_the_last_question_is_edited_in_place_and_the_first_way_is_kept_as_a_version() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await asked(pilot, "Why?", chat)
        made.answer = "Because."
        await pilot.press("ctrl+e")
        assert chat.query_one(Prompt).text == "Why?"
        assert chat.query_one(Prompt).border_title == "Edit the last question"
        await pilot.press("!", "enter")
        await wait_for(pilot, lambda: chat.view.texts("assistant") == ["Because."])
        await pilot.pause()
        assert words(chat, "#first Figures").endswith(" · answer 2 of 2")
        assert chat.view.texts("user") == ["Why?!"]
        assert [message.content for message in made.asked[1].messages] == ["Why?!"]
        await pilot.press("alt+left")
        await pilot.pause()
        assert chat.view.texts("user") == ["Why?"]
        assert "Why?" in lines(chat.talks.first.transcript)
        assert "94.0 tokens/s" in words(chat, "#first Figures")
        assert words(chat, "#first Figures").endswith(" · answer 1 of 2")
        await pilot.press("alt+left", "alt+right")
        await pilot.pause()
        assert chat.view.texts("assistant") == ["Because."]


async def test_an_edit_that_is_left_changes_nothing() -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        await asked(pilot, "Why?", chat)
        before = chat.view.conversation
        await pilot.press("ctrl+e", "x", "escape")
        await pilot.pause()
        assert chat.query_one(Prompt).text == ""
        assert chat.query_one(Prompt).border_title in ("", None)
        assert chat.view.conversation == before
        await asked(pilot, "New", chat)
        assert chat.view.texts("user") == ["Why?", "New"]


async def test_control_e_in_a_written_text_is_the_end_of_the_line() -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        await asked(pilot, "Q", chat)
        await pilot.press(*"ab", "home", "ctrl+e", "c")
        assert chat.query_one(Prompt).text == "abc"


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])  # as terminals paste a line's end
async def test_a_pasted_book_is_a_word_in_the_field_and_is_sent_whole(end: str) -> None:
    made = FakeJourney()
    text = "".join(f"line {number} of a book\n" for number in range(5_500)) + "end"
    assert len(text) > 100_000
    async with chatting(made) as (pilot, chat):
        prompt = chat.query_one(Prompt)
        await pilot.press(*"Sum up: ")
        pilot.app.post_message(events.Paste(text.replace("\n", end)))
        await wait_for(pilot, lambda: "pasted text 1" in prompt.text)
        assert f"{len(text):,} characters" in prompt.text
        await pilot.press("enter")
        await wait_for(pilot, lambda: made.asked)
        assert made.asked[0].messages[0].content == f"Sum up: {text}"
        await wait_for(pilot, lambda: not chat.view.busy)
        assert "more characters" in "\n".join(lines(chat.talks.first.transcript))
        await pilot.press("up")
        assert prompt.written == f"Sum up: {text}"
        assert len(prompt.text) < 100


async def test_backspace_takes_a_pasted_text_away_as_a_whole() -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        prompt = chat.query_one(Prompt)
        await pilot.press("a")
        pilot.app.post_message(events.Paste("x" * 5_000))
        await wait_for(pilot, lambda: len(prompt.text) > 1)
        await pilot.press("backspace")
        assert prompt.text == "a"
        assert prompt.written == "a"


async def test_a_short_paste_is_text_like_any_other() -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        prompt = chat.query_one(Prompt)
        pilot.app.post_message(events.Paste("two\nlines"))
        await wait_for(pilot, lambda: prompt.text == "two\nlines")


async def test_control_c_and_y_copy_what_is_meant() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await asked(pilot, "One", chat)
        made.answer = "Second answer"
        await asked(pilot, "Two", chat)
        await pilot.press("ctrl+y")
        assert pilot.app.clipboard == "Second answer"
        await pilot.press("ctrl+up", "ctrl+up", "ctrl+up", "ctrl+y")
        assert pilot.app.clipboard == FakeJourney().answer
        assert "Copied the turn to the clipboard" in notes(pilot)


async def test_blocks_of_code_are_copied_from_the_last_to_the_first_and_marked() -> None:
    async with chatting(FakeJourney(answer=CODE)) as (pilot, chat):
        await asked(pilot, "Q", chat)
        copied = []
        for _ in range(3):
            await pilot.press("ctrl+b")
            copied.append(pilot.app.clipboard)
        assert copied == ["two\nthree\n", "one()\n", "two\nthree\n"]
        assert "Copied code block 2 of 2" in notes(pilot)
        assert chat.talks.first.transcript.turns[-1].marked == 1


async def test_copying_where_no_clipboard_is_says_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        await asked(pilot, "Q", chat)
        monkeypatch.setenv("TERM", "linux")
        await pilot.press("ctrl+y")
        await pilot.pause()
        assert "^S saves the conversation" in notes(pilot)


@pytest.mark.parametrize("key", ["ctrl+n", "ctrl+g"])
async def test_another_conversation_begins_without_the_search_in_the_one_before(key: str) -> None:
    async with chatting(FakeJourney(answer="alpha")) as (pilot, chat):
        await asked(pilot, "Q", chat)
        await pilot.press("ctrl+f", *"alpha")
        await wait_for(pilot, lambda: words(chat, "#found") == "1 of 1")
        await pilot.press(key, *"next")
        await wait_for(pilot, lambda: chat.query_one(Prompt).text == "next")
        assert not chat.query_one(TranscriptSearch).display


async def test_a_word_is_found_and_the_search_ends_with_escape() -> None:
    made = FakeJourney(answer="alpha\n\n" * 40 + "omega")
    async with chatting(made) as (pilot, chat):
        await asked(pilot, "Q", chat)
        await pilot.press("ctrl+f", *"alpha")
        await wait_for(pilot, lambda: words(chat, "#found") == "40 of 40")
        await pilot.press("enter", "up", "down")
        await wait_for(pilot, lambda: words(chat, "#found") == "39 of 40")
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(chat.focused, Prompt)
        await pilot.press("ctrl+f", *"nowhere")
        await wait_for(pilot, lambda: words(chat, "#found") == "no matches")


async def test_a_private_conversation_is_marked_and_nothing_of_it_is_kept() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await pilot.press("ctrl+g")
        await pilot.pause()
        assert "private: nothing is saved" in str(chat.query_one(Prompt).border_title)
        await asked(pilot, "Secret", chat)
        await pilot.pause()
        await pilot.press("ctrl+g")
        await pilot.pause()
        assert "private" not in str(chat.query_one(Prompt).border_title)
        assert chat.view.conversation.messages == ()
        await asked(pilot, "Open", chat)
        await wait_for(pilot, lambda: made.history(pilot.app.workspace).search(""))  # type: ignore[attr-defined]
        assert [entry.title for entry in made.history(pilot.app.workspace).search("")] == ["Open"]  # type: ignore[attr-defined]


async def test_a_private_conversation_stays_private_when_its_server_was_started_again() -> None:
    made = FakeJourney(running=(ENDPOINT,), earlier=plan(), chat_error=ServerError("TW-C01", "nobody", "Start it."))
    async with chatting(made) as (pilot, chat):
        await pilot.press("ctrl+g")
        await asked(pilot, "Secret", chat)
        made.chat_error = None
        await pilot.press("f5")
        again = await chat_after(pilot, await screen(pilot, BuildScreen))
        assert "private" in str(again.query_one(Prompt).border_title)
        await pilot.press("ctrl+r")
        await wait_for(pilot, lambda: again.view.texts("assistant"))
        await pilot.pause()
        assert not made.history(WORKSPACE).path.exists()


async def test_the_gauge_counts_the_conversation_and_the_draft() -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        prompt = chat.query_one(Prompt)
        await wait_for(pilot, lambda: "/ 1,024" in str(prompt.border_subtitle))
        before = str(prompt.border_subtitle)
        await pilot.press(*"some words that are written")
        await wait_for(pilot, lambda: str(prompt.border_subtitle) != before)


async def test_the_gauge_fits_a_terminal_that_becomes_narrow_while_an_answer_comes() -> None:
    async with chatting(FakeJourney(hold_chat=True)) as (pilot, chat):
        prompt = chat.query_one(Prompt)
        await wait_for(pilot, lambda: "context" in str(prompt.border_subtitle))
        await pilot.press("Q", "enter")
        await wait_for(pilot, lambda: chat.view.busy)
        await pilot.resize_terminal(40, 15)
        await wait_for(pilot, lambda: "context" not in str(prompt.border_subtitle))


@pytest.mark.parametrize(
    ("usage", "width", "words"),
    [
        (Usage(512, 1024, False), 80, "context ██████░░░░░░ ≈ 512 / 1,024 tokens"),
        (Usage(512, 1024, True), 40, "512 / 1,024"),
        (Usage(900, 1024, True), 80, "nearly full"),
        (Usage(2000, 1024, True), 80, "full: the oldest turns are dropped"),
        (Usage(70, None, False), 80, "≈ 70 tokens"),
    ],
)
def test_the_gauge_warns_near_the_end_and_says_what_is_an_estimate(usage: Usage, width: int, words: str) -> None:
    assert words in gauge(usage, width).plain


def test_an_answer_that_comes_is_measured_meanwhile() -> None:
    live = Live(10.5, 12.5, 101, 0.5)
    text = figures(ChatView(Conversation(), busy="answering", live=live)).plain
    for part in ("50.0 tokens/s", "TTFT 500 ms", "101 tokens", "Esc to stop"):
        assert part in text
    early = figures(ChatView(Conversation(), busy="answering", live=Live(10.5, 10.6, 4))).plain
    assert "tokens/s" not in early
    assert "first token" not in early


async def test_a_message_that_does_not_fit_says_so_and_stays() -> None:
    made = FakeJourney(chat_error=None)
    async with chatting(made) as (pilot, chat):
        made.chat_error = too_long("1100 of 1024 tokens")
        await asked(pilot, "Long", chat)
        assert "TW-C05" in words(chat, "#first ErrorPanel")
        assert "1100 of 1024" in words(chat, "#first ErrorPanel")
        assert words(chat, "#first Figures") == "^E edits the question, ^R sends it again"
        assert not chat.check_action("restart", ())
        made.chat_error = None
        await pilot.press("ctrl+e")
        assert chat.query_one(Prompt).text == "Long"


async def test_a_server_that_dies_mid_answer_leaves_the_partial_answer() -> None:
    made = FakeJourney(vanishes="demo")
    async with chatting(made) as (pilot, chat):
        await asked(pilot, "Q", chat)
        assert "TW-C03" in words(chat, "#first ErrorPanel")
        assert chat.view.texts("assistant") == [made.answer[:14]]
        assert "F5" in words(chat, "#first Figures")
        assert in_sight(chat.talks.first.transcript)


async def test_an_open_conversation_of_other_times_is_shown_from_its_end() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        old = Conversation(
            (Message("user", "Old"), Message("assistant", "x\n\n" * 50 + "the end", Stats(1, 1, 1, "stop")))
        )
        chat.talks.first.show(old)
        await pilot.pause()
        assert in_sight(chat.talks.first.transcript)[-1] == "the end"


async def test_what_is_typed_at_once_is_sent_in_its_order() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        for key in ("G", "o", "enter", "x"):
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await wait_for(pilot, lambda: made.asked and chat.query_one(Prompt).text == "x")
        assert made.asked[0].messages[0].content == "Go"


async def test_on_demand_each_turn_shows_its_author_its_time_and_its_measurements() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await asked(pilot, "Why?", chat)
        transcript = chat.talks.here.transcript
        folded = lines(transcript)
        await pilot.press("alt+t")
        await asked(pilot, "And now?", chat)
        shown = [line for line in lines(transcript) if " · 20" in line]
        assert [line.partition(" · ")[0] for line in shown] == ["You", "demo", "You", "demo"]
        assert all("tokens/s" in line for line in shown[1::2])
        await pilot.press("alt+t")
        assert lines(transcript)[: len(folded)] == folded
