"""The options for models and for the advice, as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from wizard.advise import refusals
from wizard.advise.advice import Advice, Choice
from wizard.kernel.language import ntr, tr
from wizard.kernel.text import one_line
from wizard.plan.offer_list import headers, label
from wizard.plan.offers import Suggestion, details
from wizard.plan.question import Question, Value
from wizard.prompts.value_text import Fit
from wizard.texts import reasons, remedies, report
from wizard.texts.advise import verdict

Other: TypeAlias = Literal["all", "why", "pareto", "nearest", "change", "model"]
"""An option other than a choice."""


def setup_options(advice: Advice, top: int, *, pinned: bool = False) -> list[tuple[str, Choice | Other]]:
    """The options: the first ``top`` setups, and other actions; no other model if it is ``pinned``."""
    choices = report.ordered(advice.choices)
    options: list[tuple[str, Choice | Other]] = [
        (f"{report.choice_title(choice)} · {report.choice_room(choice)}", choice) for choice in choices[:top]
    ]
    if choices:
        options[0] = (tr("{way} (recommended)", way=options[0][0]), options[0][1])
    if (count := len(choices)) > top:
        options.append((ntr("Show {count} setup", "Show all {count} setups", count, count=count), "all"))
    nearest = advice.rejections[0].remedies if not choices and advice.rejections else ()
    if refusals.changes(nearest):
        remedy = remedies.text(nearest, flags=False)
        options.append((tr("Use the closest possible setup: {way}", way=remedy), "nearest"))
    options.append((tr("Change constraints: users, context length, format, GPUs ..."), "change"))
    if not pinned:
        options.append((tr("Another model"), "model"))
    if not choices:
        return options
    return [*options, (tr("Explain figures"), "why"), (tr("Speed per user and throughput"), "pareto")]


def now(question: Question, known: Mapping[str, object]) -> str:
    """The display text of the current answer, or of the default."""
    value = known.get(question.name, question.default)
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    return tr(question.otherwise) if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def as_value(value: object) -> Value | None:
    """``value`` if it is a valid type for an answer."""
    return value if isinstance(value, (str, int, float, bool)) else None


def unavailable(suggestions: Iterable[Any]) -> list[str]:
    """A line per reason why models are not available here."""
    titles: dict[str, list[str]] = defaultdict(list)
    large = 0
    for offer in suggestions:
        if offer.verdict is not None and offer.verdict.word == "no" and offer.place == "offered":
            large += 1
            continue
        titles[one_line(reasons.text(offer.why_not or ""))].append(one_line(offer.title))
    lines = [
        tr("{model} is not available: {why}", model=models[0], why=why)
        if len(models) == 1
        else tr("{count} models are not available: {why}", count=len(models), why=why)
        for why, models in titles.items()
    ]
    if large:
        singular, plural = (
            "{count} more model does not fit this machine.",
            "{count} more models do not fit this machine.",
        )
        lines.append(ntr(singular, plural, large, count=large))
    return lines


def suggestion(candidate: Any) -> str:
    """A model in a line: whether it fits, and the known facts."""
    fits = ": ".join(filter(None, verdict(candidate.verdict))) if candidate.verdict else ""
    parts = (label(candidate), one_line(candidate.title), one_line(fits), *details(candidate))
    return " · ".join(filter(None, parts))


def models_text(models: Sequence[Suggestion], fit: Fit) -> str:
    """All models of a list, by group, with those that are not available after them."""
    usable = [model for model in models if model.usable]
    lines: list[str] = []
    for model, header in zip(usable, headers(usable), strict=True):
        if header:
            lines += ["", fit(header)]
        lines.append(fit(suggestion(replace(model, group=None)), "    ", first="  - "))
        if header and model.about:
            lines.append(fit(model.about, "    "))
        lines.append(fit(model.ref, "    "))
    return "\n".join([*lines, "", *map(fit, unavailable(model for model in models if not model.usable))]).strip()
