"""Run as ``python -m tests.tui.in_terminal WORKSPACE``: the wizard with a real engine, in a terminal of its own.

Everything up to the plan is answered by the fake journey; the plan's only step waits for a long time, in a process
group with a grandchild.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from tests.fixable import FakeUpToTheRun
from tests.tui.fake_journey import FakeJourney
from tests.tui.values import plan
from wizard.kernel.paths import Workspace
from wizard.plan.plan import Command
from wizard.tui.app import WizardApp

WAITING = Command(("sh", "-c", "sleep 600 & echo it waits; wait"))


class FakeScreens(FakeUpToTheRun, FakeJourney):  # type: ignore[misc]
    pass


def main() -> int:
    workspace = Workspace(Path(sys.argv[1]))
    made = plan()
    made = replace(made, workspace=str(workspace.root), steps=(replace(made.steps[0], actions=(WAITING,)),))
    return WizardApp(workspace, journey=FakeScreens(planned=made), answers={"model": "demo"}).run() or 0


if __name__ == "__main__":
    sys.exit(main())
