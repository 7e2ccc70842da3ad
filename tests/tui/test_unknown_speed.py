"""A speed that is not known is said to be, with the reason: on the screen, in a plain terminal and in a notebook."""

from __future__ import annotations

from dataclasses import replace

from tests.tui.fake_journey import FakeJourney
from tests.tui.test_advice_and_review import text_of
from tests.tui.values import LLAMA
from tests.tui.walking import StillApp, to_advice
from wizard.advise.advice import Choice, Constraints
from wizard.advise.ranking import advise
from wizard.notebook.html import choice_html
from wizard.probe.shorthand import host
from wizard.prompts.value_text import choice_text

FACTS = replace(LLAMA, unknown={"speed": "its names are odd"})
SAID = "Speed unknown: its names are odd."


def best() -> Choice:
    return advise(host("1xL4"), FACTS, Constraints()).choices[0]


async def test_on_the_screen() -> None:
    async with StillApp(FakeJourney(host=host("1xL4"), facts=FACTS, advice=None)).run_test(size=(120, 40)) as pilot:
        shown = text_of(await to_advice(pilot), "Text", "Notes")
    assert SAID in " ".join(shown.split())
    assert "tokens/s" not in shown


def test_in_a_plain_terminal_and_in_a_notebook() -> None:
    text = choice_text(best())
    assert SAID in " ".join(text.split())
    assert "Expected" not in text
    assert SAID in choice_html(best())
    assert "Expected" not in choice_html(best())
