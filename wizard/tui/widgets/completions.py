"""What Tab completes: commands, prompts, names of files."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from textual import work
from textual.content import Content
from textual.widgets import Static

from wizard.tui import background, slash
from wizard.tui.widgets.picker import BLANK, POINTER
from wizard.tui.widgets.prompt import Prompt


class Completions(Static):
    """Possible ends of the text before the cursor of ``prompt``; the first one is what Tab takes."""

    DEFAULT_CSS = """
    Completions { height: auto; max-height: 5; padding: 0 2; color: $text-muted; display: none; }
    """

    def __init__(self, prompt: Prompt) -> None:
        super().__init__(id="completions")
        self._prompt = prompt
        self._candidates: list[tuple[str, str]] = []
        self._typed = ""
        """The text that they complete."""

    def look(self) -> None:
        """Look for completions if the text before the cursor has changed."""
        typed = slash.to_complete(self._prompt.before_cursor)
        if typed != self._typed:
            self._typed = typed
            self._prompt.set_completes(False)
            self._find(typed)

    @work(exclusive=True, group="completions")
    async def _find(self, typed: str) -> None:
        candidates = await background.call(partial(slash.candidates, typed, Path())) if typed else []
        self._show([] if candidates and candidates[0][0] == typed else candidates)

    def _show(self, candidates: list[tuple[str, str]]) -> None:
        self._candidates = candidates
        lines = [f"{BLANK if at else POINTER}{slash.shown(each)}" for at, each in enumerate(candidates)]
        self.update(Content("\n".join(lines)))
        if self.display != bool(lines):
            self.display = bool(lines)
            self.screen.refresh_bindings()
        self._prompt.set_completes(bool(lines))

    def dismiss(self) -> None:
        """Hide them until the text changes."""
        self._show([])

    def take(self) -> None:
        """Complete the text."""
        if self._candidates and slash.to_complete(self._prompt.before_cursor) == self._typed:
            self._prompt.complete(self._typed, self._candidates[0][0])
