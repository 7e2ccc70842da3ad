"""What does not work here, in groups, and what would help: as words, and as the wishes that it changes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wizard.advise import report
from wizard.advise.advice import Rejection
from wizard.advise.compatibility import OR
from wizard.catalog.stacks import cpu_stacks
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line

SPLIT = ("memory", "context", "users", "group", "split", "gpus", "mig", "max-gpus")
"""Codes of rejections that another split over GPUs may not have."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Ways that fail for one reason and have one remedy."""

    ways: str
    """``vLLM, TensorRT-LLM · FP8; Transformers · INT4 AWQ``; with the split where that fails: ``… with tp 2``."""
    text: str
    remedy: str


def grouped(rejections: Iterable[Rejection]) -> tuple[Refusal, ...]:
    """Rejections in groups of one kind and one remedy; a group has the reason of its first."""
    groups: dict[tuple[str, str], list[Rejection]] = {}
    for one in rejections:
        groups.setdefault((one.code, one.remedy), []).append(one)
    return tuple(Refusal(_ways(group), group[0].text, group[0].remedy) for group in groups.values())


def _ways(group: Sequence[Rejection]) -> str:
    splits = {
        one: f"tp {one.tp}" + (f" × pp {one.pp}" if one.pp > 1 else "")
        for one in group
        if one.code in SPLIT and one.stack not in cpu_stacks()
    }
    common = len(set(splits.values())) == 1
    formats: dict[str, list[str]] = {}
    for one in group:
        title = report.format_title(one.quantization) if one.quantization else ""
        if not common and one in splits:
            title = tr("{ways} with {split}", ways=title, split=splits[one])
        names = formats.setdefault(report.stack(one.stack), [])
        if title and title not in names:
            names.append(title)
    stacks: dict[str, list[str]] = {}
    for name, titles in formats.items():
        stacks.setdefault(", ".join(titles), []).append(name)
    each = (f"{', '.join(names)} · {titles}" if titles else ", ".join(names) for titles, names in stacks.items())
    ways = "; ".join(each)
    return tr("{ways} with {split}", ways=ways, split=next(iter(splits.values()))) if common else ways


_FLAG = re.compile(r"--([a-z-]+) ([\w.-]+)(?=[\s,]|$)", re.ASCII)
"""A flag with its value, in a remedy of any language."""
_WISHES = {"max_len": int, "users": int, "tp": int, "pp": int, "max_gpus": int, "gpu_memory_utilization": float}


def remedy_wishes(remedy: str) -> dict[str, object]:
    """What the remedy's first way would change of the wishes; empty if it is not a matter of wishes.

    A wish to be taken back is None.
    """
    first = remedy.split(tr(OR), maxsplit=1)[0]
    found: dict[str, object] = {name: None for name in _GIVEN_UP if first == _without(name)}
    for flag, value in _FLAG.findall(first):
        name = flag.replace("-", "_")
        if name in _WISHES:
            found[name] = _WISHES[name](value)
        elif name in ("quantization", "stack", "kv_dtype", "release", "runtime"):
            found[name] = value
    return found


_GIVEN_UP = {
    "release": mark("the newest release"),
    "runtime": mark("the runtime that the wizard chooses"),
    "engine_python": mark("an engine that the wizard installs"),
}
"""Wish that a remedy may take back → what there is then."""


def _without(name: str) -> str:
    return tr("without {flag}", flag=f"--{name.replace('_', '-')}")


_WORDS = {
    "max-len": mark("context {value}"),
    "users": mark("{value} users"),
    "max-gpus": mark("{value} GPUs"),
    "kv-dtype": mark("KV cache {value}"),
    "gpu-memory-utilization": mark("{value} of the GPU's memory"),
}


def remedy_words(remedy: str) -> str:
    """The remedy without the command line's flags, for doors that have none: ``INT4 AWQ · tp 4``."""

    def said(found: re.Match[str]) -> str:
        flag, value = found.groups()
        number = f"{int(value):,}" if value.isdecimal() else value
        if flag == "runtime":
            return value
        if flag in ("quantization", "stack"):
            return report.format_title(value) if flag == "quantization" else report.stack(value)
        return tr(_WORDS[flag], value=number) if flag in _WORDS else f"{flag} {value}"

    for name, instead in _GIVEN_UP.items():
        remedy = remedy.replace(_without(name), tr(instead))
    return one_line(_FLAG.sub(said, re.sub(r"(--[a-z-]+ [^\s,]+) (?=--[a-z-]+ )", r"\1 · ", remedy)))
