"""A server that may be there already."""

from __future__ import annotations

import os
from pathlib import Path

from tests.values import plan_of, python_step
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json
from wizard.plan.server_plan import latest_plan


def test_the_plan_that_was_carried_out_last_and_can_be_read(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    for at, name in enumerate(("old", "new", "damaged", "running")):
        folder = workspace.server(name)
        folder.root.mkdir(parents=True)
        made = plan_of(tmp_path, python_step("x", "pass"), name=name)
        folder.plan.write_text(to_json(made) if name != "damaged" else "{", encoding="utf-8")
        os.utime(folder.plan, (at, at))
    workspace.server("empty").root.mkdir()
    plan = latest_plan(workspace, ["empty", "new", "damaged", "old"])
    assert plan is not None
    assert plan.name == "new"
    assert latest_plan(workspace, ["empty", "damaged", "never"]) is None
