"""Help: the purpose of the current stage, all its keys, and links to the documentation."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen

from wizard.kernel.language import tr
from wizard.kernel.text import table
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.chrome import STAGES, about, key_rows

DOCS = {"Advice": "docs/advice.md", "Review": "docs/stacks.md", "Chat": "docs/chat.md", "Bench": "docs/bench.md"}
"""Stage → its documentation page; for all others `WHOLE`."""
WHOLE = "docs/terminal.md"


def help_screen(screen: Screen[Any]) -> ReaderScreen:
    """The help for ``screen``."""
    parts = [tr(screen.HELP)] if isinstance(screen, StageScreen) and screen.HELP else []
    rows = key_rows(screen, hidden=True)
    for group in dict.fromkeys(row.binding.group for row in rows):
        lines = [(row.keys, about(row.binding)) for row in rows if row.binding.group == group]
        parts.append("\n".join([*([tr(group.description)] if group else []), table(lines, indent="  ")]))
    stage = screen.STAGE if isinstance(screen, StageScreen) else -1
    more = DOCS.get(STAGES[stage], WHOLE) if stage >= 0 else WHOLE
    parts.append(tr("More information: {path}", path=more))
    return ReaderScreen(tr("Help"), "\n\n".join(parts))
