"""Stage 2: which model to serve."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Input, Static

from wizard.journey import Suggestion
from wizard.kernel.errors import WizardError
from wizard.kernel.text import one_line
from wizard.kernel.units import size
from wizard.model.facts import ModelFacts
from wizard.plan.questions import HF_TOKEN
from wizard.tui import background
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.picker import Picker


@dataclass(frozen=True, slots=True)
class ModelView:
    """What is on the screen."""

    suggestions: tuple[Suggestion, ...] | None = None
    """None while they are being looked for."""
    text: str = ""
    """What was typed: a filter, or the name of a model."""
    reading: str | None = None
    """The model that is being read now."""
    error: WizardError | None = None
    notice: str = ""


NO_ACCESS = "TW-M12"
"""The error of a model that is gated, or that the present token does not open (`wizard.model.hub_errors`)."""
VARIABLE = "HF_TOKEN"


def _set_token(token: str | None) -> None:
    """Make ``token`` this process's own, or have none."""
    if token is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = token


def matching(suggestions: Sequence[Suggestion], text: str) -> list[Suggestion]:
    """The suggestions that contain every word of ``text``."""
    words = text.lower().split()
    return [one for one in suggestions if all(word in f"{one.ref} {one.title} {one.about}".lower() for word in words)]


def is_reference(text: str) -> bool:
    """Whether ``text`` looks like a path, a .gguf file or a hub id rather than like a word to filter by."""
    text = text.strip()
    return text.endswith(".gguf") or "/" in text or text.startswith(("~", "."))


def rows(view: ModelView) -> tuple[list[Suggestion | str], int | None]:
    """What the list holds (a text stands for itself, as typed) and where the cursor begins."""
    found: list[Suggestion | str] = list(matching(view.suggestions or (), view.text))
    if typed := view.text.strip():
        found = [typed, *found] if is_reference(typed) else [*found, typed]
    first = next((i for i, row in enumerate(found) if isinstance(row, str) or row.usable), None)
    return found, first


