"""The models offered on a machine: well-known ones, recipes, local ones, and search results.

Each comes with the facts known before a download, and whether it fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from wizard.kernel.errors import WizardError
from wizard.kernel.language import ntr, tr
from wizard.kernel.text import one_line
from wizard.kernel.units import count, size
from wizard.model.formats import disk_bytes

if TYPE_CHECKING:
    from wizard.advise.best import Estimate
    from wizard.advise.calibration import Calibration
    from wizard.advise.reasons import Reason
    from wizard.advise.verdict import Verdict
    from wizard.catalog.models import CuratedModel
    from wizard.model.facts import ModelFacts
    from wizard.probe.host import Host

_PARALLEL = 8
"""Number of models that the Hub is queried for at the same time."""
JUDGED = 3
"""Models of each size whose fit is determined at once; of the others on request: each takes about 50 ms."""
_ORDER = ("fits", "likely", "recipe", "tight", None, "no")
"""Of verdicts. ``likely``: no verdict yet, but it fits by its size; None: it may not."""
Group: TypeAlias = Literal["meant", "best", "included", "here", "large", "medium", "small"]


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
    active: int | None = None
    """Parameters that a token uses, if the model has experts."""
    date: str | None = None
    """Month of its release, or of its first mention: ``2026-04``."""
    gated: bool | None = None
    verdict: Verdict | None = None
    """Whether it fits this machine; None if unknown."""
    estimated: Estimate | None = None
    """Whether it suits this machine by its size alone; None if it is not in the catalog."""
    place: Literal["offered", "here", "hub"] = "offered"
    """Why it is in the list: it is well known, its weights are on this disk, or a search found it."""
    group: Group | None = None
    """The part of the list that it is in: its size, or why it is above all sizes."""
    downloads: int | None = None
    """Downloads from the Hub in the last 30 days, if a search reported them."""
    reachable: bool = True
    """Whether what is not on this machine can be downloaded now."""


def suggestions(
    host: Host, models: Path | None, *, offline: bool, ask: bool, past: Calibration | None = None
) -> list[Suggestion]:
    """Models to offer on ``host``: the recommended one, those on this disk, then all others by size.

    Args:
        host: The machine.
        models: The workspace's folder of downloaded weights, whose models are listed too.
        offline: Never access the Hub.
        ask: Whether to query the Hub for models without local facts (≤ 10 s); otherwise they are listed as if it
            responded.
        past: What was measured on this machine.
    """
    from wizard.catalog.recipes import recipes
    from wizard.model import on_disk
    from wizard.model.hub import access

    online = not offline and (not ask or access.reachable())
    silent = tr("the Hub is not contacted (--offline)") if offline else tr("the Hugging Face Hub does not respond")
    famous = _famous(host, past, silent, online=online, ask=ask)
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
    return _ordered(famous, ready, mine, online=online, silent=silent)


def _famous(host: Host, past: Calibration | None, silent: str, *, online: bool, ask: bool) -> list[Suggestion]:
    """The catalog's models, the most suitable first; those of each size that are likely to be chosen have verdicts."""
    from concurrent.futures import ThreadPoolExecutor

    from wizard.advise.best import estimates, room
    from wizard.advise.calibration import NOTHING
    from wizard.catalog.models import curated
    from wizard.model.shipped_configs import has_config

    models = curated()
    ranked, free = estimates(host, models, past or NOTHING), room(host).bytes
    judged: Counter[str] = Counter()
    chosen: set[str] = set()
    at_hand = ranked if online else sorted(ranked, key=lambda each: not has_config(models[each.name].repo))
    for each in at_hand:  # without the Hub only a bundled configuration leads to a verdict
        if each.fits and judged[models[each.name].size] < JUDGED:
            judged[models[each.name].size] += 1
            chosen.add(each.name)

    def look(estimate: Estimate) -> Suggestion:
        bare = _bare(free, models[estimate.name], estimate, usable=online, silent=silent)
        if estimate.name not in chosen:
            return bare
        try:
            return replace(with_verdict(host, bare, offline=True, past=past), reachable=online)
        except WizardError:
            if not online or not ask:
                return bare
        try:
            return with_verdict(host, bare, past=past)
        except WizardError as error:
            return replace(bare, usable=False, why_not=error.what)

    with ThreadPoolExecutor(max_workers=_PARALLEL) as pool:
        looked = list(pool.map(look, ranked))
    return sorted(looked, key=_key)  # stable: where verdict and pace do not decide, the estimates' order remains


def _key(suggestion: Suggestion) -> tuple[bool, int, bool]:
    """The order of the catalog's models; less is better."""
    estimated = suggestion.estimated
    likely = estimated is not None and estimated.fits
    rank = _ORDER.index(suggestion.verdict.word if suggestion.verdict else "likely" if likely else None)
    return not suggestion.usable, rank, _slow(suggestion)


def _bare(free: int, model: CuratedModel, estimate: Estimate, *, usable: bool, silent: str) -> Suggestion:
    """A model as the catalog describes it; a verdict only if no format of it fits in ``free`` bytes."""
    from wizard.advise.reasons import because
    from wizard.advise.verdict import Verdict

    least = model.parameters * LEAST_BITS // 8
    too_large = because("weights-and-free", weights_bytes=least, free_bytes=free)
    lacks = not estimate.fits and least > free
    return Suggestion(
        model.repo,
        model.title,
        tr(model.about) if model.about else "",
        model.licence,
        usable=usable and not lacks,
        why_not=too_large if lacks else None if usable else silent,
        parameters=model.parameters,
        active=model.active,
        date=model.date[:7],
        gated=model.gated,
        verdict=Verdict("no", too_large) if lacks else None,
        estimated=estimate,
        group=model.size,
    )


