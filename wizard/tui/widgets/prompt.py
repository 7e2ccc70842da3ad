"""The input field: Enter sends, Ctrl+J inserts a new line. A long pasted text is shown as a short placeholder."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from wizard.kernel.language import mark, tr
from wizard.tui.key_groups import TURN, grouped

LONG = 2_000
"""Characters of a pasted text from which on a placeholder represents it: wrapping a book at every key would be slow."""
LONG_LINES = 12


class Prompt(TextArea):
    """A field that grows with its text.

    In an empty one, ↑ edits the last waiting message or the last question, ↓ goes to the offered questions.
    """

    DEFAULT_CSS = """
    Prompt { height: auto; max-height: 6; border: round $border-blurred; padding: 0 1; background: $background; }
    Prompt:focus { border: heavy $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *grouped(
            TURN,
            Binding("enter", "send", mark("Send"), key_display="⏎", id="chat.send"),
            Binding("tab", "complete", mark("Complete"), key_display="⇥", id="chat.complete"),
            Binding("up", "recall", mark("Edit waiting"), key_display="↑", id="chat.recall"),
            Binding("ctrl+d", "remove", mark("Remove waiting"), key_display="^D", id="chat.remove"),
            Binding("down", "offered", mark("Questions"), key_display="↓", id="chat.offered"),
            Binding("ctrl+j,shift+enter", "newline", mark("Newline"), key_display="^J", id="chat.newline"),
            Binding("up", "previous", mark("Last"), key_display="↑", id="chat.previous"),
            Binding("up", "cursor_up", mark("Line up"), show=False, id="chat.line_above"),
            Binding("down", "cursor_down", mark("Line down"), show=False, id="chat.line_below"),
            Binding("ctrl+d", "delete_right", mark("Delete"), show=False, id="chat.delete_right"),
            Binding("ctrl+underscore", "undo", mark("Undo"), key_display="^_", show=False, id="chat.undo"),
        ),
    ]

    class Sent(Message):
        """The text to send, which is no command if a space precedes it; empty to send the next waiting message."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Previous(Message):
        """The user wants to edit the last question."""

    class Completed(Message):
        """The user wants the first completion."""

    class Recalled(Message):
        """The user takes back the last waiting message, to ``edit`` it or to remove it."""

        def __init__(self, *, edit: bool) -> None:
            super().__init__()
            self.edit = edit

    class Offered(Message):
        """The user wants the offered questions."""

    class Written(Message):
        """The text has changed."""

    def __init__(self) -> None:
        super().__init__(highlight_cursor_line=False, id="prompt")
        self.relabel()
        self._offers = dict.fromkeys(("recall", "remove", "previous", "offered"), False)
        """What the keys of an empty field do now."""
        self._empty = True
        self._completes = False
        self._pasted: dict[str, str] = {}
        """The word that stands for it → what was pasted."""

    def relabel(self) -> None:
        """Render the placeholder in the current language."""
        self.placeholder = tr("Ask something …")

    def set_offers(self, *, waiting: bool, back: bool, offered: bool) -> None:
        """Set whether messages are ``waiting``, there is a question to go ``back`` to, and others are ``offered``."""
        offers = {"recall": waiting, "remove": waiting, "previous": back and not waiting, "offered": offered}
        if offers != self._offers:
            self._offers = offers
            self.refresh_bindings()

    def set_completes(self, completes: bool) -> None:
        """Set whether the text before the cursor can be completed."""
        if completes != self._completes:
            self._completes = completes
            self.refresh_bindings()

    @property
    def before_cursor(self) -> str:
        """The line up to the cursor; on a later line, it does not begin with a command."""
        row, column = self.cursor_location
        return ("\n" if row else "") + self.document.get_line(row)[:column]

    def complete(self, typed: str, text: str) -> None:
        """Replace ``typed`` before the cursor by ``text``."""
        row, column = self.cursor_location
        self.replace(text, (row, column - len(typed)), (row, column), maintain_selection_offset=False)
        self.move_cursor((row, column - len(typed) + len(text)))

    @property
    def written(self) -> str:
        """The text, including everything pasted."""
        text = self.text
        for word, pasted in self._pasted.items():
            text = text.replace(word, pasted)
        return text

    def write(self, text: str) -> None:
        """Replace the text, with the cursor at the end; a long text is shown as a placeholder."""
        self._pasted.clear()
        self.text = ""
        self._insert(text)
        self.move_cursor(self.document.end)

    async def on_key(self, event: events.Key) -> None:
        """Send and insert lines in the order of the keys: as a binding, Enter would overtake text typed before it."""
        active = None if event.is_printable else self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self and active.binding.action in ("send", "newline", "complete"):
            event.stop()
            event.prevent_default()
            await self.run_action(active.binding.action)

    def on_paste(self, event: events.Paste) -> None:
        """Insert a long text as a placeholder. (Terminals paste a line end as the character that Enter sends.)"""
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        if _long(text):
            event.prevent_default()
            event.stop()
            self._insert(text)

    def _insert(self, text: str) -> None:
        if _long(text):
            word = tr("[pasted text {number}: {count:,} characters]", number=len(self._pasted) + 1, count=len(text))
            self._pasted[word] = text
            text = word
        self.insert(text)

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Some keys have a special function, only in an empty field, or while there is something to complete."""
        if action in ("complete", "newline"):
            return self._completes if action == "complete" else bool(self.text)
        return not self.text and self._offers[action] if action in self._offers else True

    def on_text_area_changed(self) -> None:
        """The functions of some keys may have changed."""
        empty = not self.text
        if empty:
            self._pasted.clear()
        self.post_message(self.Written())
        if empty != self._empty:
            self._empty = empty
            self.refresh_bindings()

    def action_send(self) -> None:
        """Send the text, or the next waiting message from an empty field."""
        text = self.written.rstrip()
        if text:
            self.text = ""  # at once: text typed from here on is a new text
        self.post_message(self.Sent(text))

    def action_newline(self) -> None:
        """Insert a new line."""
        self.insert("\n")

    def action_delete_left(self) -> None:
        """Delete a character; a placeholder is deleted as a whole."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        word = next((each for each in self._pasted if before.endswith(each)), None)
        if word is not None and not self.selected_text:
            self.delete((row, column - len(word)), (row, column))
        else:
            super().action_delete_left()

    def action_previous(self) -> None:
        """Request the last question."""
        self.post_message(self.Previous())

    def action_complete(self) -> None:
        """Request the first completion."""
        self.post_message(self.Completed())

    def action_recall(self) -> None:
        """Edit the last waiting message."""
        self.post_message(self.Recalled(edit=True))

    def action_remove(self) -> None:
        """Remove the last waiting message."""
        self.post_message(self.Recalled(edit=False))

    def action_offered(self) -> None:
        """Request the offered questions."""
        self.post_message(self.Offered())


def _long(text: str) -> bool:
    return len(text) >= LONG or text.count("\n") >= LONG_LINES
