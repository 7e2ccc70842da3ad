"""A failed build in the place where it happened: what failed, which line says why, what to do, where all of it is."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from wizard.kernel.language import tr
from wizard.kernel.text import one_line, plain
from wizard.tui.views.build import Diagnosis


class DiagnosisCard(Static):
    """Hidden until something failed."""

    DEFAULT_CSS = """
    DiagnosisCard {
        display: none; height: auto; margin: 1 0 0 0; padding: 0 1;
        border-left: outer $error; background: $error 12%; color: $foreground;
    }
    """

    def show(self, found: Diagnosis | None) -> None:
        """Show ``found``, or nothing."""
        self.display = found is not None
        if found is None:
            return
        lines = [Content.assemble((f"✗ {found.code} ", "bold $error"), (plain(found.what), "bold"))]
        if found.line:
            lines.append(Content.assemble(("│ ", "$error"), one_line(found.line)))
        lines.append(Content.assemble(("→ ", "$accent"), plain(found.todo)))
        if found.log:
            lines.append(Content.assemble((tr("Whole output: {path}", path=found.log), "$text-muted")))
        self.update(Content("\n").join(lines))
        self.call_after_refresh(self.scroll_visible, animate=False)  # a low terminal may not show it otherwise
