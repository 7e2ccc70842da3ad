"""Stage 2."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import SUGGESTIONS
from tests.tui.walking import StillApp, Walk, screen, to_machine, to_model, wait_for
from tests.worded import saying
from wizard.advise.verdict import Verdict
from wizard.kernel.errors import ModelError, NetworkError
from wizard.model.on_disk import Entry
from wizard.plan.offers import Suggestion, suggestions
from wizard.probe.shorthand import host
from wizard.tui.screens.advice import AdviceScreen
from wizard.tui.screens.model import ModelScreen
from wizard.tui.views.model import ModelView, contents, is_reference, matching, rows
from wizard.tui.widgets.chrome import key_rows
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
        assert "not possible: access is gated" in shown(model)[3]


def test_a_misspelled_name_has_rows_for_what_it_may_mean_and_groups_have_titles() -> None:
    offers = tuple(suggestions(host("1xH100"), None, offline=False, ask=False))
    listed, at = rows(ModelView(suggestions=offers, text="qwen3:8bb"))
    first = listed[0]
    assert isinstance(first, Suggestion)
    assert (first.ref, first.group, at, listed[-1]) == ("Qwen/Qwen3-8B", "meant", 0, "qwen3:8bb")
    whole = ModelView(suggestions=offers)
    text = "\n".join(row.plain for row in contents(rows(whole)[0], whole))
    titles = [text.index(title) for title in ("Best for this machine", "Medium: 8 to 40 B", "Small: less than 8 B")]
    assert titles[0] == 0
    assert text.count("Medium: 8 to 40 B") == 1


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
    made = FakeJourney(offered=NetworkError("TW-M20", "the Hub does not respond", "Use --offline."))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        assert "TW-M20" in str(model.query_one("ErrorPanel").render())
        assert "No suggestions" in str(model.query_one("#state").render())
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
    entries, first = rows(ModelView(SUGGESTIONS, "offline"))
    assert entries == [SUGGESTIONS[1], "offline"]
    assert first == 0


@given(st.text())
def test_whatever_is_typed_can_be_taken_or_is_blank(text: str) -> None:
    entries, first = rows(ModelView(SUGGESTIONS, text))
    assert (text.strip() in entries) == bool(text.strip())
    assert first is None or first < len(entries)
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
        (looking,) = (worker for worker in model.workers if worker.group == "suggestions")
        model.dismiss(journey.facts)
        assert looking.is_cancelled
        journey.gate.set()


HITS = (
    Suggestion(
        "org/mist-7b", "org/mist-7b", "", "mit", None, True, True, place="hub", parameters=7_000_000_000, downloads=1200
    ),
    Suggestion("org/mist-gated", "org/mist-gated", "", None, None, True, True, place="hub", gated=True),
)
VERDICTS = (
    replace(SUGGESTIONS[0], verdict=Verdict("fits", saying("on 1 GPU, about 150 tokens/s")), parameters=494_000_000),
    replace(SUGGESTIONS[1], verdict=Verdict("fits", saying("on the CPU")), place="here"),
    replace(SUGGESTIONS[2], verdict=Verdict("tight", saying("1 person with up to 2,048 tokens")), gated=True),
    replace(SUGGESTIONS[3], verdict=Verdict("no", saying("61.0 GiB of weights, 14.4 GiB free")), usable=False),
)
DOWN = NetworkError("TW-M13", "the Hub does not respond", "Check the network.")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub is asked without a pause."""
    monkeypatch.setattr(ModelScreen, "PAUSE", 0)


async def searched(pilot: Walk, text: str) -> ModelScreen:
    model = await to_model(pilot)
    await pilot.press(*text)
    await wait_for(pilot, lambda: model.view.searched == text or model.view.trouble)
    await pilot.pause()
    return model


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (Verdict("fits", saying("on 1 GPU")), "✓ fits: on 1 GPU"),
        (Verdict("tight", saying("only as fp8")), "◐ tight: only as fp8"),
        (Verdict("no", saying("61.0 GiB of weights")), "✗ not possible: 61.0 GiB of weights"),
    ],
)
async def test_every_verdict_has_a_sign_a_word_and_a_reason(verdict: Verdict, reason: str) -> None:
    suggestion = replace(
        SUGGESTIONS[0], verdict=verdict, usable=verdict.word != "no", gated=True, parameters=8_030_000_000
    )
    async with StillApp(FakeJourney(offered=(suggestion, SUGGESTIONS[1]))).run_test(size=(120, 40)) as pilot:
        row = shown(await to_model(pilot))[0]
        for word in (reason, "8.03 B parameters", "gated"):
            assert word in row


