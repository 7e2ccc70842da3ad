"""The chat's keys that copy, and open what is copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

from wizard.kernel.language import tr
from wizard.tui.clipboard import copy
from wizard.tui.views.chat import ChatEnd

if TYPE_CHECKING:
    from wizard.tui.widgets.comparison import Comparison


class Copying(Screen[ChatEnd]):
    """Of the model that is selected for reading."""

    talks: Comparison

    def action_copy(self) -> None:
        """Copy the selected turn, or the last answer."""
        if turn := self.talks.here.transcript.current:
            self._copy(turn.text, tr("Copied the turn to the clipboard"))
        else:
            self._copy(self.talks.here.view.texts("assistant")[-1], tr("Copied the last answer to the clipboard"))

    def action_unfold(self) -> None:
        """Open or fold the thoughts and tool calls of the selected turn, or the last ones."""
        self.talks.here.transcript.unfold()

    def action_unfold_calls(self) -> None:
        """The same, if there are only calls."""
        self.action_unfold()

    def action_details(self) -> None:
        """Show, or hide, the author, the time and the measurements of each turn."""
        detailed = not self.talks.here.transcript.detailed
        for talk in self.talks.chats:
            talk.transcript.detail(detailed=detailed)

    def action_copy_thought(self) -> None:
        """Copy the thoughts of the selected turn, or the last ones."""
        here = self.talks.here.transcript
        self._copy(here.thoughts[-1].thought.text.strip(), tr("Copied the thoughts to the clipboard"))

    def action_copy_code(self) -> None:
        """Copy a block of code: the last one, pressed again the one before; of the selected turn, if any."""
        if block := self.talks.here.transcript.next_code():
            code, number, count = block
            self._copy(code, tr("Copied code block {number} of {count} to the clipboard", number=number, count=count))

    def _copy(self, text: str, message: str) -> None:
        copy(self.app, text, message, instead=tr("^S saves the conversation to a file."))
