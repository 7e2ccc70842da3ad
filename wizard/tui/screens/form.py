"""Several questions in a window, each validated by its own declaration in `wizard.plan.questions`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeAlias

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from wizard.kernel.errors import UsageError
from wizard.kernel.language import mark, tr
from wizard.plan.question import Question
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.options import Options

NO_EFFECT = mark("no effect now")
"""Shown next to a question that does not apply, given the other answers."""
PINNED = mark("set by your facilitator")
"""Shown next to a question whose answer cannot be changed."""

Conflict: TypeAlias = "Callable[[Mapping[str, object]], tuple[str, UsageError] | None]"
"""Answers, each valid → the name of one that contradicts another, and the error."""


class FormScreen(ModalScreen["dict[str, object] | None"]):
    """Dismissed with the new answers (an empty field means the wizard chooses), or None to keep the old ones.

    A question that does not apply, given the answers above it, cannot be focused and is not answered.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Apply"), priority=True, key_display="⏎", id="form.accept"),
        Binding("up", "move(-1)", mark("Move"), priority=True, key_display="↑↓", id="form.up"),
        Binding("down", "move(1)", mark("Move"), priority=True, show=False, id="form.down"),
        Binding("escape", "close", mark("Cancel"), id="form.close"),
    ]

    def __init__(
        self,
        title: str,
        questions: Sequence[Question],
        answers: Mapping[str, object],
        pinned: Mapping[str, object] | None = None,
        headings: Mapping[str, str] | None = None,
        shut: Mapping[str, str] | None = None,
        conflict: Conflict = lambda _: None,
    ) -> None:
        """Ask ``questions``.

        Args:
            title: Title of the window.
            questions: The questions.
            answers: The current answers, by name.
            pinned: Answers of the facilitator, which cannot be changed.
            headings: Name of the first question of a group → heading of the group.
            shut: Name of a question whose answer cannot be changed → reason.
            conflict: Returns the name of a question whose answer contradicts another's, with the error.
        """
        super().__init__()
        self._headings, self._conflict = headings or {}, conflict
        self._title, self._questions = title, questions
        self._shut = {**(shut or {}), **dict.fromkeys(pinned or {}, tr(PINNED))}
        answers = {**answers, **(pinned or {})}
        self._fields = {question.name: _field(question, answers.get(question.name)) for question in questions}
        self._texts = {question.name: Static(Content(tr(question.text)), classes="text") for question in questions}

    def compose(self) -> ComposeResult:
        """Text and field of each question, and below them the help of the focused one."""
        with Vertical(classes="window") as window:
            window.border_title = Content(self._title)
            with VerticalScroll(classes="form -grouped" if self._headings else "form", can_focus=False):
                for question in self._questions:
                    if heading := self._headings.get(question.name):
                        yield Static(Content(heading), classes="group")
                    with Container(classes="field"):
                        yield self._texts[question.name]
                        yield self._fields[question.name]
            with Vertical(classes="foot"):
                yield Static(id="about")
                yield KeyBar()

    def on_mount(self) -> None:
        """Some questions may not apply from the beginning."""
        self._weigh()

    def on_descendant_focus(self) -> None:
        """Show the help of the focused question."""
        question = next((item for item in self._questions if self._fields[item.name].has_focus), None)
        if question is not None:
            # Errors and remedies contain the flags, which answer the same questions.
            flag = f"  {question.flag}" if question.flag.startswith("--") else ""
            self._say(Content.assemble(tr(question.help), (flag, "$foreground")))
            row = self._fields[question.name].query_ancestor(Container)  # the text may have more lines than the field
            self.call_after_refresh(row.scroll_visible, animate=False)

    def on_input_changed(self) -> None:
        """Other questions may apply now."""
        self._weigh()

    def on_options_changed(self) -> None:
        """Other questions may apply now."""
        self._weigh()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enabled if there is a field to move to."""
        return len(self.focus_chain) > 1 if action == "move" else super().check_action(action, parameters)

    def action_move(self, by: int) -> None:
        """Go to the field above or below; without Textual's own scrolling, which would stop at the previous one."""
        chain = self.focus_chain
        at = chain.index(self.focused) + by if self.focused in chain else 0
        self.set_focus(chain[at % len(chain)], scroll_visible=False)

    def action_accept(self) -> None:
        """Accept the fields, or show the error in the first invalid one."""
        answers, wrong = self._given()
        problem = next(iter(wrong.items()), None) or self._conflict(answers)
        if problem is None:
            self.dismiss(answers)
            return
        name, error = problem
        self._fields[name].focus()
        self.call_after_refresh(self._say, Content(f"✗ {error.what}\n{error.todo}"), wrong=True)

    def action_close(self) -> None:
        """Close without changes."""
        self.dismiss(None)

    def _given(self) -> tuple[dict[str, object], dict[str, UsageError]]:
        """The answers to the questions that apply, and the errors in the invalid ones."""
        answers: dict[str, object] = {}
        wrong: dict[str, UsageError] = {}
        for question in self._questions:
            if question.when(answers):
                try:
                    value = question.parse(self._fields[question.name].value)
                except UsageError as error:
                    wrong[question.name] = error
                else:
                    answers.update({} if value is None else {question.name: value})
        return answers, wrong

    def _weigh(self) -> None:
        """Enable only the questions that apply now."""
        answers, _wrong = self._given()
        for question in self._questions:
            field, matters = self._fields[question.name], question.when(answers)
            why = self._shut.get(question.name, "" if matters else tr(NO_EFFECT))
            if field.disabled != bool(why):
                field.disabled = bool(why)
                note = f" · {why}" if why else ""
                self._texts[question.name].update(Content.assemble(tr(question.text), (note, "$text-muted")))
        self.refresh_bindings()

    def _say(self, text: Content, *, wrong: bool = False) -> None:
        about = self.query_one("#about", Static)
        about.update(text)
        about.set_class(wrong, "wrong")


def _field(question: Question, value: object) -> Input | Options:
    """The input widget for ``question``, with its current ``value``."""
    text = "" if value is None else str(value)
    if question.kind not in ("choice", "confirm"):
        hint = str(question.default) if question.default is not None else tr(question.otherwise)
        return Input(
            text,
            id=question.name,
            compact=True,
            select_on_focus=False,
            placeholder=hint,
            password=question.secret,
        )
    options = [(option, option) for option in question.alternatives] or [("yes", tr("yes")), ("no", tr("no"))]
    if question.default is None and not question.required:
        options.insert(0, ("", tr(question.otherwise)))
    if question.kind == "confirm":
        text = {"True": "yes", "False": "no"}.get(text, text)
    if text == question.otherwise:
        text = ""
    return Options(options, text or _default(question), id=question.name)


def _default(question: Question) -> str:
    if isinstance(question.default, bool):
        return "yes" if question.default else "no"
    return str(question.default or "")
