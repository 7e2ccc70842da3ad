"""FakeAiperf where AIPerf's environment would be, recorded as made, so that nothing is installed."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from wizard import journey
from wizard.bench import environment
from wizard.kernel.paths import Workspace
from wizard.run.events import StepFinished
from wizard.run.journal import Journal, made

PROGRAM = Path(__file__).with_name("fake_aiperf.py")


def install(workspace: Workspace) -> None:
    """Put it there."""
    venv = environment.of(journey.probe(workspace), workspace)
    step = environment.step(venv)
    folder = venv.root / "bin"
    folder.mkdir(parents=True)
    Path(venv.python).touch()
    (venv.root / "complete").touch()
    program = folder / "aiperf"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{PROGRAM}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    event = StepFinished(step.id, "done", 1.0, "", time.time(), step.fingerprint, made(step))
    Journal(workspace.journal).add(environment.JOURNAL, event)
