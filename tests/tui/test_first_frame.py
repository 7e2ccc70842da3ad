"""The first frame waits for nothing that it does not show."""

from __future__ import annotations

import subprocess
import sys

import pytest

LATER = [
    "wizard.advise",
    "wizard.model",
    "wizard.plan",
    "wizard.probe",
    "wizard.run",
    "wizard.chat",
    "wizard.serve",
    "pydantic",
]


@pytest.mark.parametrize("module", LATER)
def test_the_welcome_loads_no_later_stage(module: str) -> None:
    program = "import sys, wizard.tui.app, wizard.tui.screens.welcome; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in loaded if name == module or name.startswith(module + ".")] == []
