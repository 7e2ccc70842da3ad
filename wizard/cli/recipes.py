"""`triton-wizard recipes`: the ready-made recipes, or one of them with what was repaired and what comes later."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from wizard.cli.again import again, fit
from wizard.cli.stages import print_json
from wizard.kernel.language import tr

if TYPE_CHECKING:
    from wizard.catalog.recipes import Recipe


def recipes(arguments: argparse.Namespace) -> int:
    """List them in two lines each, or show the one that is named."""
    from wizard import journey
    from wizard.catalog.recipes import recipe as named

    if arguments.name:
        one = named(arguments.name)
        print_json(one) if arguments.json else print(_whole(one, arguments))
        return 0
    found = journey.recipes()
    if arguments.json:
        print_json(found)
        return 0
    width = max((len(one.name) for one in found), default=0) + 2
    for one in found:
        print(f"{one.name:<{width}}{_plain(tr(one.title))}")
        print(
            f"{'':<{width}}{_plain(one.model.rpartition('/')[2] if one.model_in_profiles else one.model)}{_fits(one)}"
        )
    return 0


def _whole(one: Recipe, arguments: argparse.Namespace) -> str:
    from wizard.advise import engines
    from wizard.catalog.stacks import facts
    from wizard.prompts.value_text import wrapped

    answers = {**one.answers, **one.options}
    settled = ", ".join(f"{name} {value}" for name, value in answers.items())
    model = tr("Model: {facts}", facts=f"{one.model}{_fits(one)}")
    lines = [_plain(tr(one.title)), wrapped(tr(one.about)), wrapped(model, "  ", first="")]
    lines += [wrapped(tr("Set by the recipe: {answers}", answers=settled), "  ", first="")] if settled else []
    lines.append(wrapped(tr("From: {source}", source=one.source), "  ", first=""))
    for title, sentences in ((tr("Fixed:"), one.repaired), (tr("Not supported yet:"), one.later)):
        if sentences:
            lines += [title, *(wrapped(tr(sentence), "    ", first="  - ") for sentence in sentences)]
    hardware = one.machines[0] if one.machines else ""
    if engines.builds(stack := one.answers.get("stack")):
        ended = engines.ended(one.name, hardware, *facts(str(stack)).instead[:1])
        lines.append(fit(arguments)(ended, "  ", first=""))
    where = ("--hardware", hardware) if hardware else ()
    lines.append(tr("Show its steps: {command}", command=again(arguments, "plan", one.name, *where)))
    return "\n".join(lines)


def _fits(one: Recipe) -> str:
    return f" · {tr('fits {machines}', machines=', '.join(one.machines))}" if one.machines else ""


def _plain(text: str) -> str:
    from wizard.kernel.text import one_line

    return one_line(text)
