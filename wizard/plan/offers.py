"""The models offered on a machine: well-known ones, recipes, local ones, and search results.

Each comes with the facts known before a download, and whether it fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from wizard.kernel.errors import WizardError
from wizard.kernel.language import ntr, tr
from wizard.kernel.text import one_line
from wizard.kernel.units import count, size

if TYPE_CHECKING:
    from wizard.advise.reasons import Reason
    from wizard.advise.verdict import Verdict
    from wizard.catalog.models import CuratedModel
    from wizard.model.facts import ModelFacts
    from wizard.probe.host import Host

_PARALLEL = 8
"""Number of models that the Hub is queried for at the same time."""
_ORDER = ("fits", None, "tight", "no")
"""Of verdicts; None: not known yet."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A model to offer: the reference for `wizard.journey.model`, and the facts known before a download."""

    ref: str
    title: str
    about: str = ""
    licence: str | None = None
    download_bytes: int | None = None
    needs_network: bool = True
    usable: bool = True
    """Whether it can be chosen."""
    why_not: Reason | str | None = None
    parameters: int | None = None
    gated: bool | None = None
    verdict: Verdict | None = None
    """Whether it fits this machine; None if unknown."""
    place: Literal["offered", "here", "hub"] = "offered"
    """Why it is in the list: it is well known, its weights are on this disk, or a search found it."""
    downloads: int | None = None
    """Downloads from the Hub in the last 30 days, if a search reported them."""


def suggestions(host: Host, models: Path | None, *, offline: bool, ask: bool) -> list[Suggestion]:
    """Models to offer on ``host``, the recommended one first.

    Args:
        host: The machine.
        models: The workspace's folder of downloaded weights, whose models are listed too.
        offline: Never access the Hub.
        ask: Whether to query the Hub for models without local facts (≤ 10 s); otherwise they are listed as if it
            responded.
    """
    from concurrent.futures import ThreadPoolExecutor

    from wizard.catalog.models import curated
    from wizard.catalog.recipes import recipes
    from wizard.model import hub, on_disk

    online = not offline and (not ask or hub.reachable())
    silent = tr("the Hub is not contacted (--offline)") if offline else tr("the Hugging Face Hub does not respond")

    def look(model: CuratedModel) -> Suggestion:
        bare = Suggestion(
            model.ref, model.title, tr(model.about), model.licence, parameters=model.parameters, gated=model.gated
        )
        try:
            return with_verdict(host, bare, offline=True)
        except WizardError:
            if not online:
                return replace(bare, usable=False, why_not=silent)
        if not ask:
            return bare
        try:
            return with_verdict(host, bare)
        except WizardError as error:
            return replace(bare, usable=False, why_not=error.what)

    usable_models = [model for model in curated() if model.on == "cpu" or host.gpus]
    usable_models.sort(key=lambda model: model.on != "gpu")  # with a GPU its own models first
    with ThreadPoolExecutor(max_workers=_PARALLEL) as pool:
        famous = list(pool.map(look, usable_models))
    own = [recipe for recipe in recipes() if recipe.model_in_profiles]
    ready = [
        _local(
            host,
            Suggestion(recipe.name, tr(recipe.title), tr(recipe.about), needs_network=recipe.needs_network),
            silent,
        )
        for recipe in own
    ]
    copies = {Path(recipe.model).name for recipe in own}  # serving one leaves a copy of it in the workspace
    refs = [] if models is None else on_disk.stored_models(models)
    mine = _here(host, [ref for ref in refs if Path(ref).name not in copies])
    return _ordered(famous, ready, mine, online=online)


def _here(host: Host, refs: Iterable[str]) -> list[Suggestion]:
    """Models whose weights are on this disk; unreadable ones are omitted."""
    suggestions: list[Suggestion] = []
    for ref in refs:
        title = Path(ref).name if ref.startswith("/") else ref
        try:
            suggestions.append(with_verdict(host, Suggestion(ref, title, place="here"), offline=True))
        except WizardError:
            continue
    return suggestions


def _local(host: Host, suggestion: Suggestion, silent: str) -> Suggestion:
    """A recipe with a bundled model."""
    try:
        return with_verdict(host, suggestion, offline=True)
    except WizardError as error:
        return replace(
            suggestion, needs_network=True, usable=False, why_not=silent if suggestion.needs_network else error.what
        )


