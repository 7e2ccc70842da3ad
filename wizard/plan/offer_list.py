"""The list of models as all interfaces show it: grouped, shortened, and what a misspelled name may mean. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from wizard.kernel.language import mark, tr
from wizard.plan.offers import JUDGED, Group, Suggestion

HEADERS: dict[Group, tuple[str, str]] = {
    "meant": (mark("Did you mean"), ""),
    "best": (mark("Best for this machine"), ""),
    "included": (mark("Included"), ""),
    "here": (mark("On this machine"), ""),
    "large": (mark("Large"), mark("40 B parameters and more")),
    "medium": (mark("Medium"), mark("8 to 40 B parameters")),
    "small": (mark("Small"), mark("less than 8 B parameters")),
}
"""Titles of groups, and what they mean."""


def label(suggestion: Suggestion) -> str:
    """The title of its group; empty if it has none."""
    return tr(HEADERS[suggestion.group][0]) if suggestion.group else ""


def why_first(suggestion: Suggestion) -> str:
    """Why a bundled model comes before all well-known ones; empty if it is not such a model."""
    return suggestion.about if suggestion.group == "included" else ""


def headers(offers: Sequence[Suggestion]) -> list[str]:
    """For each of ``offers`` the title and meaning of its group if it is the first of it, else an empty string."""
    before: Group | None = None
    titles: list[str] = []
    for offer in offers:
        known = HEADERS[offer.group] if offer.group and offer.group != before else ()
        titles.append(": ".join(tr(part) for part in known if part))
        before = offer.group
    return titles


def shortened(offers: Sequence[Suggestion], most: int = JUDGED) -> list[Suggestion]:
    """``offers`` with at most ``most`` of each group; those that need no download all."""
    seen: Counter[Group | None] = Counter()
    shown: list[Suggestion] = []
    for offer in offers:
        seen[offer.group] += 1
        if offer.group in (None, "meant") or not offer.needs_network or seen[offer.group] <= most:
            shown.append(offer)
    return shown


def meant(text: str, offers: Sequence[Suggestion]) -> list[Suggestion]:
    """Those of ``offers`` that the misspelled name ``text`` may mean, the nearest first."""
    from wizard.catalog.models import curated
    from wizard.model.names import similar

    models, by_ref = curated(), {offer.ref: offer for offer in offers}
    others = [ref for ref in by_ref if "/" not in ref]
    refs = [models[name].repo if name in models else name for name in similar(text, others)]
    return [replace(by_ref[ref], group="meant") for ref in refs if ref in by_ref and by_ref[ref].usable]
