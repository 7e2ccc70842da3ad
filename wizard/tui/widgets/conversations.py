"""Saved conversations: search, open, rename, delete."""

from __future__ import annotations

import time
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static

from wizard.chat.history import Entry
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.text import one_line
from wizard.plan.question import Question
from wizard.tui.autosave import Autosave
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.textual_private import DropsWork
from wizard.tui.widgets.error import errors_shown
from wizard.tui.widgets.picker import Picker

TITLE = Question("title", "text", mark("Title"), "", required=True)


class Conversations(DropsWork, Vertical):
    """A search field and the list; the arrows move in the list while the user types."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", mark("Open"), priority=True, key_display="⏎", id="chat.list_open"),
        Binding("up", "move(-1)", mark("Move"), priority=True, key_display="↑↓", id="chat.list_up"),
        Binding("down", "move(1)", mark("Move"), priority=True, show=False, id="chat.list_down"),
        Binding("ctrl+x", "rename", mark("Rename"), priority=True, id="chat.list_rename"),
        Binding("ctrl+d", "delete", mark("Delete"), priority=True, id="chat.list_delete"),
    ]

    class Chosen(Message):
        """A conversation to continue."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, keeping: Autosave, text: str = "") -> None:
        """``text``: what is searched for at first."""
        super().__init__(id="conversations")
        self._keeping, self._text = keeping, text
        self._entries: list[Entry] = []

    def compose(self) -> ComposeResult:
        """Search, list, and messages."""
        yield Input(self._text, id="search", compact=True)
        yield Picker(id="entries")
        yield Static(id="none")

    def on_mount(self) -> None:
        """Show all."""
        self.relabel()

    def relabel(self) -> None:
        """Update all text to the current language."""
        self.query_one("#search", Input).placeholder = tr("Search all conversations …")
        self.find()

    def on_input_changed(self) -> None:
        """Search again."""
        self.find()

    @work(exclusive=True, group="find")
    async def find(self) -> None:
        """Search for the text in the field again."""
        text = self.query_one("#search", Input).value
        try:
            self._entries = await self._keeping.search(text)
        except WizardError as error:
            self._entries = []
            self.query_one("#none", Static).update(Content(f"✗ {error.code} {error.what}\n{error.todo}"))
        else:
            message = (
                ""
                if self._entries
                else tr("No conversation contains these words.")
                if text
                else tr("Nothing saved yet.")
            )
            self.query_one("#none", Static).update(message)
        self.query_one("#none").display = not self._entries
        present = self._keeping.open_now
        self.query_one("#entries", Picker).show([_row(entry, entry.id in present) for entry in self._entries])
        self.refresh_bindings()

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Enabled if a conversation is selected."""
        least = {"open": 1, "move": 2, "rename": 1, "delete": 1}
        return len(self._entries) >= least.get(action, 0)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click opens."""
        event.stop()
        self.action_open()

    def action_move(self, by: int) -> None:
        """Move in the list."""
        picker = self.query_one("#entries", Picker)
        picker.highlighted = min(max((picker.highlighted or 0) + by, 0), len(self._entries) - 1)

    def action_open(self) -> None:
        """Continue the selected one."""
        self.post_message(self.Chosen(self._entry.id))

    @property
    def _entry(self) -> Entry:
        return self._entries[self.query_one("#entries", Picker).highlighted or 0]

    @work(exclusive=True, group="form")
    async def action_rename(self) -> None:
        """Ask for a new title."""
        entry = self._entry
        answers = await self.app.push_screen_wait(
            FormScreen(tr("Rename the conversation"), [TITLE], {"title": entry.title})
        )
        if answers:
            with errors_shown(self.app):
                await self._keeping.rename(entry.id, str(answers["title"]))
            self.find()

    @work(exclusive=True, group="form")
    async def action_delete(self) -> None:
        """Delete the selected one after confirmation."""
        entry = self._entry
        question = tr("Delete '{title}'? You cannot undo this.", title=one_line(entry.title))
        choices = [("keep", tr("Keep it")), ("delete", tr("Delete it"))]
        if await self.app.push_screen_wait(AskScreen(question, choices)) == "delete":
            with errors_shown(self.app):
                await self._keeping.delete(entry.id)
            self.find()


def _row(entry: Entry, present: bool) -> Content:
    """Title, matching text, time and model; the current one is marked."""
    count = ntr("{count} message", "{count} messages", entry.messages, count=entry.messages)
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.updated))
    parts: list[Content | str | tuple[str, str]] = [(one_line(entry.title), "bold")]
    if present:
        parts.append((tr("  ● open now"), "$accent"))
    if entry.excerpt:
        parts += ["\n", one_line(entry.excerpt)]
    return Content.assemble(*parts, "\n", (f"{day} · {one_line(entry.endpoint)} · {count}", "$text-muted"))
