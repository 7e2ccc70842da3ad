"""A line in which one types what is searched for, and how much of it there is."""

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
    """As wide as there is room: what is typed changes nothing around it. (Textual would lay the screen out anew.)"""

    virtual_size = Reactive(Size(0, 0))


class SearchBar(Horizontal):
    """Hidden until it is opened; tells what is typed as `Sought`, and as `Done` that the log has the keys again."""

    DEFAULT_CSS = """
    SearchBar { display: none; height: 1; }
    SearchBar > Static { width: auto; }
    SearchBar > Input { width: 1fr; padding: 0 1; }
    SearchBar > #found { width: 22; padding: 0 1; text-align: right; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "done", mark("Continue with n and N"), priority=True, key_display="⏎", id="find.done"),
        Binding("down", "step(1)", mark("Next"), priority=True, key_display="↑↓", id="find.next"),
        Binding("up", "step(-1)", mark("Previous"), priority=True, show=False, id="find.previous"),
        Binding("escape", "close", mark("End the search"), priority=True, id="find.close"),
    ]

    class Sought(Message):
        """Something else is searched for."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Step(Message):
        """The next match is wanted (1), or the one before (-1)."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Done(Message):
        """Enough was typed; with ``closed`` the search is over."""

        def __init__(self, closed: bool) -> None:
            super().__init__()
            self.closed = closed

    ABOUT: ClassVar[str] = mark("Search the output")
    """What stands in the field while it is empty."""

    def compose(self) -> ComposeResult:
        """The sign, the field, the count."""
        yield Static("/")
        yield Words(compact=True, placeholder=tr(self.ABOUT), id="sought", select_on_focus=False)
        yield Static(id="found", markup=False)

    def relabel(self) -> None:
        """Say in the present language what is searched."""
        self.query_one(Input).placeholder = tr(self.ABOUT)

    def open(self) -> None:
        """Show it and take the keys: at once, for what is typed next is sought."""
        self.display = True
        self.screen.set_focus(self.query_one(Input))

    def show(self, at: int, count: int) -> None:
        """Say which match is shown and how many there are."""
        if not self.query_one(Input).value:
            text = ""
        elif not count:
            text = tr("no matches")
        elif at:
            text = tr("{at} of {count:,}", at=f"{at:,}", count=count)
        else:
            text = f"{count:,}"
        self.query_one("#found", Static).update(text, layout=False)  # it may come with every batch of lines

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search while it is typed."""
        event.stop()
        self.post_message(self.Sought(event.value))

    def action_step(self, by: int) -> None:
        """Another match."""
        self.post_message(self.Step(by))

    def action_done(self) -> None:
        """Let n and N be keys again."""
        self.post_message(self.Done(closed=not self.query_one(Input).value))

    def action_close(self) -> None:
        """No search any more."""
        self.close()

    def close(self) -> None:
        """Hide it, if it is open: nothing is sought any more."""
        if self.display:
            self.query_one(Input).value = ""
            self.display = False
            self.post_message(self.Done(closed=True))