class ModelScreen(StageScreen[ModelFacts]):
    """Dismissed with the model's facts."""

    STAGE = 1
    HELP = (
        "Pick one of the models that suit this machine, or type the name of any other: a Hugging Face id such as "
        "Qwen/Qwen2.5-0.5B-Instruct-GGUF, a folder with a config.json, or a .gguf file. Typing also filters the list. "
        "Only descriptions are read now; weights are fetched later, after you have seen the plan."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Take this model", priority=True, key_display="⏎"),
        Binding("up", "move(-1)", "Move", priority=True, key_display="↑↓"),
        Binding("down", "move(1)", "Move", priority=True, show=False),
        Binding("ctrl+r", "look", "Look again", priority=True),
    ]
    view: reactive[ModelView] = reactive(ModelView())

    def __init__(
        self,
        suggestions: Callable[[], list[Suggestion]],
        find: Callable[[str], ModelFacts],
        *,
        text: str = "",
        take: bool = False,
    ) -> None:
        """``text`` is typed already; with ``take`` it is taken at once, as if Enter had been pressed."""
        super().__init__()
        self._suggestions, self._find, self._take = suggestions, find, take
        self._rows: list[Suggestion | str] = []
        self.set_reactive(ModelScreen.view, ModelView(text=text))

    def compose(self) -> ComposeResult:
        """A field, the list, and a place for errors."""
        field = Input(self.view.text, placeholder="filter, hub id, folder, .gguf", id="reference")
        yield from self.framed(
            Static("Which model do you want to serve?", classes="heading"),
            field,
            ErrorPanel(),
            Static(id="state", markup=False),
            Picker(id="models"),
        )

    def on_mount(self) -> None:
        """Look for suggestions; read the model that was named on the command line."""
        self.mutate_reactive(ModelScreen.view)  # it was set before anything was there to show it
        self.action_look()
        if self._take and self.view.text:
            self._read(self.view.text)

    @work(exclusive=True, group="suggestions")
    async def action_look(self) -> None:
        """Look for suggestions in the background; this may ask the hub whether it answers."""
        self.view = replace(self.view, suggestions=None)
        try:
            found = tuple(await background.call(self._suggestions))
        except WizardError as error:
            self.view = replace(self.view, suggestions=(), error=error)
        else:
            self.view = replace(self.view, suggestions=found)

    @work(exclusive=True, group="read")
    async def _read(self, ref: str) -> None:
        """Read the model; where the hub lets only some people in, ask once for a token."""
        before = os.environ.get(VARIABLE)
        try:
            facts = await self._look(ref)
            if facts is None and self.view.error and self.view.error.code == NO_ACCESS and await self._token():
                facts = await self._look(ref)
                if facts is None:
                    _set_token(before)  # one that is refused would close what is open to everybody
        except asyncio.CancelledError:
            _set_token(before)
            raise
        if facts is not None:
            self.dismiss(facts)

    async def _look(self, ref: str) -> ModelFacts | None:
        """The model's facts; None, and the error shown, if they cannot be had."""
        self.view = replace(self.view, reading=ref, error=None, notice="")
        try:
            return await background.call(lambda: self._find(ref))
        except WizardError as error:
            self.view = replace(self.view, reading=None, error=error)
            return None

    async def _token(self) -> bool:
        """Ask for a token; it stays in this process's environment and its children's. False if none was given."""
        form = FormScreen("The hub wants to know who you are", [HF_TOKEN], {})
        answers = await self.app.push_screen_wait(form)
        if answers:
            _set_token(str(answers[HF_TOKEN.name]))
        return bool(answers)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter."""
        if event.value != self.view.text:
            self.view = replace(self.view, text=event.value, error=None, notice="")

    def on_option_list_option_selected(self) -> None:
        """A click on a model takes it."""
        self.action_accept()

    def action_move(self, by: int) -> None:
        """Move the cursor in the list while the field keeps the focus."""
        picker = self.query_one(Picker)
        if self._rows:
            picker.highlighted = max(0, min(len(self._rows) - 1, (picker.highlighted or 0) + by))

    def action_accept(self) -> None:
        """Read the model under the cursor, or say why it cannot be taken."""
        at = self.query_one(Picker).highlighted
        if self.view.reading is not None or at is None:
            return
        row = self._rows[at]
        if isinstance(row, str):
            self._read(row)
        elif row.usable:
            self._read(row.ref)
        else:
            self.view = replace(self.view, notice=f"{row.title} cannot be taken: {row.why_not or 'not usable here'}")

    def dismiss(self, result: ModelFacts | None = None) -> AwaitComplete:
        """Leave; suggestions that are still looked for would come when there is nothing left to show them in."""
        self.workers.cancel_group(self, "suggestions")
        return super().dismiss(result)

    def action_back(self) -> None:
        """Stop waiting, or clear what was typed, or go back; in this order."""
        if self.view.reading is not None:
            self.workers.cancel_group(self, "read")
            self.view = replace(self.view, reading=None)
        elif self.view.text:
            self.query_one(Input).value = ""
        else:
            self.dismiss(None)

    def watch_view(self, old: ModelView, view: ModelView) -> None:
        """Show the state."""
        self.query_one(ErrorPanel).show(view.error)
        state = self.query_one("#state", Static)
        state.update(_state(view))
        state.display = bool(_state(view))
        if (old.suggestions, old.text) != (view.suggestions, view.text) or not self._rows:
            self._rows, at = rows(view)
            best = next((row for row in view.suggestions or () if row.usable), None)
            self.query_one(Picker).show([_row(row, best) for row in self._rows], at)


def _state(view: ModelView) -> str:
    if view.reading is not None:
        return f"◌ Reading {one_line(view.reading)} … (Esc to stop waiting)"
    if view.notice:
        return f"! {one_line(view.notice)}"
    if view.suggestions is None:
        return "◌ Looking for models that suit this machine … (you can type a name already)"
    return "" if rows(view)[0] else "Nothing to offer; type a hub id, a folder or a .gguf file."


def _row(row: Suggestion | str, best: Suggestion | None) -> Content:
    if isinstance(row, str):
        return Content.assemble(
            ("Take ", "bold"),
            (one_line(row), "bold $accent"),
            "\n",
            ("as a hub id, a folder or a .gguf file", "$text-muted"),
        )
    star = "   ★ recommended" if row is best else ""
    about = [
        size(row.download_bytes) + " to download" if row.download_bytes else "nothing to download",
        one_line(row.licence) if row.licence else "licence unknown",
        "needs the network" if row.needs_network else "works offline",
    ]
    if row.download_bytes is None:
        about[0] = "size unknown"
    title = Content.assemble((one_line(row.title), "bold"), (star, "$accent"))
    facts = Content.assemble((" · ".join(about), "$secondary"))
    last = (
        Content.assemble((one_line(row.about), "$text-muted"))
        if row.usable
        else Content.assemble(("✗ not here: ", "$error"), one_line(row.why_not or ""))
    )
    return Content("\n").join([title, facts, last])
