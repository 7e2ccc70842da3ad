"""Which model: typed, searched for, chosen of a list; and one that wants a token."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.prompts.fake_journey import FakeJourney
from tests.prompts.terminal import ADVICE, ENTER, MODEL, Flow
from tests.values import CPU_HOST
from wizard.kernel.paths import Workspace
from wizard.prompts.options import unavailable


def test_an_invalid_model_is_reported_and_asked_for_again(flow: Flow) -> None:
    terminal = flow()
    terminal.sees(MODEL)
    terminal.types("3\r")
    terminal.sees("A recipe (demo), a model ID")
    terminal.types(ENTER)
    terminal.sees("TW-U32")
    terminal.types("org/none\r")
    terminal.sees("TW-M01: 'org/none' is not a recipe")
    terminal.sees(MODEL)
    terminal.types("2\r")
    terminal.sees("How should org/small run on this machine?")
    terminal.leaves()


def test_a_word_searches_the_hub_and_a_search_that_fails_leads_back_to_the_list(flow: Flow) -> None:
    terminal = flow()
    terminal.sees(MODEL)
    terminal.types("down\r")
    terminal.sees("TW-M13")
    terminal.sees(MODEL)
    terminal.types("nothing\r")
    terminal.sees("The Hub has no text model whose name contains nothing.")
    terminal.sees(MODEL)
    terminal.types("small\r")
    terminal.sees("Which one of these?")
    terminal.sees("tight: 4 people with up to 2,048 tokens")
    terminal.types(ENTER)
    terminal.sees("How should org/small run on this machine?")
    terminal.leaves()


def test_a_misspelled_word_that_the_hub_does_not_know_is_asked_about(flow: Flow) -> None:
    terminal = flow()
    terminal.sees(MODEL)
    terminal.types("dmo\r")
    terminal.sees("The Hub has no text model whose name contains dmo.")
    terminal.sees("Which one of these?")
    terminal.sees("Did you mean")
    terminal.types(ENTER)
    terminal.sees("How should demo run on this machine?")
    terminal.leaves()


def test_a_recipe_is_offered_with_a_path_back(flow: Flow) -> None:
    terminal = flow(TERM="dumb")
    for answer in ("2\r", "1\r"):
        terminal.sees(MODEL)
        terminal.types("4\r")
        terminal.sees("Which recipe do you want to use?")
        terminal.sees("1) Offline demo, made for any machine")
        terminal.types(answer)
    terminal.sees("How should demo run on this machine?")
    terminal.leaves()


def test_a_model_can_be_typed_where_the_list_is_shown(flow: Flow) -> None:
    terminal = flow()
    terminal.sees(MODEL)
    terminal.types("org/none\r")
    terminal.sees("TW-M01: 'org/none' is not a recipe")
    terminal.sees(MODEL)
    terminal.types("org/small\r")
    terminal.sees("How should org/small run on this machine?")
    terminal.leaves()


def test_models_missing_for_the_same_reason_share_a_line(tmp_path: Path) -> None:
    large, *silent = (
        replace(FakeJourney(tmp_path).suggestions(CPU_HOST)[-1], title=f"Model {number}", why_not=why)
        for number, why in enumerate(("it needs 40 GiB", *["the Hub does not respond"] * 4))
    )
    assert unavailable([large, *silent]) == [
        "Model 0 is not available: it needs 40 GiB",
        "4 models are not available: the Hub does not respond",
    ]


def test_a_gated_model_asks_for_the_token_unseen_and_never_writes_it(flow: Flow, workspace: Workspace) -> None:
    token = "hf_" + "x" * 24
    terminal = flow("model=org/gated")
    terminal.sees("TW-M12")
    terminal.sees("Your Hugging Face token")
    terminal.types(token + "\r")
    terminal.sees(ADVICE)
    assert token not in (terminal.child.before or "")
    terminal.leaves()
    written = [path.read_text() for path in workspace.root.rglob("*") if path.is_file()]
    assert written
    assert not [text for text in written if token in text]


def test_without_a_token_for_a_gated_model_another_one_is_chosen(flow: Flow) -> None:
    terminal = flow("model=org/gated")
    terminal.sees("Your Hugging Face token (hidden; Enter: choose another model):")
    terminal.types(ENTER)
    terminal.sees(MODEL)
    terminal.leaves()


def test_with_a_token_no_token_is_requested(flow: Flow) -> None:
    terminal = flow("model=org/gated", HF_TOKEN="hf_mine")
    terminal.sees(ADVICE)
    assert "Hugging Face token" not in (terminal.child.before or "")
    terminal.leaves()
