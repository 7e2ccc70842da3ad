"""Stage 4: everything that will be done, before anything is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import OptionList, Static

from wizard.catalog.lessons import Part
from wizard.kernel.errors import WizardError
from wizard.kernel.text import one_line, plain
from wizard.kernel.units import duration
from wizard.plan.lesson import of_step
from wizard.plan.plan import Plan, Start, Step
from wizard.plan.questions import SERVER, Answers
from wizard.plan.words import cost, sums
from wizard.tui import background
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.picker import Picker


@dataclass(frozen=True, slots=True)
class ReviewView:
    """What is on the screen."""

    plan: Plan | None = None
    at: int = 0
    """The row under the cursor: the overview, then the steps."""
    error: WizardError | None = None
    answers: Answers = field(default_factory=dict)
    """Name and port, if the user gave them."""


class ReviewScreen(StageScreen[Plan]):
    """Dismissed with the accepted plan."""

    STAGE = 3
    HELP = (
        "This is the whole plan: each step with the reason for it and the exact commands, which you could run by hand. "
        "Nothing has been downloaded or changed so far. Everything is made inside the workspace folder."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Do it", priority=True, key_display="⏎"),
        Binding("n", "server", "Name and port"),
        Binding("pageup", "scroll(-1)", "Scroll", priority=True, key_display="PgUp/Dn"),
        Binding("pagedown", "scroll(1)", "Scroll", priority=True, show=False),
    ]
    view: reactive[ReviewView] = reactive(ReviewView())

    def __init__(self, plan: Callable[[Answers], Plan], answers: Answers | None = None) -> None:
        super().__init__()
        self._plan = plan
        self.set_reactive(ReviewScreen.view, ReviewView(answers=answers or {}))

    def compose(self) -> ComposeResult:
        """The steps, and everything about the one under the cursor."""
        details = VerticalScroll(Static(id="step", markup=False), id="details", classes="reading", can_focus=False)
        yield from self.framed(
            Static(id="what", classes="heading"),
            Static(id="cost", classes="subheading"),
            ErrorPanel(),
            Container(Picker(id="steps"), details, classes="master-detail"),
        )

    def on_mount(self) -> None:
        """Ask for the plan."""
        self._ask()

    @work(exclusive=True)
    async def _ask(self) -> None:
        answers = self.view.answers
        try:
            plan = await background.call(lambda: self._plan(answers))
        except WizardError as error:
            self.view = ReviewView(error=error, answers=answers)
            return
        rows = [Content("Before it begins"), *(_row(index, step) for index, step in enumerate(plan.steps, 1))]
        self.query_one(Picker).show(rows)
        self.view = ReviewView(plan, answers=answers)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the step under the cursor."""
        if self.view.plan is not None and event.option_index <= len(self.view.plan.steps):
            self.view = replace(self.view, at=event.option_index)

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """A plan for another machine can be looked at, not carried out."""
        if action == "accept":
            return self.view.plan is not None and self.view.plan.host == "this machine"
        return True

    def action_accept(self) -> None:
        """Carry the plan out."""
        self.dismiss(self.view.plan)

    @work(exclusive=True, group="form")
    async def action_server(self) -> None:
        """Choose the server's name and port; the plan is made anew."""
        answers = await self.app.push_screen_wait(
            FormScreen("Name and port", SERVER, self.view.answers, self.guide.workshop.pin)
        )
        if answers is not None:
            self.view = replace(self.view, answers=answers)
            self._ask()

    def lesson(self) -> tuple[Part, ...]:
        """What is to be known of the step under the cursor; the reason for it is shown anyway."""
        view = self.view
        if view.plan is None or not view.at:
            return super().lesson()
        return of_step(view.plan, view.plan.steps[view.at - 1], self.guide.workshop, why=False)

    def watch_view(self, view: ReviewView) -> None:
        """Show the state."""
        self.explain()
        plan = view.plan
        self.query_one(ErrorPanel).show(view.error)
        self.query_one(".master-detail").display = plan is not None
        what = "There is no plan for this way" if view.error else "This is what will be done"
        self.query_one("#what", Static).update(what)
        if plan is None:
            said = "Esc goes back to the advice, where another way can be taken." if view.error else "◌ Planning …"
            self.query_one("#cost", Static).update(said)
        else:
            self.query_one("#cost", Static).update(Content(f"{sums(plan)}\n{_server(plan)}"))
            text = _details(plan.steps[view.at - 1]) if view.at else _overview(plan)
            self.query_one("#step", Static).update(text)
            self.query_one("#details", VerticalScroll).scroll_home(animate=False)
        self.refresh_bindings()


def _server(plan: Plan) -> str:
    """The name and the ports that the plan's server gets if they are still free."""
    starts = [action for step in plan.steps for action in step.actions if isinstance(action, Start)]
    ports = [f"HTTP port {one.ports.http} (gRPC {one.ports.grpc}, metrics {one.ports.metrics})" for one in starts]
    return " · ".join([f"Server {one_line(plan.name)}", *ports])


def _row(index: int, step: Step) -> Content:
    time = "" if step.estimate.unknown else f"  {duration(step.estimate.seconds)}"
    return Content.assemble(f"{index} {one_line(step.title)}", (time, "$text-muted"))


def _details(step: Step) -> Content:
    parts = [
        Content(plain(step.why)),
        Content.assemble((cost(step.estimate), "$text-muted")),
        Content(""),
    ]
    for action in step.actions:
        parts.append(Content.assemble(("$ ", "bold $accent"), plain(action.shell())))
    return Content("\n").join(parts)


def _overview(plan: Plan) -> Content:
    notes = (*plan.notes, f"Everything is made in {plan.workspace}.")
    lines = [Content.assemble(("• ", "$accent"), plain(note)) for note in notes]
    if plan.host != "this machine":
        text = f"This plan is for {one_line(plan.host)}. It can be looked at here and carried out there."
        lines.insert(0, Content.assemble(("! ", "bold $warning"), text))
    return Content("\n").join(lines)
