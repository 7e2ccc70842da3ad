"""What one does with a conversation that is read: find in it, go from turn to turn, copy; and the log beside it."""

from __future__ import annotations

from collections.abc import Iterator

from textual.widgets import Input

from wizard.kernel import clipboard
from wizard.kernel.language import tr
from wizard.tui.screens.chat_windows import ChatWindows
from wizard.tui.tail import Tail
from wizard.tui.widgets.find import Find
from wizard.tui.widgets.log_panel import LogPanel
from wizard.tui.widgets.prompt import Prompt
from wizard.tui.widgets.turn import Turn


class ChatReading(ChatWindows):
    """The part of the chat that is about what was said."""

    _code: tuple[Turn, int] | None = None
    """The block of code that was copied last."""

    def action_write(self) -> None:
        """Back to the field."""
        self.query_one(Prompt).focus()

    async def action_log(self) -> None:
        """Show the server's log beside the chat, or hide it."""
        if self.query(LogPanel):
            await self.query_one(LogPanel).remove()
        else:
            one = self.here.endpoint
            await self.query_one("#talk-row").mount(LogPanel(one.name, one.log, Tail(one.log).read))

    def action_find(self) -> None:
        """Find in this conversation."""
        self.query_one(Find).open()

    def on_find_sought(self, message: Find.Sought) -> None:
        """Show the last place."""
        self.query_one(Find).show(*self.here.transcript.seek(message.text, 0))

    def on_find_step(self, message: Find.Step) -> None:
        """Show another place."""
        self._step_find(message.by)

    def on_find_done(self, message: Find.Done) -> None:
        """Enter goes to the place before; closed, nothing is sought any more."""
        if message.closed:
            self.query_one(Find).display = False
            self.here.transcript.seek("", 0)
            self.action_write()
        else:
            self._step_find(-1)

    def _step_find(self, by: int) -> None:
        text = self.query_one("#sought", Input).value
        self.query_one(Find).show(*self.here.transcript.seek(text, by))

    def action_step(self, by: int) -> None:
        """Go to the turn before or after; copying means that one then."""
        self.here.transcript.step(by)

    def action_copy(self) -> None:
        """Copy the turn that was gone to, or the last answer."""
        turn = self.here.transcript.current
        text = turn.text if turn else self.here.view.said("assistant")[-1]
        self._copy(text, tr("The turn is in the clipboard") if turn else tr("The last answer is in the clipboard"))

    def action_copy_code(self) -> None:
        """Copy a block of code: the last one, pressed again the one before; of the turn that was gone to, if any."""
        blocks = list(self._blocks())
        if not blocks:
            return
        at = blocks.index(self._code) + 1 if self._code in blocks else 0
        self._code = turn, number = blocks[at % len(blocks)]
        self.here.transcript.mark_code(turn, number)
        said = tr(
            "Code {number} of {count} is in the clipboard", number=len(blocks) - at % len(blocks), count=len(blocks)
        )
        self._copy(turn.code()[number], said)

    def _blocks(self) -> Iterator[tuple[Turn, int]]:
        """Blocks of code, the last one first."""
        gone_to = self.here.transcript.current
        for turn in [gone_to] if gone_to else reversed(self.here.transcript.turns):
            for number in reversed(range(len(turn.code()))):
                yield turn, number

    def _copy(self, text: str, what: str) -> None:
        self.app.copy_to_clipboard(text)
        if clipboard.missing():
            why = tr("This terminal takes nothing for the clipboard (OSC 52). ^S saves the conversation to a file.")
            self.notify(why, severity="warning", timeout=6)
        else:
            self.notify(what, timeout=2)