async def test_the_list_is_there_before_the_hub_has_answered_and_the_cursor_stays_where_it_was_moved() -> None:
    first, second, *others = SUGGESTIONS
    made = FakeJourney(known=(replace(first, download_bytes=None), second))
    gate = threading.Event()
    quick = made.suggestions
    made.suggestions = lambda *a, ask=True, **k: (
        (gate.wait(30), quick(*a, ask=ask, **k))[1] if ask else quick(*a, ask=ask, **k)
    )  # type: ignore[method-assign]
    async with StillApp(made, answers={"model": ""}).run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        await pilot.press("enter")
        model = await screen(pilot, ModelScreen)
        await wait_for(pilot, lambda: model.view.looking)
        await pilot.pause()
        assert len(shown(model)) == 2
        assert "Getting more information" in str(model.query_one("#state").render())
        assert "recommended" not in "".join(shown(model))
        await pilot.press("down")
        made.offered = (first, *others, second)
        gate.set()
        await wait_for(pilot, lambda: not model.view.looking)
        await pilot.pause()
        assert model.query_one(Picker).highlighted == 3
        assert "▸ Offline demo" in shown(model)[3]


async def test_pages_of_the_list_are_turned_while_the_field_has_the_focus() -> None:
    many = tuple(replace(SUGGESTIONS[1], ref=f"org/model-{n}", about="It is long. " * n) for n in range(20))
    async with StillApp(FakeJourney(offered=many)).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        await wait_for(pilot, lambda: "PgUp/Dn" in [row.keys for row in key_rows(model)])
        picker = model.query_one(Picker)
        await pilot.press("pagedown")
        first = picker.highlighted or 0
        assert first > 3
        await pilot.pause()
        await wait_for(pilot, lambda: picker.scroll_y + picker.size.height >= 2 * (first + 1))  # two lines each
        await pilot.press("pagedown")
        assert (picker.highlighted or 0) > first
        await pilot.press("pageup", "pageup", "pageup")
        assert picker.highlighted == 0
        await pilot.press("enter")
        await screen(pilot, AdviceScreen)


@pytest.mark.usefixtures("at_once")
async def test_a_word_searches_the_hub_and_the_row_under_the_cursor_is_judged() -> None:
    made = FakeJourney(hits=HITS)
    async with StillApp(made).run_test(size=(120, 40)) as pilot:
        model = await searched(pilot, "mist")
        assert made.searched[-1] == "mist"
        await wait_for(pilot, lambda: "org/mist-7b" in made.judged_refs and model.view.judging is None)
        await pilot.pause()
        rows = shown(model)
        assert "✓ fits: on 1 GPU" in rows[0]
        for word in ("7 B parameters", "mit", "on the Hub", "1.2 K downloads in the last 30 days"):
            assert word in rows[0]
        assert "fits" not in rows[1]
        assert "Use mist" in rows[2]
        assert "model ID" in rows[2]
        await pilot.press("down", "enter")
        await screen(pilot, AdviceScreen)
    assert made.read == ["org/mist-gated"]


@pytest.mark.usefixtures("at_once")
async def test_what_cannot_be_judged_says_why_and_can_be_taken() -> None:
    gated = ModelError("TW-M12", "org/mist-7b is [bold]gated[/]", "Accept its licence.")
    made = FakeJourney(hits=HITS, judgement=gated)
    async with StillApp(made).run_test(size=(120, 40)) as pilot:
        model = await searched(pilot, "mist")
        await wait_for(pilot, lambda: "org/mist-7b" in model.view.unjudged)
        await pilot.pause()
        assert "? could not check whether it fits: org/mist-7b is [bold]gated[/]" in shown(model)[0]
        asked = len(made.judged_refs)
        await pilot.press("down", "up", "enter")  # it is not asked about again
        await screen(pilot, AdviceScreen)
    assert made.judged_refs[asked:] in ([], ["org/mist-gated"])
    assert made.read == ["org/mist-7b"]


@pytest.mark.usefixtures("at_once")
async def test_an_empty_and_a_failed_search_are_reported_and_typing_continues() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        model = await searched(pilot, "xyzzy")
        assert "no text model whose name contains xyzzy" in str(model.query_one("#state").render())
        made.hits = DOWN
        await pilot.press("q")
        await wait_for(pilot, lambda: model.view.trouble)
        await pilot.pause()
        assert "Hub search is unavailable: the Hub does not respond" in str(model.query_one("#state").render())
        made.hits = HITS
        await pilot.press("backspace", *["backspace"] * 5, *"mist")
        await wait_for(pilot, lambda: model.view.searched == "mist")
        await pilot.pause()
        assert "org/mist-7b" in shown(model)[0]


