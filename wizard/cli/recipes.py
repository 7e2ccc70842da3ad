"""`triton-wizard recipes`: the ready-made recipes, or one of them with its fixes and what comes later."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from wizard.cli.command_lines import command_line, fit
from wizard.cli.stages import print_json
from wizard.kernel.language import tr

if TYPE_CHECKING:
    from wizard.catalog.recipes import Recipe


def recipes(arguments: argparse.Namespace) -> int:
    """List them with two lines each, or show the named one."""
    from wizard import journey
    from wizard.catalog.recipes import recipe as named

    recipes = journey.recipes()
    if arguments.name:
        recipe = named(arguments.name)
        print_json(recipe) if arguments.json else print(_details(recipe, arguments))
        return 0
    if arguments.json:
        print_json(recipes)
        return 0
    width = max((len(recipe.name) for recipe in recipes), default=0) + 2
    for recipe in recipes:
        print(f"{recipe.name:<{width}}{_plain(tr(recipe.title))}")
        model = recipe.model.rpartition("/")[2] if recipe.model_in_profiles else recipe.model
        print(f"{'':<{width}}{_plain(model)}{_fits(recipe)}")
    return 0


def _details(recipe: Recipe, arguments: argparse.Namespace) -> str:
    from wizard.advise import engines
    from wizard.catalog.stacks import facts
    from wizard.prompts.value_text import wrapped

    answers = {**recipe.answers, **recipe.options}
    settled = ", ".join(f"{name} {value}" for name, value in answers.items())
    model = tr("Model: {facts}", facts=f"{recipe.model}{_fits(recipe)}")
    lines = [_plain(tr(recipe.title)), wrapped(tr(recipe.about)), wrapped(model, "  ", first="")]
    lines += [wrapped(tr("Set by the recipe: {answers}", answers=settled), "  ", first="")] if settled else []
    lines.append(wrapped(tr("From: {source}", source=recipe.source), "  ", first=""))
    for title, sentences in ((tr("Fixed:"), recipe.repaired), (tr("Not supported yet:"), recipe.later)):
        if sentences:
            lines += [title, *(wrapped(tr(sentence), "    ", first="  - ") for sentence in sentences)]
    hardware = recipe.machines[0] if recipe.machines else ""
    if engines.builds(stack := recipe.answers.get("stack")):
        ended = engines.ended(recipe.name, hardware, *facts(str(stack)).instead[:1])
        lines.append(fit(arguments)(ended, "  ", first=""))
    where = ("--hardware", hardware) if hardware else ()
    lines.append(tr("Show its steps: {command}", command=command_line(arguments, "plan", recipe.name, *where)))
    return "\n".join(lines)


def _fits(recipe: Recipe) -> str:
    return f" · {tr('fits {machines}', machines=', '.join(recipe.machines))}" if recipe.machines else ""


def _plain(text: str) -> str:
    from wizard.kernel.text import one_line

    return one_line(text)
