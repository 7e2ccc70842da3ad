"""The list of models: what was found so far, which rows that makes, and what each of them says. Pure."""

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
from wizard.plan.offers import Suggestion, details
from wizard.texts import reasons
from wizard.texts.advise import verdict as words

SHORTEST = 2
"""Characters of a word that the hub is searched for."""
SIGNS = {"fits": ("✓", "$success"), "tight": ("◐", "$warning"), "no": ("✗", "$error")}
KINDS = {
    "folder": mark("a folder"),
    "model": mark("a model: it has a config.json"),
    "gguf": mark("a model in one file"),
}
Row: TypeAlias = Suggestion | Entry | str
"""A text stands for itself, as typed."""


@dataclass(frozen=True, slots=True)
class ModelView:
    """What is on the screen."""

    suggestions: tuple[Suggestion, ...] | None = None
    """None while they are being looked for."""
    text: str = ""
    """What was typed: a filter, or the name of a model."""
    reading: str | None = None
    """The model that is being read now."""
    error: WizardError | None = None
    notice: str = ""
    looking: bool = False
    """Whether the hub is still asked about the suggestions."""
    searching: bool = False
    searched: str | None = None
    """The text that the hub was searched for last; what it found is in ``found``."""
    matches: tuple[Suggestion, ...] = ()
    trouble: str = ""
    """Why the hub could not be searched."""
    judging: str | None = None
    """The model that is looked at now to see whether it fits."""
    judged: Mapping[str, Suggestion] = field(default_factory=dict)
    """Models of the hub of which that is known, by reference."""
    unjudged: Mapping[str, str] = field(default_factory=dict)
    """Models of which that cannot be said, and why."""
    entries: tuple[Entry, ...] = ()
    """What the path that was typed may go on with."""


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
    """Whether ``text`` looks like a path, a .gguf file or a hub id rather than like a word to filter by."""
    text = text.strip()
    return text.endswith(".gguf") or "/" in text or is_path(text)


def is_word(text: str) -> bool:
    """Whether the hub is searched for ``text``: it is long enough and no path."""
    return len(text.strip()) >= SHORTEST and not is_path(text)


def rows(view: ModelView) -> tuple[list[Row], int | None]:
    """What the list holds and where the cursor begins."""
    typed = view.text.strip()
    offered = matching(view.suggestions or (), view.text)
    refs = {suggestion.ref for suggestion in offered}
    offered_rows: list[Row] = [*offered]
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
    """What a row is known by when the list changes around it."""
    if isinstance(row, str):
        return f"={row}"
    return row.ref if isinstance(row, Suggestion) else row.path


def state(view: ModelView) -> str:
    """What goes on, in a line; empty if nothing does."""
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
    if view.error is None:  # else that says what to do, and how the search went is of no interest
        if view.trouble:
            return tr("! The Hub is not searched: {why}", why=one_line(view.trouble))
        if view.searched and view.searched == view.text.strip() and not view.matches:
            return tr("The Hub has no text model whose name contains {text}.", text=one_line(view.searched))
    if view.looking:
        return tr("◌ Getting more information about these models from the Hub …")
    return "" if rows(view)[0] else tr("No suggestions; type a model ID, a folder or a .gguf file.")


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
        return Content.assemble((f"  ◌ {tr('fits?')}", "$text-muted"))
    if why := view.unjudged.get(row.ref):
        return Content.assemble((f"  ? {tr('unknown whether it fits: {why}', why=one_line(why))}", "$text-muted"))
    return Content("")


def _judged(verdict: Verdict) -> Content:
    sign, style = SIGNS[verdict.word]
    word, why = words(verdict)
    return Content.assemble((f"  {sign} {word}", style), f": {one_line(why)}" if why else "")