def _ordered(
    known: list[Suggestion], ready: list[Suggestion], mine: list[Suggestion], *, online: bool
) -> list[Suggestion]:
    """Models that fit first, each kind in its own order, then recipes; local ones come after the first."""

    def key(suggestion: Suggestion) -> tuple[bool, bool, int]:
        rank = _ORDER.index(suggestion.verdict.word if suggestion.verdict else None)
        return (
            not suggestion.usable,
            suggestion.needs_network and not online,
            max(rank, _ORDER.index(None)) if suggestion in ready else rank,
        )

    refs = {suggestion.ref for suggestion in (*known, *ready)}
    others = sorted((suggestion for suggestion in mine if suggestion.ref not in refs), key=key)
    first, *rest = sorted([*known, *ready], key=key)
    return [first, *others, *rest] if first.usable else [*others, first, *rest]


def search(text: str, *, offline: bool) -> list[Suggestion]:
    """Hub search results for ``text`` (≤ 10 s), without verdicts: see `with_verdict`.

    Raises:
        NetworkError: TW-M13, TW-M14 if it is not reachable.
    """
    from wizard.model import hub

    return [
        Suggestion(
            hit.repo,
            hit.repo,
            licence=hit.licence,
            parameters=hit.parameters,
            gated=hit.gated,
            place="hub",
            downloads=hit.downloads,
        )
        for hit in hub.search(text, offline=offline)
    ]


def with_verdict(host: Host, suggestion: Suggestion, *, offline: bool = False) -> Suggestion:
    """``suggestion`` completed from its files, with whether it fits ``host`` (may access the Hub, ≤ 10 s).

    Raises:
        WizardError: See `wizard.model.source.find`.
    """
    from wizard.advise.advice import Constraints
    from wizard.advise.ranking import advise
    from wizard.advise.verdict import verdict
    from wizard.model.source import find

    facts: ModelFacts = find(suggestion.ref, offline=offline)
    advice = advise(host, facts, Constraints())
    return replace(
        suggestion,
        licence=suggestion.licence
        if (facts.licence or "").lower() in ("", (suggestion.licence or "").lower())
        else facts.licence,
        download_bytes=0 if facts.local else _to_fetch(facts),
        needs_network=not facts.local,
        usable=advice.feasible,
        why_not=None if advice.feasible else advice.rejections[0].reason,
        parameters=facts.parameters or suggestion.parameters,
        gated=facts.gated if facts.gated is not None else suggestion.gated,
        verdict=verdict(host, facts, advice),
    )


def _to_fetch(facts: ModelFacts) -> int | None:
    """Size of the weight files, or of the weights themselves if the files are unknown."""
    sizes = [file.bytes for file in facts.weights]
    if not sizes or None in sizes:
        return facts.weight_bytes
    return sum(filter(None, sizes))


# -- in words ----------------------------------------------------------------------------------------------------------


def details(suggestion: Suggestion) -> list[str]:
    """The facts known before a download; unknown ones are omitted, except for the license."""
    fetched = tr("no weights to download")
    if suggestion.download_bytes is None:
        fetched = tr("size unknown") if suggestion.place != "hub" else ""
    elif suggestion.download_bytes:
        fetched = tr("{size} to download", size=size(suggestion.download_bytes))
    where = tr("on this machine") if suggestion.place == "here" else ""
    if suggestion.place == "hub":
        where = tr("on the Hub")
    elif suggestion.place == "offered":
        where = tr("works offline")
        if suggestion.needs_network:  # like everything that is downloaded
            where = "" if suggestion.download_bytes else tr("needs a network connection")
    popular = (
        ""
        if suggestion.downloads is None
        else ntr(
            "{count} download in the last 30 days",
            "{count} downloads in the last 30 days",
            suggestion.downloads,
            count=count(suggestion.downloads),
        )
    )
    return [
        part
        for part in (
            "" if suggestion.parameters is None else tr("{count} parameters", count=count(suggestion.parameters)),
            fetched,
            one_line(suggestion.licence) if suggestion.licence else tr("license unknown"),
            tr("gated: accept its license on the Hub") if suggestion.gated else "",
            where,
            popular,
        )
        if part
    ]
