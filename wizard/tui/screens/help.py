"""Help: what the present stage is for, and every key that works in it."""

from __future__ import annotations

from textual.app import App
from textual.screen import Screen

from wizard.kernel.text import table
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.stage import StageScreen


def help_screen(app: App[int], screen: Screen[object]) -> ReaderScreen:
    """The help for ``screen``."""
    about = screen.HELP if isinstance(screen, StageScreen) else ""
    keys: dict[str, tuple[str, str]] = {}
    for _node, binding, enabled, _tooltip in screen.active_bindings.values():
        if binding.show and enabled:
            keys.setdefault(binding.action, (app.get_key_display(binding), binding.description))
    more = "Tab and the arrow keys move; Ctrl+P opens the palette with themes and more."
    return ReaderScreen("Help", f"{about}\n\n{table(keys.values(), indent='  ')}\n\n{more}")
