"""Esc in the chat: it closes the topmost thing, and never leads out of the chat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from textual.screen import Screen
from textual.widget import Widget

from wizard.kernel.language import tr
from wizard.tui.tail import Tail
from wizard.tui.views.chat import ChatEnd
from wizard.tui.widgets.chrome import key_rows
from wizard.tui.widgets.conversations import Conversations
from wizard.tui.widgets.log_panel import LogPanel
from wizard.tui.widgets.prompt import Prompt
from wizard.tui.widgets.transcript_search import TranscriptSearch

if TYPE_CHECKING:
    from wizard.tui.screens.chat import ChatScreen

HINT_S = 4.0
"""Seconds that the hint about leaving is visible."""
Top: TypeAlias = Literal["completions", "search", "panel", "files", "answer", "focus", "editing", "turn", ""]
"""What lies on top: the completions, the search, a panel beside the conversation, files that are being read, a streamed
answer, a focus outside of the input field, the editing of the last question, a selected turn.
"""
ACTIONS: dict[Top, str] = {"files": "stop", "answer": "stop", "focus": "write", "editing": "unedit", "": "back"}
"""What Esc does with it; it closes all others."""


def escapes(chat: ChatScreen) -> str:
    """The action of Esc now."""
    return ACTIONS.get(_top(chat), "close")


def _top(chat: ChatScreen) -> Top:
    focused, panel = chat.focused, _panel(chat)
    away = focused is not None and not isinstance(focused, Prompt)
    order: dict[Top, object] = {
        "completions": chat.asking.completes and not away,
        "search": chat.query_one(TranscriptSearch).display,
        "panel": panel is not None and panel.has_focus_within,
        "files": chat.asking.attaches,
        "answer": chat.talks.answering,
        "focus": away,
        "editing": chat.asking.edits,
        "turn": chat.talks.here.transcript.current,
    }
    return next((top for top, there in order.items() if there), "panel" if panel is not None else "")


def _panel(chat: ChatScreen) -> Widget | None:
    """The panel beside the conversation: the focused one, else the last one in reading order."""
    panels = [child for child in chat.query_one("#talk-row").children if isinstance(child, (Conversations, LogPanel))]
    return next((panel for panel in panels if panel.has_focus_within), panels[-1] if panels else None)


class Escaping(Screen[ChatEnd]):
    """The actions of Esc that are about the screen, and the panel with the log."""

    _hinted = False

    async def action_close(self) -> None:
        """Close the topmost thing."""
        chat = cast("ChatScreen", self)
        top, panel = _top(chat), _panel(chat)
        if top == "completions":
            chat.asking.dismiss_completions()
        elif top == "search":
            self.query_one(TranscriptSearch).close()
        elif top == "turn":
            chat.talks.here.transcript.step(len(chat.talks.here.transcript.turns))
        elif panel is not None:
            await self.close_panel(panel)
        self.refresh_bindings()

    async def close_panel(self, panel: Widget) -> None:
        """Remove ``panel``; the field gets the focus that it had."""
        if panel.has_focus_within:
            self.query_one(Prompt).focus()
        await panel.remove()

    def action_write(self) -> None:
        """Focus the input field."""
        self.query_one(Prompt).focus()

    def action_back(self) -> None:
        """Nothing is open: show once how to leave."""
        if not self._hinted:
            self._hinted = True
            key = next(row.keys for row in key_rows(self, hidden=True) if row.binding.action == "leave")
            self.notify(tr("Nothing to close. {key} leaves the chat.", key=key), timeout=HINT_S, markup=False)
            self.set_timer(HINT_S, self._hint_over)

    def _hint_over(self) -> None:
        self._hinted = False

    async def action_log(self) -> None:
        """Show the server's log next to the chat, or hide it."""
        if self.query(LogPanel):
            await self.close_panel(self.query_one(LogPanel))
        else:
            await self.query_one("#talk-row").mount(LogPanel())
            self.follow_log()
        self.refresh_bindings()

    def follow_log(self) -> None:
        """Show the log of the server that is selected for reading, in an open panel."""
        endpoint = cast("ChatScreen", self).talks.here.endpoint
        for panel in self.query(LogPanel):
            panel.follow(endpoint.name, endpoint.log, Tail(endpoint.log).read)