LEAST_BITS = 4
"""Bits per parameter of the smallest formats that are served."""


def _slow(suggestion: Suggestion) -> bool:
    """Whether it answers more slowly than people read: by its verdict, or else by its size."""
    from wizard.advise.best import READING_MS

    why = suggestion.verdict.why if suggestion.verdict else None
    pace = why.params.get("tpot_ms") if why else None
    if isinstance(pace, (int, float)):
        return pace > READING_MS
    return suggestion.estimated is not None and not suggestion.estimated.keeps_pace


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
    known: list[Suggestion], ready: list[Suggestion], mine: list[Suggestion], *, online: bool, silent: str
) -> list[Suggestion]:
    """The best one, those on this disk, then each size, the one with the best model first; recipes are small ones.

    ``known`` is in its order. If the first one is a recipe for want of the Hub, it says so.
    """

    def key(suggestion: Suggestion) -> tuple[bool, bool, int, bool]:
        unusable, rank, slow = _key(suggestion)
        least = _ORDER.index("recipe") if suggestion in recipes else 0
        return unusable, suggestion.needs_network and not online, max(rank, least), slow

    recipes = [replace(recipe, group="small") for recipe in ready]
    refs = {suggestion.ref for suggestion in (*known, *ready)}
    here = sorted((suggestion for suggestion in mine if suggestion.ref not in refs), key=key)
    first, *rest = sorted([*known, *recipes], key=key)
    if first.usable:
        why = "" if first in known else silent if not online else tr("no well-known model fits this machine")
        about = tr("First because {why}. {about}", why=why, about=first.about) if why else first.about
        first = replace(first, group="included" if why else "best", about=about)
    sizes = list(dict.fromkeys(suggestion.group for suggestion in rest))
    rest.sort(key=lambda suggestion: sizes.index(suggestion.group))
    others = [replace(suggestion, group="here") for suggestion in here]
    return [first, *others, *rest] if first.usable else [*others, first, *rest]


def search(text: str, *, offline: bool) -> list[Suggestion]:
    """Hub search results for ``text`` (≤ 10 s), without verdicts: see `with_verdict`.

    Raises:
        NetworkError: TW-M13, TW-M14 if it is not reachable.
    """
    from wizard.model.hub.search import search as search_hub

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
        for hit in search_hub(text, offline=offline)
    ]


def with_verdict(
    host: Host, suggestion: Suggestion, *, offline: bool = False, past: Calibration | None = None
) -> Suggestion:
    """``suggestion`` completed from its files, with whether it fits ``host`` (may access the Hub, ≤ 10 s).

    Raises:
        WizardError: See `wizard.model.source.find`.
    """
    from wizard.advise.advice import Constraints
    from wizard.advise.calibration import NOTHING
    from wizard.advise.ranking import advise
    from wizard.advise.verdict import verdict
    from wizard.model.source import find

    facts: ModelFacts = find(suggestion.ref, offline=offline)
    advice = advise(host, facts, Constraints(), past or NOTHING)
    checkpoint = advice.choices[0].checkpoint if advice.feasible else None
    other = checkpoint is not None and (checkpoint.file or checkpoint.ref != facts.location)
    chosen = checkpoint.bytes if checkpoint and other else None  # the plan fetches it instead
    return replace(
        suggestion,
        licence=suggestion.licence
        if (facts.licence or "").lower() in ("", (suggestion.licence or "").lower())
        else facts.licence,
        download_bytes=0 if facts.local else chosen or disk_bytes(facts),
        needs_network=not facts.local,
        usable=advice.feasible,
        why_not=None if advice.feasible else advice.rejections[0].reason,
        parameters=facts.parameters or suggestion.parameters,
        gated=facts.gated if facts.gated is not None else suggestion.gated,
        verdict=verdict(host, facts, advice),
    )


# -- in words ----------------------------------------------------------------------------------------------------------


def details(suggestion: Suggestion) -> list[str]:
    """The facts known before a download; unknown ones are omitted, except for the license."""
    fetched = tr("no weights to download")
    if suggestion.download_bytes is None:
        fetched = tr("size unknown") if suggestion.place != "hub" else ""
        if suggestion.estimated is not None:
            fetched = tr("about {size} to download", size=size(suggestion.estimated.bytes))
    elif suggestion.download_bytes:
        fetched = tr("{size} to download", size=size(suggestion.download_bytes))
    where = tr("on this machine") if suggestion.place == "here" else ""
    if suggestion.place == "hub":
        where = tr("on the Hub")
    elif suggestion.place == "offered":
        where = tr("works offline")
        if suggestion.needs_network:  # like everything that is downloaded
            known = suggestion.download_bytes or (suggestion.download_bytes is None and suggestion.estimated)
            where = "" if known and suggestion.reachable else tr("needs a network connection")
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
            _parameters(suggestion),
            suggestion.date or "",
            fetched,
            one_line(suggestion.licence) if suggestion.licence else tr("license unknown"),
            tr("gated: accept its license on the Hub") if suggestion.gated else "",
            where,
            tr("slower than most people read") if _slow(suggestion) else "",
            popular,
        )
        if part
    ]


def _parameters(suggestion: Suggestion) -> str:
    if suggestion.parameters is None:
        return ""
    if suggestion.active is None:
        return tr("{count} parameters", count=count(suggestion.parameters))
    return tr(
        "{count} parameters, {active} active", count=count(suggestion.parameters), active=count(suggestion.active)
    )
