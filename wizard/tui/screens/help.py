"""Help: what the present stage is for, and every key that works in it."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.screen import Screen

from wizard.kernel.text import table
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.chrome import shown_bindings


def help_screen(app: App[int], screen: Screen[Any]) -> ReaderScreen:
    """The help for ``screen``."""
    about = f"{screen.HELP}\n\n" if isinstance(screen, StageScreen) else ""
    keys = [(app.get_key_display(binding), binding.description.capitalize()) for binding in shown_bindings(screen)]
    return ReaderScreen("Help", about + table(keys, indent="  "))
