"""Small windows over a stage: a text, or a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from wizard.kernel.language import mark, tr
from wizard.kernel.text import plain
from wizard.tui.clipboard import copy
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.pane import Pane
from wizard.tui.widgets.picker import Picker

LEAST_HEIGHT = 12
"""Lines below which a question has neither frame nor key bar."""


class ReaderScreen(ModalScreen[None]):
    """A text to read and to copy."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "close", mark("Close"), id="reader.close", key_display="Esc"),
        Binding("c", "copy", mark("Copy"), id="reader.copy"),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, plain(text)

    def compose(self) -> ComposeResult:
        """A framed, scrolling text."""
        with Vertical(classes="window") as window:
            window.border_title = Content(self._title)
            with Pane():
                yield Static(Content(self._text))
            yield KeyBar()

    def action_close(self) -> None:
        """Go back to the stage."""
        self.dismiss(None)

    def action_copy(self) -> None:
        """Copy the text."""
        copy(self.app, self._text, tr("Copied"))


def listed(title: str) -> ComposeResult:
    """A window with a list, and below it the details of the selected row."""
    with Vertical(classes="window") as window:
        window.border_title = Content(title)
        yield Picker()
        with Vertical(classes="foot"):
            yield Static(id="about", markup=False)
            yield KeyBar()


class AskScreen(ModalScreen["str | None"]):
    """A question with a few answers; dismissed with the answer's name, or None if cancelled.

    Args:
        question: The question.
        answers: Name and text of each.
        leaves: The answer that leaving again gives, if it asks about leaving.
        selected: Index of the answer that is selected at first.
        typed: Takes the text that is typed meanwhile, if the user may not have seen the question yet.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Choose"), id="ask.accept", priority=True, key_display="⏎"),
        Binding("escape", "close", mark("Cancel"), id="ask.close"),
    ]

    def __init__(
        self,
        question: str,
        answers: Sequence[tuple[str, str]],
        *,
        leaves: str = "",
        selected: int = 0,
        typed: Callable[[str], object] = lambda _: None,
    ) -> None:
        super().__init__()
        self._question, self._answers, self._selected, self._typed = question, answers, selected, typed
        self.leaves = leaves

    def compose(self) -> ComposeResult:
        """The question, and its answers with the first selected."""
        with Vertical(classes="window") as window:
            window.border_title = Content(tr("Choose an option"))
            yield Static(Content(plain(self._question)), classes="question")
            yield Picker()
            yield KeyBar()

    def on_mount(self) -> None:
        """Fill the list."""
        picker = self.query_one(Picker)
        picker.show([Content(plain(text)) for _name, text in self._answers], self._selected)
        picker.focus()

    def on_key(self, event: events.Key) -> None:
        """Letters choose no answer."""
        if event.is_printable and event.character:
            self._typed(event.character)

    def on_paste(self, event: events.Paste) -> None:
        """The same for pasted text."""
        self._typed(event.text)

    def on_resize(self, event: events.Resize) -> None:
        """In a very low terminal, all lines are for the answers."""
        self.set_class(event.size.height < LEAST_HEIGHT, "-tiny")

    def on_option_list_option_selected(self) -> None:
        """A click on an answer chooses it."""
        self.action_accept()

    def action_accept(self) -> None:
        """Choose the selected answer."""
        at = self.query_one(Picker).highlighted
        self.dismiss(self._answers[at or 0][0])

    def action_close(self) -> None:
        """Cancel."""
        self.dismiss(None)
