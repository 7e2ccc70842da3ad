"""Warnings for a choice on a processor that was not tested. Pure."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise.advice import Choice
from wizard.advise.reasons import Note
from wizard.catalog.environments import environment_of
from wizard.probe.host import Host

TRIED = "x86_64"
"""Processors on which images and environments were tested, by the kernel's names."""
UNTRIED = "untried-processor"
IMAGES = "https://github.com/triton-inference-server/server/issues/5717"
"""Source for images that do not exist for every processor."""


def with_notes(host: Host, choices: list[Choice]) -> list[Choice]:
    """``choices``, each with a warning if ``host`` has another processor."""
    machine = host.cpu.architecture
    if machine == TRIED:
        return choices
    return [replace(choice, warnings=(*choice.warnings, _note(choice, machine))) for choice in choices]


def _note(choice: Choice, machine: str) -> Note:
    if choice.runtime == "native":
        values = {"machine": machine, "tried": TRIED}
        return Note(UNTRIED, values, f"profiles/environments/{environment_of(choice.stack).pins}")
    image = f"nvcr.io/nvidia/tritonserver:{choice.release}"
    return Note(UNTRIED, {"machine": machine, "image": image}, IMAGES)
