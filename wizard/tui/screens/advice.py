"""Stage 3: how the model should run here, what that costs in memory, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import OptionList, Static

from wizard.advise.advice import Advice, Choice, Note, Rejection, Speed, Wishes
from wizard.kernel.errors import WizardError
from wizard.kernel.text import plain
from wizard.kernel.values import to_data
from wizard.model.facts import ModelFacts
from wizard.plan.questions import WISHES, wishes
from wizard.plan.words import choice_room, choice_title, model_line, one_line, stack, weights
from wizard.tui import background
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.bill import MemoryBill
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.facts import Facts
from wizard.tui.widgets.picker import Picker


@dataclass(frozen=True, slots=True)
class AdviceView:
    """What is on the screen."""

    advice: Advice | None = None
    at: int = 0
    """The choice under the cursor."""
    wishes: Wishes = field(default_factory=Wishes)
    error: WizardError | None = None


class AdviceScreen(StageScreen[Choice]):
    """Dismissed with the choice."""

    STAGE = 2
    HELP = (
        "Several programs can serve a model, with weights of several sizes. The wizard computes what fits into this "
        "machine's memory and puts the best way on top; the reasons and the memory bill are shown for each way. "
        "What cannot work here is listed too, with the smallest change that would make it possible."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Take this way", priority=True, key_display="⏎"),
        Binding("w", "wishes", "Your wishes"),
        Binding("pageup", "scroll(-1)", "Scroll", priority=True, key_display="PgUp/Dn"),
        Binding("pagedown", "scroll(1)", "Scroll", priority=True, show=False),
    ]
    view: reactive[AdviceView] = reactive(AdviceView())

    def __init__(
        self, facts: ModelFacts, advise: Callable[[Wishes], Advice], wishes: Wishes, chosen: Choice | None = None
    ) -> None:
        super().__init__()
        self._facts, self._advise, self._chosen = facts, advise, chosen
        self.set_reactive(AdviceScreen.view, AdviceView(wishes=wishes))

    def compose(self) -> ComposeResult:
        """The choices, and everything about the one under the cursor."""
        details = VerticalScroll(
            Static(id="headline"),
            MemoryBill(),
            Facts(classes="-marks"),
            id="details",
            classes="reading",
            can_focus=False,
        )
        yield from self.framed(
            Static(Content(f"How should {one_line(self._facts.name)} run here?"), classes="heading"),
            Static(Content(model_line(self._facts)), classes="subheading"),
            ErrorPanel(),
            Container(Picker(id="choices"), details, classes="master-detail"),
        )

    def on_mount(self) -> None:
        """Ask for the advice."""
        self.mutate_reactive(AdviceScreen.view)  # it was set before anything was there to show it
        self._ask()

    @work(exclusive=True)
    async def _ask(self) -> None:
        wishes = self.view.wishes
        try:
            advice = await background.call(lambda: self._advise(wishes))
        except WizardError as error:
            self.view = replace(self.view, advice=None, error=error)
            return
        at = advice.choices.index(self._chosen) if self._chosen in advice.choices else 0
        titles = [_row(choice, index == 0) for index, choice in enumerate(advice.choices)]
        self.query_one(Picker).show(titles, at)
        self.view = AdviceView(advice, at, wishes)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the choice under the cursor."""
        if self.view.advice is not None and event.option_index < len(self.view.advice.choices):
            self.view = replace(self.view, at=event.option_index)

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """There must be something to take."""
        choices = self.view.advice.choices if self.view.advice else ()
        return bool(choices) if action == "accept" else True

    def action_accept(self) -> None:
        """Take the choice under the cursor."""
        if self.view.advice is not None:
            self.dismiss(self.view.advice.choices[self.view.at])

    @work(exclusive=True, group="form")
    async def action_wishes(self) -> None:
        """Say what matters; the advice is made anew."""
        given = to_data(self.view.wishes)
        answers = await self.app.push_screen_wait(FormScreen("What do you wish for?", WISHES, given))
        if answers is not None:
            self.view = replace(self.view, wishes=wishes(answers), error=None)
            self._ask()

    async def watch_view(self, view: AdviceView) -> None:
        """Show the state."""
        self.query_one(ErrorPanel).show(view.error)
        advice, headline, facts = view.advice, self.query_one("#headline", Static), self.query_one(Facts)
        bill = self.query_one(MemoryBill)
        bill.display = bool(advice and advice.choices)
        self.query_one(Picker).display = bill.display
        self.query_one("#details").set_class(not bill.display, "-alone")
        if advice is None:
            headline.update("" if view.error else "◌ Thinking …")
        elif advice.choices:
            choice = advice.choices[view.at]
            headline.update(_headline(choice))
            bill.show(choice.memory)
            await facts.show([*_notes(choice), *_rejections(advice.rejections)])
            self.query_one("#details", VerticalScroll).scroll_home(animate=False)
        else:
            lead = Content.assemble(("✗ This model cannot be served here as it is.", "bold $error"), "\n")
            headline.update(lead + Content("Esc: another model. w: wish for less. Or do what is said below."))
            await facts.show(_rejections(advice.rejections))
        self.refresh_bindings()


def _row(choice: Choice, recommended: bool) -> Content:
    star = ("   ★ recommended" if recommended else "", "$accent")
    return Content.assemble((choice_title(choice), "bold"), star, "\n", (choice_room(choice), "$text-muted"))


def _headline(choice: Choice) -> Content:
    title = f"{stack(choice.stack)} serves {weights(choice)} weights, {choice_room(choice)}."
    runtime = (
        f"{one_line(choice.release)} · runtime {one_line(choice.runtime)} · KV cache {one_line(choice.kv_cache_dtype)}"
    )
    return Content("\n").join(
        [
            Content.assemble((title, "bold")),
            Content.assemble((runtime, "$text-muted")),
            *([Content(_speed(choice.speed))] if choice.speed else []),
        ]
    )


def _speed(speed: Speed) -> str:
    figures = [
        f"{1000 / speed.tpot_ms:.0f} tokens/s for each person" if speed.tpot_ms else "",
        f"{speed.throughput_tokens_per_s:.0f} tokens/s in all" if speed.throughput_tokens_per_s else "",
        f"first token after {speed.ttft_ms:.0f} ms" if speed.ttft_ms else "",
    ]
    return f"Expected: {', '.join(figure for figure in figures if figure)} (by {one_line(speed.provider)})"


Row: TypeAlias = "tuple[Content, Content]"


def _title(text: str) -> list[Row]:
    return [(Content(""), Content("")), (Content(""), Content.assemble((text, "bold")))]


def _notes(choice: Choice) -> list[Row]:
    def rows(title: str, mark: Content, notes: tuple[Note, ...]) -> list[Row]:
        return [*_title(title), *((mark, _note(note)) for note in notes)] if notes else []

    good, mind = Content.assemble(("✓", "$success")), Content.assemble(("!", "bold $warning"))
    return rows("Why", good, choice.reasons) + rows("Mind", mind, choice.warnings)


def _note(note: Note) -> Content:
    return Content.assemble(plain(note.text), (f" ({plain(note.source)})" if note.source else "", "$text-muted"))


def _rejections(rejections: tuple[Rejection, ...]) -> list[Row]:
    rows = _title("What does not work here") if rejections else []
    for one in rejections:
        name = f"{stack(one.stack)}{' · ' + one_line(one.quantization) if one.quantization else ''}: "
        text = Content.assemble((name, "bold"), plain(one.text), "\n", ("→ ", "$accent"), plain(one.remedy))
        rows.append((Content.assemble(("✗", "$error")), text))
    return rows
