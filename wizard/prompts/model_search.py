"""Ways to a model beside the list of those that fit: the hub's search, and the ready journeys."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wizard.catalog.journeys import Journey
from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.prompts.ask import Ask
from wizard.prompts.options import suggestion
from wizard.prompts.speech import say


def is_word(text: str, names: Iterable[str]) -> bool:
    """Whether ``text`` is no path, no hub id and none of ``names``, so that the hub can be searched for it."""
    if "/" in text or text.startswith(("~", ".")) or (len(text) < 256 and Path(text).exists()):
        return False
    return text not in names


def searched(ask: Ask, journey: Any, text: str) -> str | None:
    """The model that is chosen of those that the hub finds under ``text``; None to go back to the list."""
    say(tr("Searching the hub for {text} ...", text=one_line(text)))
    try:
        found = journey.search(text)
    except WizardError as error:
        say(f"\n{error}\n")
        return None
    if not found:
        say(tr("The hub has no model for text whose name holds {text}.", text=one_line(text)))
        return None
    options: list[tuple[str, str | None]] = [(suggestion(one), one.ref) for one in found]
    return ask.choose(tr("Which of these?"), [*options, (tr("Back to the list"), None)])


def ready(ask: Ask, journeys: Iterable[Journey]) -> str | None:
    """The name of the journey that is chosen; None to go back to the list."""
    options: list[tuple[str, str | None]] = [(_title(one), one.name) for one in journeys]
    return ask.choose(tr("Which journey do you want to take?"), [*options, (tr("Back to the list"), None)])


def _title(one: Journey) -> str:
    machines = tr(" or ").join(one.machines)
    made = tr("made for {machines}", machines=machines) if machines else tr("made for any machine")
    return f"{tr(one.title)} · {made}"
