"""What differs between a report and another one of the same load: server, machine, programs, prompts. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from wizard.bench.report import Report
from wizard.kernel.language import mark, tr
from wizard.kernel.units import size
from wizard.texts.benchmark.words import unknown

TARGET = {
    "name": mark("Server"),
    "model": mark("Model"),
    "ref": mark("Model ID"),
    "url": mark("Address"),
    "api": mark("Requests"),
    "stack": mark("Stack"),
    "slots": mark("Requests at once"),
    "plan": mark("Plan"),
}
MACHINE = {
    "cpu": mark("Processor"),
    "cores": mark("Cores"),
    "memory_bytes": mark("Memory"),
    "gpus": mark("GPUs"),
    "driver": mark("Driver"),
    "os": mark("System"),
}
DATASET = {
    "kind": mark("Prompts"),
    "path": mark("File"),
    "sha256": mark("SHA-256"),
    "prompts": mark("Number of prompts"),
}


def differences(before: Report, now: Report) -> tuple[str, ...]:
    """A line for each of them; empty if both are of the same."""
    named = (
        *_fields(TARGET, before.target, now.target),
        *_items(before.target.setup, now.target.setup),
        *_fields(MACHINE, before.machine, now.machine),
        *_items(before.versions, now.versions),
        *_fields(DATASET, before.dataset, now.dataset),
    )
    return tuple(
        tr("{title}: {now}, was {before}", title=title, now=_text(is_now), before=_text(was))
        for title, was, is_now in named
        if was != is_now
    )


def _fields(names: dict[str, str], before: object, now: object) -> Iterator[tuple[str, object, object]]:
    for name, title in names.items():
        was, is_now = getattr(before, name), getattr(now, name)
        bytes_ = name == "memory_bytes"
        yield tr(title), size(was) if bytes_ else was, size(is_now) if bytes_ else is_now


def _items(before: dict[str, str], now: dict[str, str]) -> Iterator[tuple[str, object, object]]:
    for name in dict.fromkeys((*before, *now)):
        yield name, before.get(name, ""), now.get(name, "")


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or tr("none")
    return unknown() if value in (None, "") else str(value)
