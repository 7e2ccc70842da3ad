"""Several questions in one window, each checked by its own declaration in `wizard.plan.questions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from wizard.kernel.errors import UsageError
from wizard.plan.questions import Question
from wizard.tui.widgets.chrome import KeyBar


class FormScreen(ModalScreen["dict[str, object] | None"]):
    """Dismissed with the answers that were given (an empty field leaves it to the wizard), or None if they stay."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Take over", priority=True, key_display="⏎"),
        Binding("up", "app.focus_previous", "Fields", key_display="↑↓"),
        Binding("down", "app.focus_next", "Fields", show=False),
        Binding("escape", "close", "Leave as it was"),
    ]

    def __init__(self, title: str, questions: Sequence[Question], answers: Mapping[str, object]) -> None:
        super().__init__()
        self._title, self._questions, self._answers = title, questions, answers

    def compose(self) -> ComposeResult:
        """Text and field of each question, and below them what there is to say about the focused one."""
        with Vertical(classes="window") as window:
            window.border_title = Content(self._title)
            with Grid(classes="form"):
                for question in self._questions:
                    value = self._answers.get(question.name)
                    yield Static(Content(question.text), classes="text")
                    yield Input(
                        "" if value is None else str(value),
                        id=question.name,
                        compact=True,
                        select_on_focus=False,
                        placeholder=_if_empty(question),
                        password=question.secret,
                    )
            yield Static(id="about")
            yield KeyBar()

    def on_descendant_focus(self) -> None:
        """Say what there is to say about the focused question."""
        question = next((one for one in self._questions if self.focused and one.name == self.focused.id), None)
        if question is not None:
            self._say(question.help)

    def _say(self, text: str, *, wrong: bool = False) -> None:
        about = self.query_one("#about", Static)
        about.update(Content(text))
        about.set_class(wrong, "wrong")

    def action_accept(self) -> None:
        """Take the fields over, or say what is wrong with the first that cannot be."""
        answers: dict[str, object] = {}
        for question in self._questions:
            field = self.query_one(f"#{question.name}", Input)
            try:
                value = question.parse(field.value)
            except UsageError as error:
                field.focus()
                self.call_after_refresh(self._say, f"✗ {error.what}\n{error.todo}", wrong=True)
                return
            answers.update({} if value is None else {question.name: value})
        self.dismiss(answers)

    def action_close(self) -> None:
        """Change nothing."""
        self.dismiss(None)


def _if_empty(question: Question) -> str:
    return str(question.default) if question.default is not None else question.otherwise
