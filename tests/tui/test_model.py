"""Stage 2."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.fake_journey import SUGGESTIONS, FakeJourney
from tests.tui.walking import StillApp, screen, to_machine, to_model, wait_for
from wizard.kernel.errors import NetworkError
from wizard.tui.model_view import ModelView, is_reference, matching, rows
from wizard.tui.screens.advice import AdviceScreen
from wizard.tui.screens.model import ModelScreen
from wizard.tui.widgets.picker import Picker


def shown(model: ModelScreen) -> list[str]:
    return [str(option.prompt) for option in model.query_one(Picker).options]


async def test_the_recommended_model_is_on_top_with_the_cursor_on_it() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        first = shown(model)[0]
        for word in ("▸ Qwen2.5", "★ recommended", "491 MiB to download", "apache-2.0"):
            assert word in first
        assert "works offline" in shown(model)[1]
        assert "SmolLM2 [bold]1.7B[/] Instruct" in shown(model)[2]
        assert "not here: access is gated" in shown(model)[3]


async def test_typing_filters_and_the_arrows_move_in_the_list_meanwhile() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        await pilot.press(*"instruct", "down", "enter")
        await screen(pilot, AdviceScreen)
    assert len(rows(model.view)[0]) == 4  # three suggestions, and the text itself
    assert made.read == ["HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF"]


async def test_a_model_that_cannot_be_taken_says_why() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        await pilot.press("down", "down", "down", "down", "enter")
        await pilot.pause()
        assert "access is gated" in str(model.query_one("#state").render())
        assert pilot.app.screen is model
    assert made.read == []


async def test_an_unknown_model_is_an_error_in_place_and_the_text_stays() -> None:
    async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        await pilot.press(*"no/[x]", "enter")
        await wait_for(pilot, lambda: model.view.error)
        await pilot.pause()
        panel = str(model.query_one("ErrorPanel").render())
        assert "TW-M01" in panel
        assert "no/[x]" in panel
        assert "Check the spelling" in panel
        assert model.query_one("Input").value == "no/[x]"  # type: ignore[attr-defined]
        await pilot.press("backspace")
        await pilot.pause()
        assert model.view.error is None


async def test_escape_stops_waiting_for_a_hub_that_hangs_and_its_late_answer_is_dropped() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        made.gate = threading.Event()
        await pilot.press("enter")
        await wait_for(pilot, lambda: model.view.reading and made.read)
        await pilot.press("enter")
        assert len(made.read) == 1
        await pilot.press("escape")
        await wait_for(pilot, lambda: model.view.reading is None)
        made.gate.set()
        await pilot.press("escape")
        machine = await to_machine(pilot)
        assert pilot.app.screen is machine


async def test_suggestions_that_fail_leave_the_field_to_type_in() -> None:
    made = FakeJourney(offered=NetworkError("TW-M20", "the hub does not answer", "Use --offline."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        assert "TW-M20" in str(model.query_one("ErrorPanel").render())
        assert "Nothing to offer" in str(model.query_one("#state").render())
        made.offered = SUGGESTIONS
        await pilot.press("ctrl+r")
        await wait_for(pilot, lambda: model.view.suggestions)
        await pilot.press(*"./m.gguf", "enter")
        await screen(pilot, AdviceScreen)
    assert made.read == ["./m.gguf"]


@pytest.mark.parametrize("text", ["a/b", "./x", "~/x", "../x", "/x", "x.gguf", " a/b "])
def test_what_looks_like_a_name_is_offered_first(text: str) -> None:
    assert is_reference(text)
    assert rows(ModelView(SUGGESTIONS, text))[0][0] == text.strip()


def test_a_word_filters_and_is_offered_last() -> None:
    found, first = rows(ModelView(SUGGESTIONS, "offline"))
    assert found == [SUGGESTIONS[1], "offline"]
    assert first == 0


@given(st.text())
def test_whatever_is_typed_can_be_taken_or_is_blank(text: str) -> None:
    found, first = rows(ModelView(SUGGESTIONS, text))
    assert (text.strip() in found) == bool(text.strip())
    assert first is None or first < len(found)
    assert set(matching(SUGGESTIONS, text)) <= set(SUGGESTIONS)


async def test_suggestions_that_come_when_a_model_was_taken_are_not_waited_for() -> None:
    journey = FakeJourney()
    journey.gate = threading.Event()
    journey.suggestions = lambda host, *_, **__: journey._wait() or []  # type: ignore[method-assign,func-returns-value]
    async with StillApp(journey).run_test() as pilot:
        journey.gate.set()
        await to_machine(pilot)
        journey.gate.clear()
        await pilot.press("enter")
        model = await screen(pilot, ModelScreen)
        (looking,) = (one for one in model.workers if one.group == "suggestions")
        model.dismiss(journey.facts)
        assert looking.is_cancelled
        journey.gate.set()
