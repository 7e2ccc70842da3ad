"""A step that fails with a known cause until the command of that cause has made a file.

``python -m tests.fixable prompts|screens FOLDER``: the wizard with this plan and the real engine; everything before the
run is answered by the fake journeys.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import AsyncGenerator, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.prompts.fake_journey import FakeJourney as FakeForPrompts
from tests.tui.fake_journey import FakeJourney as FakeForScreens
from tests.values import plan_of, python_step
from wizard import journey
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json
from wizard.plan.plan import Plan
from wizard.run.events import Event

LINE = "the part of this test is missing"
KNOWN = "part-of-a-test-missing"
NAME = "test"


@dataclass(frozen=True)
class Fixable:
    """The plan and the profiles in ``folder``."""

    folder: Path

    @property
    def part(self) -> Path:
        """What the step lacks."""
        return self.folder / "part"

    @property
    def profiles(self) -> Path:
        return self.folder / "profiles"

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.folder / "ws")

    @property
    def plan(self) -> Plan:
        """Its last step ends well; that no server was started is an error (TW-S02)."""
        code = f"import os, sys; os.path.exists({str(self.part)!r}) or sys.exit('error: {LINE}'); print('it is there')"
        return plan_of(self.workspace.root, python_step("one", code), name=NAME)

    def made(self, command: str, where: str = "machine", **changes: int) -> Fixable:
        """With profiles in which ``command`` is the fix, and ``changes`` avoid the failure, too."""
        fields = {"title": "Part missing", "cause": "It is not there.", "fix": "Make it.", "source": "this test"}
        more = {"command": command, "where": where, **{f"changes.{name}": value for name, value in changes.items()}}
        (self.profiles / "failures").mkdir(parents=True)
        table = "\n".join(f"{name} = {json.dumps(value)}" for name, value in {**fields, **more}.items())
        text = f'[{KNOWN}]\nlines = ["{LINE}"]\n{table}\n'
        (self.profiles / "failures" / "a-test.toml").write_text(text)
        (self.folder / "plan.json").write_text(to_json(self.plan))
        return self

    @property
    def environment(self) -> dict[str, str]:
        return {"TRITON_WIZARD_PROFILES": str(self.profiles)}


class FakeUpToTheRun:
    """The part of the journey that is real."""

    def run(
        self,
        plan: Plan,
        *,
        redo: Set[str] = frozenset(),
        skip: Set[str] = frozenset(),
        leaving: threading.Event | None = None,
    ) -> AsyncGenerator[Event, None]:
        return journey.run(plan, redo=redo, skip=skip, leaving=leaving)


class FakePrompts(FakeUpToTheRun, FakeForPrompts):  # type: ignore[misc]
    def __init__(self, fixable: Fixable) -> None:
        super().__init__(fixable.folder / "notes")
        self.fixable = fixable

    def plan(self, *about: Any, **given: Any) -> Plan:
        return self.fixable.plan


class FakeScreens(FakeUpToTheRun, FakeForScreens):  # type: ignore[misc]
    pass


def main() -> int:
    interface, folder = sys.argv[1:]
    fixable = Fixable(Path(folder))
    if interface == "prompts":
        from wizard.prompts.flow import run_prompts

        return run_prompts(fixable.workspace, answers={"model": "demo"}, journey=FakePrompts(fixable))
    from wizard.tui.app import WizardApp

    planned = replace(fixable.plan, name="demo")
    app = WizardApp(fixable.workspace, journey=FakeScreens(planned=planned), answers={"model": "demo"})
    return app.run() or 0


if __name__ == "__main__":
    os.environ.setdefault("TERM", "xterm-256color")
    sys.exit(main())