@pytest.mark.usefixtures("at_once")
async def test_a_late_answer_to_an_older_text_is_dropped() -> None:
    made = FakeJourney(hits=HITS)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        made.gate = threading.Event()
        await pilot.press(*"mist")
        await wait_for(pilot, lambda: model.view.searching and "mist" in made.searched)
        await pilot.press("escape")
        made.gate.set()
        await pilot.pause()
        assert model.view.text == ""
        assert not model.view.searching
        assert not any("mist" in row for row in shown(model))


@pytest.mark.usefixtures("at_once")
async def test_paths_and_single_letters_are_not_searched_for() -> None:
    made = FakeJourney()
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        await to_model(pilot)
        await pilot.press("a", "backspace", *"./models", "tab")
        await pilot.pause()
    assert made.searched == []


PATHS = (
    Entry("/data/models/llama-8b/", "model"),
    Entry("/data/models/llama.Q4.gguf", "gguf"),
    Entry("/data/models/more/", "folder"),
)


async def test_tab_types_the_rest_of_a_path_and_enter_goes_into_folders() -> None:
    made = FakeJourney(entries=PATHS)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        await pilot.press(*"/da")
        await wait_for(pilot, lambda: len(model.view.entries) == 3)
        await pilot.press("tab")
        await wait_for(pilot, lambda: model.view.text == "/data/models/")
        assert "as a folder or a .gguf file" in shown(model)[0]
        await pilot.pause()
        assert "it has a config.json" in shown(model)[1]
        assert "a model in one file" in shown(model)[2]
        await pilot.press("down", "down", "down", "enter")
        await wait_for(pilot, lambda: model.view.text == "/data/models/more/")
        assert made.read == []
        await pilot.press(*["backspace"] * 5)
        await wait_for(pilot, lambda: len(model.view.entries) == 3)
        await pilot.pause()
        await pilot.press("l")
        await wait_for(pilot, lambda: len(model.view.entries) == 2)
        await pilot.press("tab")
        await wait_for(pilot, lambda: model.view.text == "/data/models/llama")
        await wait_for(pilot, lambda: len(model.view.entries) == 2)
        await pilot.pause()
        await pilot.press("down", "tab")  # of several the one under the cursor
        await wait_for(pilot, lambda: model.view.text == "/data/models/llama-8b/" and len(model.view.entries) == 1)
        await pilot.press("down", "enter")
        await screen(pilot, AdviceScreen)
    assert made.read == ["/data/models/llama-8b"]


async def test_tab_says_that_no_path_begins_so_and_looks_at_what_is_typed_now() -> None:
    made = FakeJourney(entries=PATHS)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        await pilot.press(*"/dx", "tab")
        await wait_for(pilot, lambda: model.view.notice)
        await pilot.pause()
        assert "No folder or .gguf file starts with /dx" in str(model.query_one("#state").render())
        await pilot.press("backspace", *"ata/models/m", "tab")  # the list may still be of an older text
        await wait_for(pilot, lambda: model.view.text == "/data/models/more/")
        assert not model.view.notice


@pytest.mark.usefixtures("at_once")
async def test_an_unknown_model_where_the_hub_is_silent_is_one_complaint() -> None:
    async with StillApp(FakeJourney(hits=DOWN)).run_test(size=(80, 24)) as pilot:
        model = await searched(pilot, "no/such")
        assert "Hub search is unavailable" in str(model.query_one("#state").render())
        await pilot.press("enter")
        await wait_for(pilot, lambda: model.view.error)
        await pilot.pause()
        assert "TW-M01" in str(model.query_one("ErrorPanel").render())
        assert not model.query_one("#state").display


async def test_a_model_of_this_disk_says_so() -> None:
    mine = Suggestion("/m/a.gguf", "a.gguf", "", None, 0, False, True, place="here", verdict=Verdict("fits", None))
    async with StillApp(FakeJourney(offered=(*SUGGESTIONS, mine))).run_test(size=(80, 40)) as pilot:
        assert "on this machine" in shown(await to_model(pilot))[4]


async def test_offline_only_this_disk_is_asked() -> None:
    made = FakeJourney(known=())
    async with StillApp(made, offline=True).run_test(size=(80, 24)) as pilot:
        model = await to_model(pilot)
        assert len(shown(model)) == len(SUGGESTIONS)
