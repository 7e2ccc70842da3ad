"""The list of models: the results so far, their rows, and the texts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from textual.content import Content

from wizard.advise.verdict import Verdict
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.model.on_disk import Entry
from wizard.plan.offer_list import headers, meant
from wizard.plan.offers import Suggestion, details
from wizard.texts import reasons
from wizard.texts.advise import verdict as words

SHORTEST = 2
"""Minimum length of a word for a Hub search."""
SIGNS = {"fits": ("✓", "$success"), "tight": ("◐", "$warning"), "no": ("✗", "$error")}
KINDS = {
    "folder": mark("a folder"),
    "model": mark("a model: it has a config.json"),
    "gguf": mark("a model in one file"),
}
Row: TypeAlias = Suggestion | Entry | str
"""A string represents itself, as typed."""


@dataclass(frozen=True, slots=True)
class ModelView:
    """The state of the screen."""

    suggestions: tuple[Suggestion, ...] | None = None
    """None until they are found."""
    text: str = ""
    """The typed text: a filter, or a model reference."""
    reading: str | None = None
    """The model that is being inspected."""
    error: WizardError | None = None
    notice: str = ""
    looking: bool = False
    """Whether the Hub is still being queried for the suggestions."""
    searching: bool = False
    searched: str | None = None
    """The text of the last Hub search, whose results are in ``matches``."""
    matches: tuple[Suggestion, ...] = ()
    trouble: str = ""
    """Why the Hub could not be searched."""
    judging: str | None = None
    """The model whose verdict is being determined."""
    judged: Mapping[str, Suggestion] = field(default_factory=dict)
    """Models on the Hub with a verdict, by reference."""
    unjudged: Mapping[str, str] = field(default_factory=dict)
    """Models without a verdict, and the reason."""
    entries: tuple[Entry, ...] = ()
    """Completions of the typed path."""


def matching(suggestions: Sequence[Suggestion], text: str) -> list[Suggestion]:
    """The suggestions that contain every word of ``text``."""
    words = text.lower().split()
    return [
        suggestion
        for suggestion in suggestions
        if all(word in f"{suggestion.ref} {suggestion.title} {suggestion.about}".lower() for word in words)
    ]


def is_path(text: str) -> bool:
    """Whether ``text`` is the beginning of a path."""
    return text.strip().startswith(("~", ".", "/"))


def is_reference(text: str) -> bool:
    """Whether ``text`` looks like a path, a .gguf file or a model ID rather than a filter word."""
    text = text.strip()
    return text.endswith(".gguf") or "/" in text or is_path(text)


def is_word(text: str) -> bool:
    """Whether to search the Hub for ``text``: it is long enough and not a path."""
    return len(text.strip()) >= SHORTEST and not is_path(text)


def rows(view: ModelView) -> tuple[list[Row], int | None]:
    """The rows of the list, and the initial cursor."""
    typed = view.text.strip()
    known = view.suggestions or ()
    offered = matching(known, view.text) or (meant(typed, known) if typed and not is_path(typed) else [])
    refs = {suggestion.ref for suggestion in offered}
    offered_rows: list[Row] = [view.judged.get(suggestion.ref, suggestion) for suggestion in offered]
    if view.searched == typed:
        offered_rows += [
            view.judged.get(suggestion.ref, suggestion) for suggestion in view.matches if suggestion.ref not in refs
        ]
    if is_path(typed):
        offered_rows = [typed, *view.entries]
    elif typed:
        offered_rows = [typed, *offered_rows] if is_reference(typed) else [*offered_rows, typed]
    first = next((i for i, row in enumerate(offered_rows) if not isinstance(row, Suggestion) or row.usable), None)
    return offered_rows, first


def name(row: Row) -> str:
    """A stable key for a row when the list changes around it."""
    if isinstance(row, str):
        return f"={row}"
    return row.ref if isinstance(row, Suggestion) else row.path


def state(view: ModelView) -> str:
    """The current activity, in a line; empty if there is none."""
    return _waiting(view) or _outcome(view)


def _waiting(view: ModelView) -> str:
    if view.reading is not None:
        return tr("◌ Reading {model} … (press Esc to stop waiting)", model=one_line(view.reading))
    if view.notice:
        return f"! {one_line(view.notice)}"
    if view.suggestions is None:
        return tr("◌ Looking for models that suit this machine … (you can already type a name)")
    if view.searching:
        return tr("◌ Searching the Hub for {text} …", text=one_line(view.text.strip()))
    return ""


def _outcome(view: ModelView) -> str:
    if view.error is None:  # otherwise that text has the remedy, and the search is irrelevant
        if view.trouble:
            return tr("! Hub search is unavailable: {why}", why=one_line(view.trouble))
        if view.searched and view.searched == view.text.strip() and not view.matches:
            return tr("The Hub has no text model whose name contains {text}.", text=one_line(view.searched))
    if view.looking:
        return tr("◌ Getting more information about these models from the Hub …")
    return "" if rows(view)[0] else tr("No suggestions; type a model ID, a folder or a .gguf file.")


def contents(rows: Sequence[Row], view: ModelView) -> list[Content]:
    """The rows of the list; the first one of a group has its title above it."""
    offers = [row for row in rows if isinstance(row, Suggestion)]
    titles = dict(zip(map(name, offers), headers(offers), strict=True))
    return [
        Content.assemble((title, "bold $secondary"), "\n", content(row, view))
        if (title := titles.get(name(row), ""))
        else content(row, view)
        for row in rows
    ]


def content(row: Row, view: ModelView) -> Content:
    """A row of the list."""
    if isinstance(row, str):
        return Content.assemble(
            (tr("Use {model}", model=one_line(row)), "bold $accent"),
            "\n",
            (
                tr("as a folder or a .gguf file") if is_path(row) else tr("as a model ID, a folder or a .gguf file"),
                "$text-muted",
            ),
        )
    if isinstance(row, Entry):
        return Content.assemble((one_line(row.path), "bold"), f"  {tr(KINDS[row.kind])}")
    best = next((suggestion for suggestion in view.suggestions or () if suggestion.usable), None)
    star = f"★ {tr('recommended')} · " if row is best and not view.looking else ""
    title = Content.assemble((one_line(row.title), "bold"), _verdict(row, view))
    lines = [title, Content.assemble((star, "$accent"), (" · ".join(details(row)), "$secondary"))]
    if not row.usable and row.verdict is None:
        why = one_line(reasons.text(row.why_not or ""))
        lines.append(Content.assemble(("✗ ", "$error"), tr("not possible: {why}", why=why)))
    return Content("\n").join(lines)


def _verdict(row: Suggestion, view: ModelView) -> Content:
    if row.verdict is not None:
        return _judged(row.verdict)
    if row.ref == view.judging:
        return Content.assemble((f"  ◌ {tr('checking whether it fits')}", "$text-muted"))
    if why := view.unjudged.get(row.ref):
        reason = tr("could not check whether it fits: {why}", why=one_line(why))
        return Content.assemble((f"  ? {reason}", "$text-muted"))
    return Content("")


def _judged(verdict: Verdict) -> Content:
    sign, style = SIGNS[verdict.word]
    word, why = words(verdict)
    return Content.assemble((f"  {sign} {word}", style), f": {one_line(why)}" if why else "")
