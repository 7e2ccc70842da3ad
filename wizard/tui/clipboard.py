"""Copying, and its notification: a terminal without clipboard support has copied nothing."""

from __future__ import annotations

from typing import Any

from textual.app import App

from wizard.kernel import clipboard
from wizard.kernel.language import tr


def copy(app: App[Any], text: str, message: str, *, instead: str = "") -> None:
    """Put ``text`` into the clipboard of the terminal, or of the browser.

    Args:
        app: The app, which knows the clipboard.
        text: The text to copy.
        message: The notification.
        instead: An alternative to show if there is no clipboard support.
    """
    app.copy_to_clipboard(text)
    if clipboard.missing() and not app.is_web:
        why = tr("This terminal does not support clipboard copy (OSC 52).")
        app.notify(" ".join(filter(None, (why, instead))), severity="warning", timeout=6, markup=False)
    else:
        app.notify(message, timeout=2, markup=False)
