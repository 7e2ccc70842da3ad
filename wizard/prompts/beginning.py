"""What the prompts begin with, once the machine is known: what keeps it from serving, and how to leave."""

from __future__ import annotations

from wizard.flow.port import JourneyPort
from wizard.kernel.language import mark, tr
from wizard.kernel.paths import Workspace
from wizard.kernel.program import pasteable
from wizard.probe.host import Host
from wizard.texts.doctor.report import headline


def text(journey: JourneyPort, workspace: Workspace, host: Host) -> str:
    """One line about problems, if this machine has any that the checks that only read files find."""
    lines = [tr("Press Ctrl-C to exit at any time; your answers are saved.") + "\n"]
    worst = headline(journey.doctor(workspace, host, quick=True)) if host.is_here else None
    if worst:
        status, problem = worst
        word = mark("Problem: {text}") if status == "fail" else mark("Warning: {text}")
        details = pasteable(tr("For details and fixes, run `triton-wizard doctor`."), workspace)
        lines = [tr(word, text=problem), details + "\n", *lines]
    return "\n".join(lines)
