"""A search field with the number of matches."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.widgets import Input, Static

from wizard.kernel.language import mark, tr


class Words(Input):
    """Has the available width: typing does not change the layout. (Textual would lay out the screen again.)"""

    virtual_size = Reactive(Size(0, 0))


class SearchBar(Horizontal):
    """Hidden until opened; posts the text as `Searched`, and `Done` when the log gets the focus again."""

    DEFAULT_CSS = """
    SearchBar { display: none; height: 1; }
    SearchBar > Static { width: auto; }
    SearchBar > Input { width: 1fr; padding: 0 1; }
    SearchBar > #found { width: 22; padding: 0 1; text-align: right; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "done", mark("Done"), priority=True, key_display="⏎", id="find.done"),
        Binding("down", "step(1)", mark("Next"), priority=True, key_display="↑↓", id="find.next"),
        Binding("up", "step(-1)", mark("Previous"), priority=True, show=False, id="find.previous"),
        Binding("escape", "close", mark("Close"), priority=True, id="find.close"),
    ]

    class Searched(Message):
        """The search text has changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Step(Message):
        """Go to the next match (1), or the previous one (-1)."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Done(Message):
        """Typing is finished; with ``closed`` the search has ended."""

        def __init__(self, closed: bool) -> None:
            super().__init__()
            self.closed = closed

    ABOUT: ClassVar[str] = mark("Search the output")
    """Placeholder of the empty field."""

    def compose(self) -> ComposeResult:
        """The symbol, the field, the count."""
        yield Static("/")
        yield Words(compact=True, placeholder=tr(self.ABOUT), id="sought", select_on_focus=False)
        yield Static(id="found", markup=False)

    def relabel(self) -> None:
        """Render the placeholder in the current language."""
        self.query_one(Input).placeholder = tr(self.ABOUT)

    def open(self) -> None:
        """Show and focus it at once, because the next typed text is searched."""
        self.display = True
        self.screen.set_focus(self.query_one(Input))

    def show(self, at: int, count: int) -> None:
        """Show the number of the current match and the total."""
        if not self.query_one(Input).value:
            text = ""
        elif not count:
            text = tr("no matches")
        elif at:
            text = tr("{at} of {count:,}", at=f"{at:,}", count=count)
        else:
            text = f"{count:,}"
        self.query_one("#found", Static).update(text, layout=False)  # it may be called with every batch of lines

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search while the user types."""
        event.stop()
        self.post_message(self.Searched(event.value))

    def action_step(self, by: int) -> None:
        """Go to another match."""
        self.post_message(self.Step(by))

    def action_done(self) -> None:
        """Make n and N keys again."""
        self.post_message(self.Done(closed=not self.query_one(Input).value))

    def action_close(self) -> None:
        """End the search."""
        self.close()

    def close(self) -> None:
        """Hide it, if it is open, and end the search."""
        if self.display:
            self.query_one(Input).value = ""
            self.display = False
            self.post_message(self.Done(closed=True))
