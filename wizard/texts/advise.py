"""The texts of the advice, in the current language."""

from __future__ import annotations

from wizard.advise.advice import Rejection
from wizard.advise.reasons import Note
from wizard.advise.refusals import Refusal
from wizard.advise.titles import format_title, stack_title
from wizard.advise.verdict import Verdict
from wizard.catalog.stacks import cpu_stacks
from wizard.kernel.language import tr
from wizard.texts import notes, reasons

SPLIT = ("memory", "context", "users", "group", "split", "gpus", "mig", "max-gpus")
"""Codes of rejections that a different split over GPUs may not have."""


def note(note: Note) -> str:
    """A reason or a warning."""
    known = notes.NOTES.get(note.code, note.code)
    values = reasons.fields(note.params)
    return " ".join(filter(None, known(note.params, values))) if callable(known) else tr(known, **values)


def source(note: Note) -> str | None:
    """The source of the fact; None if there is none."""
    return note.source or notes.source(note.code, note.params)


def verdict(verdict: Verdict) -> tuple[str, str]:
    """Whether a model fits, in a word, and the reason."""
    words = {"fits": tr("fits"), "tight": tr("tight"), "no": tr("not possible")}
    return words[verdict.word], reasons.brief(verdict.why) if verdict.why else ""


# -- what does not work ------------------------------------------------------------------------------------------------


def setups(refusal: Refusal) -> str:
    """``vLLM, TensorRT-LLM · FP8; Transformers · INT4 AWQ``; with the split if that is the cause: ``… with tp 2``."""
    group = refusal.rejections
    splits = {
        at: _split(rejection)
        for at, rejection in enumerate(group)
        if rejection.code in SPLIT and rejection.stack not in cpu_stacks()
    }
    common = len(set(splits.values())) == 1
    formats: dict[str, list[str]] = {}
    for at, rejection in enumerate(group):
        title = format_title(rejection.quantization) if rejection.quantization else ""
        if not common and at in splits:
            title = tr("{ways} with {split}", ways=title, split=splits[at])
        names = formats.setdefault(stack_title(rejection.stack), [])
        if title and title not in names:
            names.append(title)
    stacks: dict[str, list[str]] = {}
    for name, titles in formats.items():
        stacks.setdefault(", ".join(titles), []).append(name)
    each = (f"{', '.join(names)} · {titles}" if titles else ", ".join(names) for titles, names in stacks.items())
    setups = "; ".join(each)
    return tr("{ways} with {split}", ways=setups, split=next(iter(splits.values()))) if common else setups


def _split(rejection: Rejection) -> str:
    return f"tp {rejection.tp}" + (f" × pp {rejection.pp}" if rejection.pp > 1 else "")
