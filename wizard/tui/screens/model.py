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

from wizard.flow.choosing import GATED
from wizard.flow.perform import TOKEN, set_token
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.model.facts import ModelFacts
from wizard.model.on_disk import Entry, completed
from wizard.plan.offers import Suggestion
from wizard.plan.questions import HF_TOKEN
from wizard.texts import reasons
from wizard.tui import background
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.views.model import ModelView, Row, contents, is_path, is_word, name, rows, state
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.picker import Picker


@dataclass(frozen=True, slots=True)
class Models:
    """The functions of the screen; all but ``browse`` may access the Hub, and take as long."""

    suggestions: Callable[[], Sequence[Suggestion]]
    find: Callable[[str], ModelFacts]
    at_once: Callable[[], Sequence[Suggestion]] | None = None
    """The suggestions known without the Hub; None if ``suggestions`` does not access it either."""
    search: Callable[[str], Sequence[Suggestion]] = lambda _text: ()
    judge: Callable[[Suggestion], Suggestion] = lambda suggestion: suggestion
    browse: Callable[[str], Sequence[Entry]] = lambda _text: ()


class ModelScreen(StageScreen[ModelFacts]):
    """Dismissed with the model's facts."""

    STAGE = 1
    PAUSE: ClassVar[float] = 0.4
    """Seconds without a key, or on a row, before the Hub is queried about it."""
    HELP = mark(
        "Choose one of the models that suit this machine, or type any other: a Hugging Face model ID such as "
        "Qwen/Qwen2.5-0.5B-Instruct-GGUF, a folder with a config.json, or a .gguf file. Typing filters the list "
        "and searches the Hub; for paths, press Tab to complete. ✓ fits: it can be served on this machine as "
        "published, to four users at once. ◐ tight: with less context, for fewer users, or only in another "
        "format. Only metadata is read now; weights are downloaded later, after you have seen the plan."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Use this model"), priority=True, key_display="⏎", id="model.accept"),
        Binding("up", "move(-1)", mark("Move"), priority=True, key_display="↑↓", id="model.up"),
        Binding("down", "move(1)", mark("Move"), priority=True, show=False, id="model.down"),
        Binding("tab", "complete", mark("Complete the path"), priority=True, key_display="Tab", id="model.complete"),
        Binding("ctrl+r", "look", mark("Refresh"), priority=True, id="model.look"),
    ]
    view: reactive[ModelView] = reactive(ModelView())

    def __init__(self, models: Models, *, text: str = "", take: bool = False) -> None:
        """``text`` is the initial input; with ``take`` it is accepted at once, as with Enter."""
        super().__init__()
        self._models, self._take = models, take
        self._rows: list[Row] = []
        self._chosen: str | None = None
        """What the user moved the cursor to; None leaves it on the first row that can be taken."""
        self._pointed: str | None = None
        """What the cursor is on."""
        self.set_reactive(ModelScreen.view, ModelView(text=text))

    def compose(self) -> ComposeResult:
        """A field, the list, and a place for errors."""
        field = Input(self.view.text, placeholder=tr("filter, search, model ID, folder, .gguf"), id="reference")
        yield from self.framed(
            Static(tr("Which model do you want to serve?"), classes="heading"),
            field,
            ErrorPanel(),
            Static(id="state", markup=False),
            Picker(id="models"),
            Static(id="model-about", markup=False),
        )

    def on_mount(self) -> None:
        """Look for suggestions; inspect the model from the command line."""
        self.mutate_reactive(ModelScreen.view)  # it was set before any widget could show it
        self.action_look()
        if self._take and self.view.text:
            self._read(self.view.text)
        else:
            self._typed()

    # -- what is looked for --------------------------------------------------------------------------------------------

    def action_look(self) -> None:
        """Discard the results, and search again."""
        self.view = replace(self.view, suggestions=None, trouble="", judged={}, unjudged={})
        self._suggest()

    @work(exclusive=True, group="suggestions")
    async def _suggest(self) -> None:
        """Look for suggestions in the background: local ones first, then the Hub's."""
        try:
            if self._models.at_once is not None:
                known = tuple(await background.call(self._models.at_once))
                self.view = replace(self.view, suggestions=known, looking=True)
            suggestions = tuple(await background.call(self._models.suggestions))
        except WizardError as error:
            self.view = replace(self.view, suggestions=self.view.suggestions or (), looking=False, error=error)
        else:
            self.view = replace(self.view, suggestions=suggestions, looking=False)

    def _typed(self) -> None:
        """Look for completions of the text: in a folder, or on the Hub after a pause."""
        self.workers.cancel_group(self, "search")
        if is_path(self.view.text):
            self._browse(self.view.text.strip())
        elif is_word(self.view.text) and self.view.text.strip() != self.view.searched:
            self._search(self.view.text.strip())

    @work(exclusive=True, group="search")
    async def _browse(self, text: str) -> None:
        entries = tuple(await background.call(lambda: self._models.browse(text)))
        self.view = replace(self.view, entries=entries)

    @work(exclusive=True, group="search")
    async def _search(self, text: str) -> None:
        await asyncio.sleep(self.PAUSE)
        self.view = replace(self.view, searching=True)
        try:
            matches = tuple(await background.call(lambda: self._models.search(text)))
        except WizardError as error:
            self.view = replace(self.view, searching=False, matches=(), searched=None, trouble=error.what)
        else:
            self.view = replace(self.view, searching=False, matches=matches, searched=text, trouble="")

    @work(exclusive=True, group="judge")
    async def _judge(self, suggestion: Suggestion) -> None:
        """Determine whether a model on the Hub fits, if it stays selected."""
        await asyncio.sleep(self.PAUSE)
        self.view = replace(self.view, judging=suggestion.ref)
        try:
            judged = await background.call(lambda: self._models.judge(suggestion))
        except WizardError as error:
            unjudged = {**self.view.unjudged, suggestion.ref: error.what}
            self.view = replace(self.view, judging=None, unjudged=unjudged)
        else:
            self.view = replace(self.view, judging=None, judged={**self.view.judged, suggestion.ref: judged})

    # -- what is taken -------------------------------------------------------------------------------------------------

    @work(exclusive=True, group="read")
    async def _read(self, ref: str) -> None:
        """Inspect the model; if it is gated, ask once for a token."""
        before = os.environ.get(TOKEN)
        try:
            facts = await self._look(ref)
            if facts is None and self.view.error and self.view.error.code == GATED and await self._token():
                facts = await self._look(ref)
                if facts is None:
                    set_token(before)  # a rejected token would also block public models
        except asyncio.CancelledError:
            set_token(before)
            raise
        if facts is not None:
            self.dismiss(facts)

    async def _look(self, ref: str) -> ModelFacts | None:
        """The model's facts; None, with the error shown, if they are not available."""
        self.view = replace(self.view, reading=ref, error=None, notice="")
        try:
            return await background.call(lambda: self._models.find(ref))
        except WizardError as error:
            self.view = replace(self.view, reading=None, error=error)
            return None

    async def _token(self) -> bool:
        """Ask for a token, which is set for this process and its children. False if none was entered."""
        form = FormScreen(tr("The Hub requires you to log in"), [HF_TOKEN], {})
        answers = await self.app.push_screen_wait(form)
        if answers:
            set_token(str(answers[HF_TOKEN.name]))
        return bool(answers)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter, and search."""
        if event.value != self.view.text:
            self._chosen = None
            changed = replace(self.view, text=event.value, error=None, notice="", trouble="", searching=False)
            self.view = replace(changed, entries=() if not is_path(event.value) else self.view.entries)
            self._typed()

    def on_option_list_option_selected(self) -> None:
        """A click on a model accepts it."""
        self.action_accept()

    def on_option_list_option_highlighted(self) -> None:
        """Another row is selected."""
        self._point()

    def _point(self) -> None:
        """Show details of the selected row; for one from the Hub determine whether it fits."""
        row = self._row()
        more = one_line(row.about) if isinstance(row, Suggestion) else ""
        about = self.query_one("#model-about", Static)
        about.update(more)
        about.display = bool(more)
        if row is None or name(row) == self._pointed:
            return
        self._pointed = name(row)
        self.workers.cancel_group(self, "judge")
        if self.view.judging is not None:
            self.view = replace(self.view, judging=None)
        known = not isinstance(row, Suggestion) or row.verdict is not None or row.ref in self.view.unjudged
        if isinstance(row, Suggestion) and row.place != "here" and row.usable and not (known or self.view.looking):
            self._judge(row)

    def action_move(self, by: int) -> None:
        """Move the cursor in the list while the field keeps the focus."""
        picker = self.query_one(Picker)
        if self._rows:
            picker.highlighted = max(0, min(len(self._rows) - 1, (picker.highlighted or 0) + by))
            self._chosen = name(self._rows[picker.highlighted])

    def action_scroll(self, pages: int) -> None:
        """Scroll an explanation that is longer than its panel, or else move the cursor in the list by a page."""
        if super().check_action("scroll", ()):
            super().action_scroll(pages)
            return
        picker = self.query_one(Picker)
        (picker.action_page_down if pages > 0 else picker.action_page_up)()  # type: ignore[no-untyped-call]
        self.action_move(0)

    @work(exclusive=True, group="search")
    async def action_complete(self) -> None:
        """Complete the common prefix of all matching paths, or else the selected one; or report that none matches.

        The folder is read again: the list may belong to an earlier input.
        """
        text = self.view.text
        entries = tuple(await background.call(lambda: self._models.browse(text.strip())))
        self.view = replace(self.view, entries=entries)
        row, longer = self._row(), completed(text, entries)
        if not entries:
            nothing = tr("No folder or .gguf file starts with {path}", path=text.strip())
            self.view = replace(self.view, notice=nothing, error=None)
        elif longer != text:
            self._type(longer)
        else:
            self._type(row.path if isinstance(row, Entry) else entries[0].path)

    def _type(self, text: str) -> None:
        field = self.query_one(Input)
        field.value = text
        field.cursor_position = len(text)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Completion only for a path, and paging only in a list with several pages."""
        if action == "complete":
            return is_path(self.view.text)
        pages = action == "scroll" and any(picker.max_scroll_y > 0 for picker in self.query(Picker))
        return pages or super().check_action(action, parameters)

    def _row(self) -> Row | None:
        at = self.query_one(Picker).highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    def action_accept(self) -> None:
        """Inspect the selected model, or open the folder, or show why it cannot be used."""
        row = self._row()
        if self.view.reading is not None or row is None:
            return
        if isinstance(row, str):
            self._read(row)
        elif isinstance(row, Entry):
            if row.kind == "folder":
                self._type(row.path)
            else:
                self._read(row.path.rstrip("/"))
        elif row.usable:
            self._read(row.ref)
        else:
            why = reasons.text(row.why_not or tr("not possible here"))
            self.view = replace(self.view, notice=tr("Cannot use {model}: {why}", model=row.title, why=why))

    def dismiss(self, result: ModelFacts | None = None) -> AwaitComplete:
        """Leave; pending searches must not finish without a screen."""
        for group in ("suggestions", "search", "judge"):
            self.workers.cancel_group(self, group)
        return super().dismiss(result)

    def action_back(self) -> None:
        """Stop waiting, or clear the input, or go back; in this order."""
        if self.view.reading is not None:
            self.workers.cancel_group(self, "read")
            self.view = replace(self.view, reading=None)
        elif self.view.text:
            self.query_one(Input).value = ""
        else:
            self.dismiss(None)

    def watch_view(self, old: ModelView, view: ModelView) -> None:
        """Show the state."""
        if view.error is not old.error or view.error is None:
            self.query_one(ErrorPanel).show(view.error)
        line, text = self.query_one("#state", Static), state(view)
        line.update(text)
        line.display = bool(text)
        if is_path(old.text) != is_path(view.text):
            self.refresh_bindings()
        self._list(view)

    def _list(self, view: ModelView) -> None:
        """Show the rows; the cursor stays on the row that the user selected."""
        self._rows, at = rows(view)
        names = [name(row) for row in self._rows]
        if self._chosen in names:
            at = names.index(self._chosen or "")
        self.query_one(Picker).show(contents(self._rows, view), at)
        self._point()
        self.call_after_refresh(self.refresh_bindings)  # there may be more pages now, or fewer

    def relabel(self) -> None:
        """Update all text to the current language; the verdicts are texts of the search, which runs again."""
        super().relabel()
        self.query_one(".heading", Static).update(Content(tr("Which model do you want to serve?")))
        self.query_one(Input).placeholder = tr("filter, search, model ID, folder, .gguf")
        self._pointed = None
        self.view = replace(self.view, judged={}, unjudged={})
        self.mutate_reactive(ModelScreen.view)
        self._suggest()
