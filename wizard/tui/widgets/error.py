"""An error, in place or as a notification: what happened, what to do, and the code to search for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from textual.app import App
from textual.content import Content
from textual.widgets import Static

from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.kernel.text import one_line, plain


class ErrorPanel(Static):
    """Hidden until there is an error to show."""

    DEFAULT_CSS = """
    ErrorPanel {
        display: none; height: auto; margin: 1 0 0 0; padding: 0 1;
        border-left: outer $error; background: $error 12%; color: $foreground;
    }
    """

    def show(self, error: WizardError | None, *, line: str = "", log: str = "", by_hand: str = "") -> None:
        """Show ``error``, or nothing.

        Args:
            error: The error.
            line: The line of a log with the cause; empty if there is none.
            log: The file with the complete log; empty if there is none.
            by_hand: What the user must run, in lines; empty if there is nothing.
        """
        self.display = error is not None
        if error is None:
            return
        lines = [Content.assemble((f"✗ {error.code} ", "bold $error"), (plain(error.what), "bold"))]
        if line:
            lines.append(Content.assemble(("│ ", "$error"), one_line(line)))
        lines.append(Content.assemble(("→ ", "$accent"), plain(error.todo)))
        if by_hand:
            lines.append(Content(by_hand))
        if log:
            lines.append(Content.assemble((tr("Full output: {path}", path=log), "$text-muted")))
        self.update(Content("\n").join(lines))
        self.call_after_refresh(self.scroll_visible, animate=False)  # a low terminal may not show it otherwise


@contextmanager
def errors_shown(app: App[Any]) -> Iterator[None]:
    """Show errors inside the block as a notification; execution continues after it."""
    try:
        yield
    except WizardError as error:
        app.notify(f"{error.what}\n{error.todo}", title=error.code, severity="error", markup=False)
