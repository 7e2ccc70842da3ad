"""What the advice says, in the present language."""

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
"""Codes of rejections that another split over GPUs may not have."""


def note(one: Note) -> str:
    """A reason or a warning."""
    known = notes.NOTES.get(one.code, one.code)
    values = reasons.fields(one.params)
    return " ".join(filter(None, known(one.params, values))) if callable(known) else tr(known, **values)


def source(one: Note) -> str | None:
    """Where the fact is from; None if nothing says."""
    return one.source or notes.source(one.code, one.params)


def verdict(one: Verdict) -> tuple[str, str]:
    """Whether a model fits, in a word, and why."""
    words = {"fits": tr("fits"), "tight": tr("tight"), "no": tr("not possible")}
    return words[one.word], reasons.brief(one.why) if one.why else ""


# -- what does not work ------------------------------------------------------------------------------------------------


def ways(refusal: Refusal) -> str:
    """``vLLM, TensorRT-LLM · FP8; Transformers · INT4 AWQ``; with the split where that fails: ``… with tp 2``."""
    group = refusal.rejections
    splits = {at: _split(one) for at, one in enumerate(group) if one.code in SPLIT and one.stack not in cpu_stacks()}
    common = len(set(splits.values())) == 1
    formats: dict[str, list[str]] = {}
    for at, one in enumerate(group):
        title = format_title(one.quantization) if one.quantization else ""
        if not common and at in splits:
            title = tr("{ways} with {split}", ways=title, split=splits[at])
        names = formats.setdefault(stack_title(one.stack), [])
        if title and title not in names:
            names.append(title)
    stacks: dict[str, list[str]] = {}
    for name, titles in formats.items():
        stacks.setdefault(", ".join(titles), []).append(name)
    each = (f"{', '.join(names)} · {titles}" if titles else ", ".join(names) for titles, names in stacks.items())
    said = "; ".join(each)
    return tr("{ways} with {split}", ways=said, split=next(iter(splits.values()))) if common else said


def _split(one: Rejection) -> str:
    return f"tp {one.tp}" + (f" × pp {one.pp}" if one.pp > 1 else "")
