"""Stage 4: everything that the plan will do, before it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import OptionList, Static

from wizard.catalog.explanations import Part
from wizard.chat.saving import target
from wizard.export.formats import FORMATS, Format, save
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.text import one_line, plain
from wizard.kernel.units import duration
from wizard.plan.explanation import of_step
from wizard.plan.plan import Plan, Start, Step
from wizard.plan.question import Answers, Question
from wizard.plan.questions import SERVER
from wizard.plan.summary import cost, sums
from wizard.tui import background
from wizard.tui.clipboard import copy
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.pane import Pane
from wizard.tui.widgets.picker import Picker

FILE = Question("file", "text", mark("File"), "", required=True, help=mark("~ is your home folder."))
"""The question for the export file."""


@dataclass(frozen=True, slots=True)
class ReviewView:
    """The state of the screen."""

    plan: Plan | None = None
    at: int = 0
    """The selected row: the overview, then the steps."""
    error: WizardError | None = None
    answers: Answers = field(default_factory=dict)
    """Name and port, if the user set them."""


class ReviewScreen(StageScreen[Plan]):
    """Dismissed with the accepted plan."""

    STAGE = 3
    HELP = mark(
        "This is the whole plan: each step with its reason and the exact commands, which you could also run "
        "manually. c copies the commands of the selected step for use in a shell.\nx saves the plan to a file: "
        "as a shell script, as the plan for `run`, or as the answers that lead to it.\nNothing is downloaded or "
        "changed until you run the plan. Everything except container images is created inside the workspace "
        "folder."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Run it"), priority=True, key_display="⏎", id="review.accept"),
        Binding("n", "server", mark("Name and port"), id="review.server"),
        Binding("c", "copy", mark("Copy the commands"), id="review.copy"),
        Binding("x", "export", mark("Export"), id="review.export"),
    ]
    view: reactive[ReviewView] = reactive(ReviewView())

    def __init__(self, plan: Callable[[Answers], Plan], answers: Answers | None = None) -> None:
        super().__init__()
        self._plan = plan
        self.set_reactive(ReviewScreen.view, ReviewView(answers=answers or {}))

    def compose(self) -> ComposeResult:
        """The steps, and the details of the selected one."""
        details = Pane(Static(id="step", markup=False), id="details", classes="reading", can_focus=False)
        yield from self.framed(
            Static(id="what", classes="heading"),
            Static(id="cost", classes="subheading"),
            ErrorPanel(),
            Container(Picker(id="steps", chooses=False), details, classes="master-detail"),
        )

    def on_mount(self) -> None:
        """Request the plan."""
        self._ask()

    @work(exclusive=True)
    async def _ask(self) -> None:
        answers = self.view.answers
        try:
            plan = await background.call(lambda: self._plan(answers))
        except WizardError as error:
            self.view = ReviewView(error=error, answers=answers)
            return
        rows = [Content(tr("Before you start")), *(_row(index, step) for index, step in enumerate(plan.steps, 1))]
        at = min(self.view.at, len(plan.steps))
        self.query_one(Picker).show(rows, at)
        self.view = ReviewView(plan, at, answers=answers)

    def relabel(self) -> None:
        """Update all text to the current language; the plan's texts are requested again."""
        super().relabel()
        self.mutate_reactive(ReviewScreen.view)
        self._ask()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the selected step."""
        if self.view.plan is not None and event.option_index <= len(self.view.plan.steps):
            self.view = replace(self.view, at=event.option_index)

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """A plan for another machine can be viewed, not run."""
        if action == "accept":
            return self.view.plan is not None and self.view.plan.is_for_here
        if action == "copy":
            return self.view.plan is not None and self.view.at > 0
        if action == "scroll":
            return self.hides_something
        return self.view.plan is not None if action == "export" else True

    def action_accept(self) -> None:
        """Run the plan."""
        self.dismiss(self.view.plan)

    def action_copy(self) -> None:
        """Copy the commands of the selected step; lines wrapped here are copied unwrapped."""
        if self.view.plan is not None and self.view.at:
            step = self.view.plan.steps[self.view.at - 1]
            count = len(step.actions)
            message = ntr("{count} command copied", "{count} commands copied", count, count=count)
            text = "\n".join(action.shell() for action in step.actions)
            copy(self.app, text, message, instead=tr("Press x to save the plan to a file."))

    @work(exclusive=True, group="form")
    async def action_export(self) -> None:
        """Export the plan to a file."""
        plan = self.view.plan
        if plan is None:
            return
        formats = {export_format.name: export_format for export_format in FORMATS}
        question = AskScreen(
            tr("Save the plan as …"), [(export_format.name, tr(export_format.title)) for export_format in FORMATS]
        )
        name = await self.app.push_screen_wait(question)
        file = formats[name].file(plan) if name else ""
        while name and file:
            file = await self._write(plan, formats[name], file)

    async def _write(self, plan: Plan, form: Format, file: str) -> str:
        """Ask for the ``file`` and write it; returns the input if it is not writable, to ask again."""
        ask = self.app.push_screen_wait
        typed = await ask(FormScreen(tr("Export"), [FILE], {FILE.name: file}))
        if typed is None:
            return ""
        path, there = target(str(typed[FILE.name]))
        if there:
            question = tr("{path} already exists. Overwrite it?", path=path)
            if await ask(AskScreen(question, [("no", tr("Keep it")), ("over", tr("Overwrite"))])) != "over":
                return ""
        try:
            await background.call(partial(save, plan, form, path, overwrite=there))
        except WizardError as error:
            self.notify(f"{error.what}\n{error.todo}", title=error.code, severity="error", markup=False)
            return str(typed[FILE.name])
        self.notify(str(path), title=tr("Saved"), markup=False)
        return ""

    @work(exclusive=True, group="form")
    async def action_server(self) -> None:
        """Set the server's name and port; the plan is created again."""
        answers = await self.app.push_screen_wait(
            FormScreen(tr("Name and port"), SERVER, self.view.answers, self.guide.workshop.pin)
        )
        if answers is not None:
            self.view = replace(self.view, at=0, answers=answers)
            self._ask()

    def explanation(self) -> tuple[Part, ...]:
        """The explanation of the selected step, without its reason, which is shown anyway."""
        view = self.view
        if view.plan is None or not view.at:
            return super().explanation()
        return of_step(view.plan, view.plan.steps[view.at - 1], self.guide.workshop, why=False)

    def watch_view(self, view: ReviewView) -> None:
        """Show the state."""
        self.explain()
        plan = view.plan
        self.query_one(ErrorPanel).show(view.error)
        self.query_one(".master-detail").display = plan is not None
        heading = tr("No plan for this setup") if view.error else tr("This is what will run")
        self.query_one("#what", Static).update(heading)
        if plan is None:
            back = tr("Press Esc to return to the recommendations and choose an alternative.")
            self.query_one("#cost", Static).update(back if view.error else tr("◌ Planning …"))
        else:
            self.query_one("#cost", Static).update(Content(f"{sums(plan)}\n{_server(plan)}"))
            text = _details(plan.steps[view.at - 1]) if view.at else _overview(plan)
            self.query_one("#step", Static).update(text)
            self.query_one("#details", Pane).scroll_home(animate=False)
        self.refresh_bindings()


def _server(plan: Plan) -> str:
    """The name and the ports of the plan's server, if they are still free."""
    starts = [action for step in plan.steps for action in step.actions if isinstance(action, Start)]
    parts = [
        tr("HTTP port {http} (gRPC {grpc}, metrics {metrics})", http=on.http, grpc=on.grpc, metrics=on.metrics)
        for on in (start.ports for start in starts)
    ]
    return " · ".join([tr("Server {name}", name=one_line(plan.name)), *parts])


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
    notes = (*plan.notes, tr("Everything except container images is created in {path}.", path=plan.workspace))
    lines = [Content.assemble(("• ", "$accent"), plain(note)) for note in notes]
    if not plan.is_for_here:
        text = tr("This plan is for {host}. You can view it here and run it there.", host=one_line(plan.host))
        lines.insert(0, Content.assemble(("! ", "bold $warning"), text))
    return Content("\n").join(lines)
