"""The model question: from the list of models that fit, typed, from a Hub search, or a recipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from wizard.catalog.recipes import Recipe
from wizard.flow.port import JourneyPort
from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.plan.offer_list import meant, shortened, why_first
from wizard.plan.offers import Suggestion
from wizard.plan.question import Value
from wizard.plan.questions import MODEL
from wizard.prompts.ask import Ask, ask_question
from wizard.prompts.options import suggestion, unavailable
from wizard.prompts.speech import say

READY = "/"
"""Selected instead of a model: a recipe. It is not a valid model name."""
ALL = "*"
"""The same: the whole list."""


def which(ask: Ask, journey: JourneyPort, models: Iterable[Suggestion], kept: Value | None, *, offline: bool) -> str:
    """The chosen model; Enter selects ``kept``, an answer from an earlier run."""
    models = list(models)
    available = [model for model in models if model.usable]
    usable = shortened(available)
    for line in unavailable(model for model in models if not model.usable):
        say(line)
    if usable and (why := why_first(usable[0])):
        say(why)
    options: list[tuple[str, str | None]] = [(suggestion(model), model.ref) for model in usable]
    if len(usable) < len(available):
        options.append((tr("Show all {count} models", count=len(available)), ALL))
    another = tr("Another model: its ID, its path, or a Hub search term (you can also type it here)")
    options += [
        (another, None),
        (tr("A ready-made recipe: one of the tutorials, or a shorter modern equivalent"), READY),
    ]
    refs: list[Value] = [model.ref for model in usable]
    typed = None if kept in refs else kept
    first = refs.index(kept) if kept in refs else len(refs) if typed else 0
    while True:
        ref = ask.choose(tr(MODEL.text), options, first, other=lambda text: str(MODEL.parse(text)))
        if ref == ALL:
            return ask.choose(tr(MODEL.text), [(suggestion(model), model.ref) for model in available])
        recipes = journey.recipes()
        if ref == READY:
            picked = ready(ask, recipes)
        else:
            named = ref or str(ask_question(ask, MODEL, typed))
            known = named in refs or offline or not is_word(named, [recipe.name for recipe in recipes])
            picked = named if known else searched(ask, journey, named, models)
        if picked:
            return picked


def is_word(text: str, names: Iterable[str]) -> bool:
    """Whether ``text`` is neither a path, nor a model ID, nor one of ``names``, so that it is a search term for the
    Hub.
    """
    if "/" in text or text.startswith(("~", ".")) or (len(text) < 256 and Path(text).exists()):
        return False
    return text not in names


def searched(ask: Ask, journey: JourneyPort, text: str, models: Sequence[Suggestion]) -> str | None:
    """The model chosen from the Hub's search results for ``text``, or else from ``models`` that it may mean; None to go
    back to the list.
    """
    say(tr("Searching the Hub for {text} ...", text=one_line(text)))
    try:
        hits = journey.search(text)
    except WizardError as error:
        hits = []
        say(f"\n{error}\n")
    else:
        if not hits:
            say(tr("The Hub has no text model whose name contains {text}.", text=one_line(text)))
    hits = hits or meant(text, models)
    if not hits:
        return None
    options: list[tuple[str, str | None]] = [(suggestion(hit), hit.ref) for hit in hits]
    return ask.choose(tr("Which one of these?"), [*options, (tr("Back to the list"), None)])


def ready(ask: Ask, recipes: Iterable[Recipe]) -> str | None:
    """The name of the chosen recipe; None to go back to the list."""
    options: list[tuple[str, str | None]] = [(_title(recipe), recipe.name) for recipe in recipes]
    return ask.choose(tr("Which recipe do you want to use?"), [*options, (tr("Back to the list"), None)])


def _title(recipe: Recipe) -> str:
    machines = tr(" or ").join(recipe.machines)
    made = tr("made for {machines}", machines=machines) if machines else tr("made for any machine")
    return f"{tr(recipe.title)} · {made}"
