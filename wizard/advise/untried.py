"""What is known of a choice on a processor that nothing was measured on. Pure."""

from __future__ import annotations

from dataclasses import replace

from wizard.advise.advice import Choice, Note
from wizard.catalog.environments import environment_of
from wizard.kernel.language import tr
from wizard.probe.host import Host

TRIED = "x86_64"
"""Where images and environments were tried, as the kernel names it."""
UNTRIED = "untried-processor"


def told(host: Host, choices: list[Choice]) -> list[Choice]:
    """``choices``, each with a warning if ``host`` has another processor."""
    machine = host.cpu.architecture
    if machine == TRIED:
        return choices
    return [replace(one, warnings=(*one.warnings, _note(one, machine))) for one in choices]


def _note(choice: Choice, machine: str) -> Note:
    if choice.runtime == "native":
        text = tr(
            "All packages of the environment exist for {machine}, but it was only tried there under emulation: the "
            "figures for memory and speed are from {tried}.",
            machine=machine,
            tried=TRIED,
        )
        return Note(UNTRIED, text, f"profiles/environments/{environment_of(choice.stack).pins}")
    image = f"nvcr.io/nvidia/tritonserver:{choice.release}"
    text = tr(
        "Not every image of Triton exists for {machine}, and nothing was tried there. `{command}` lists the processors "
        "of this one.",
        machine=machine,
        command=f"docker manifest inspect {image}",
    )
    return Note(UNTRIED, text, "https://github.com/triton-inference-server/server/issues/5717")
