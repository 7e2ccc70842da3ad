"""Beside the chat: the server's log, probabilities, presets, the last request as a command."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tui.chatting import chatting, lines, notes
from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ENDPOINT, WORKSPACE
from tests.tui.walking import asked, screen, wait_for
from wizard.catalog.presets import Preset, presets
from wizard.chat.conversation import TokenLogprob
from wizard.kernel import language
from wizard.kernel.language import tr
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.logprobs import LogprobsScreen, alternatives, level, shown
from wizard.tui.screens.modal import AskScreen, ReaderScreen
from wizard.tui.tail import BEGIN, BEHIND, Tail
from wizard.tui.widgets.live_log import LiveLog
from wizard.tui.widgets.log_panel import LogPanel
from wizard.tui.widgets.picker import Picker

TOKENS = tuple(
    TokenLogprob(text, math.log(share), ((text, math.log(share)), (" other", math.log(0.05))))
    for text, share in (("Tri", 0.95), ("ton", 0.6), (" is", 0.3), ("\n", 0.04), (" a", 0.99))
)


async def test_the_log_is_followed_beside_the_chat(tmp_path: Path) -> None:
    log = tmp_path / "triton.log"
    log.write_text("I1121 first [bold]\x1b[31mline\n")
    made = FakeJourney(running=(replace(ENDPOINT, log=str(log)),))
    async with chatting(made) as (pilot, chat):
        await pilot.press("f7")
        await wait_for(pilot, lambda: [*chat.query(LiveLog)] and chat.query_one(LiveLog).lines)
        with log.open("a") as file:
            file.write("second\nhalf")
        await wait_for(pilot, lambda: chat.query_one(LiveLog).lines == ["I1121 first [bold]line", "second"])
        await pilot.press("f7")
        await wait_for(pilot, lambda: not chat.query(LogPanel))


@pytest.mark.parametrize(
    ("log", "message"), [("", "log are on another machine"), ("/no/such/file.log", "No such file")]
)
async def test_a_log_that_is_not_there_says_so(log: str, message: str) -> None:
    made = FakeJourney(running=(replace(ENDPOINT, log=log),))
    async with chatting(made) as (pilot, chat):
        await pilot.press("f7")
        await wait_for(pilot, lambda: [*chat.query(LiveLog)] and message in "".join(chat.query_one(LiveLog).lines))


def test_a_long_log_starts_near_its_end_and_a_restarted_one_at_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {number}\n" for number in range(10_000)))
    tail = Tail(str(log))
    lines = tail.read()
    assert lines[-1] == "line 9999"
    assert all(line.startswith("line ") for line in lines)
    assert sum(len(line) + 1 for line in lines) <= BEGIN
    assert tail.read() == []
    log.write_text("anew\n")
    assert tail.read() == ["anew"]
    log.unlink()
    with pytest.raises(OSError, match="No such file"):
        tail.read()


def test_a_log_that_grows_too_fast_is_skipped_and_says_so(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("first\n")
    tail = Tail(str(log))
    assert tail.read() == ["first"]
    with log.open("a") as file:
        file.write("".join(f"line {number:07}\n" for number in range(BEHIND // 10)))
    lines = tail.read()
    assert "too fast" in lines[0]
    assert lines[1].startswith("line ")
    assert lines[-1] == f"line {BEHIND // 10 - 1:07}"
    assert tail.read() == []


async def test_probabilities_are_asked_for_and_then_shown() -> None:
    made = FakeJourney(logprobs=TOKENS)
    async with chatting(made) as (pilot, chat):
        await pilot.press("f8")
        await pilot.pause()
        assert "starting with the next answer" in notes(pilot)
        await asked(pilot, "Q", chat)
        assert made.asked[0].sampling.logprobs == 5
        await pilot.press("f8")
        window = await screen(pilot, LogprobsScreen)
        assert "Token 1 of 5" in str(window.query_one("#alternatives").render())
        await pilot.press("down")
        await pilot.pause()
        text = str(window.query_one("#alternatives").render())
        assert "Token 2 of 5" in text
        assert "60.0%" in text
        assert "5.0%" in text
        await pilot.press("down", "down", "down", "down")
        await pilot.pause()
        assert "↵" in str(window.query_one("#alternatives").render())
        await pilot.press("right", "right", "right", "left", "up", "escape")
        await screen(pilot, ChatScreen)


async def test_probabilities_that_are_not_requested_yet_are_not_reported_missing() -> None:
    async with chatting(FakeJourney(logprobs=TOKENS)) as (pilot, chat):
        await asked(pilot, "Q", chat)
        await pilot.press("f8", "f8")
        await pilot.pause()
        assert "Token probabilities will be available with the next answer" in notes(pilot)
        assert "does not report probabilities" not in notes(pilot)


async def test_a_server_that_gives_no_probabilities_is_named_as_such() -> None:
    async with chatting(FakeJourney()) as (pilot, chat):
        await pilot.press("f8", "f8")
        await pilot.pause()
        assert "starting with the next answer" in notes(pilot)
        await asked(pilot, "Q", chat)
        await pilot.press("f8")
        await pilot.pause()
        assert "does not report probabilities" in notes(pilot)
        assert pilot.app.screen is chat


def test_every_level_of_probability_looks_otherwise_without_colours_too() -> None:
    styles = [level(token) for token in TOKENS[:4]]
    marks = [{word for word in style.split() if not word.startswith("$")} for style in styles]
    assert len({frozenset(each) for each in marks}) == 4
    assert "▸ Tri" in alternatives(TOKENS[0], 0, 5).plain
    assert shown("") == "∅"


async def test_a_preset_brings_its_system_prompt_and_settings() -> None:
    made = FakeJourney(own_presets=(Preset("mine", "", "", {}, own=True),))
    async with chatting(made) as (pilot, chat):
        await asked(pilot, "Q", chat)
        await pilot.press("f9")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        await screen(pilot, ChatScreen)
        await wait_for(pilot, lambda: chat.view.conversation.system == "Be precise.")
        assert chat.view.conversation.sampling.temperature == 0.0
        assert lines(chat.talks.first.transcript)[1] == "System: Be precise."
        assert chat.view.texts("user") == ["Q"]


async def test_presets_are_described_in_the_language_of_the_user() -> None:
    language.use("ko")
    about = next(preset.about for preset in presets() if preset.name == "creative")
    assert tr(about) != about
    async with chatting(FakeJourney(own_presets=(Preset("creative", about, "", {}),))) as (pilot, _chat):
        await pilot.press("f9")
        question = await screen(pilot, AskScreen)
        assert tr(about) in str(question.query_one(Picker).get_option_at_index(1).prompt).replace("\n   ", "")


async def test_the_present_settings_are_kept_as_a_preset_and_removed_again() -> None:
    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await pilot.press("f9")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        await wait_for(pilot, lambda: chat.view.conversation.system)
        await screen(pilot, ChatScreen)
        await pilot.press("f9")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await screen(pilot, FormScreen)
        await pilot.press(*"no name", "enter")
        await wait_for(pilot, lambda: "TW-D11" in notes(pilot))
        await pilot.press("f9")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await screen(pilot, FormScreen)
        await pilot.press(*"brief", "enter")
        await wait_for(pilot, lambda: "brief.toml" in notes(pilot))
        saved = next(Path.home().rglob("brief.toml"))
        assert "Be precise." in saved.read_text()
        made.own_presets = (Preset("brief", own=True),)
        await pilot.press("f9")
        await screen(pilot, AskScreen)
        await pilot.press("down", "down", "down", "enter")
        await screen(pilot, AskScreen)
        await pilot.press("enter")
        await wait_for(pilot, lambda: not saved.exists())


async def test_the_last_request_is_shown_as_commands() -> None:
    from wizard.chat.snippet import Request

    made = FakeJourney()
    async with chatting(made) as (pilot, chat):
        await asked(pilot, "Q", chat)
        chat.talks.first.request = Request(
            "http://127.0.0.1:8010/v2/models/demo/generate_stream", {"text_input": "Q"}, "demo", "x:1"
        )
        await pilot.press("f10")
        text = (await screen(pilot, ReaderScreen))._text
        for word in ("curl -sSN http://127.0.0.1:8010", '"text_input": "Q"', "tritonclient", "urllib.request"):
            assert word in text
        assert f"triton-wizard --workspace {WORKSPACE.root} chat {chat.endpoint.name}" in text
        await pilot.press("c")
        assert pilot.app.clipboard == text
