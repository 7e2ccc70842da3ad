"""Run the full-screen wizard in this process."""

from __future__ import annotations

import os
from typing import Any

from wizard.kernel.paths import Workspace
from wizard.tui.app import WizardApp


def run_tui(workspace: Workspace, **options: Any) -> int:
    """Run the full-screen wizard, with the options of `WizardApp`, and return the exit status."""
    if "TEXTUAL_DRIVER" not in os.environ:  # in a browser they are the size of the page
        for name in ("COLUMNS", "LINES"):  # set by a program around this one (as readline does), they hide resizes
            os.environ.pop(name, None)
    app = WizardApp(workspace, **options)
    result = app.run()
    return (app.return_code or 0) if result is None else result
