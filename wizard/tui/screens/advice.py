"""Stage 3: the recommended setup, its memory, its reasons, and alternatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import OptionList, Static

from wizard.advise import engines, pareto, refusals
from wizard.advise.advice import Advice, Choice, Constraints
from wizard.advise.pareto import Front
from wizard.advise.reasons import Setting
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.kernel.values import to_data
from wizard.model.facts import ModelFacts
from wizard.plan.questions import CONSTRAINTS, SETUP, constraints
from wizard.plan.summary import model_line
from wizard.plan.workshop import constraints_of
from wizard.texts import advise, reasons, remedies, report
from wizard.texts.figure import Figure
from wizard.tui import background
from wizard.tui.key_groups import WHAT_IF, WHY
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import ReaderScreen
from wizard.tui.screens.pareto import ParetoScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.views import advice_text
from wizard.tui.views.advice import AdviceView
from wizard.tui.views.what_if import fields, nearest
from wizard.tui.widgets.bill import MemoryBill
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.fields import WhatIf
from wizard.tui.widgets.lines import Text
from wizard.tui.widgets.notes import Notes
from wizard.tui.widgets.pane import Pane
from wizard.tui.widgets.picker import Picker

GROUPS = {
    "goal": mark("Use case"),
    "quantization": mark("Setup (never overridden; an error if not possible)"),
    "max_gpus": mark("Resources"),
    "as_published": mark("Files and versions"),
    "replicas": mark("Load and latency"),
}
"""Name of the first constraint of a group → heading of the group."""


class AdviceScreen(StageScreen[Choice]):
    """Dismissed with the choice."""

    STAGE = 2
    HELP = mark(
        "Several engines can serve a model, with weights of several sizes. The wizard computes what fits into "
        "this machine's memory and lists the recommendation first, then the best of each engine and format, then "
        "the rest.\nWhat if: choose a constraint with ← and → (format, tensor parallel size, KV cache, context, "
        "users) and change it with + and -; everything is recomputed. A star marks the constraints that you set. "
        "They are never overridden; if they are not possible, t applies the smallest fix and r resets "
        "everything.\nTensorRT-LLM no longer supports compiled engines: when the selected setup uses one, press "
        "s to see how to serve the same model without it."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Use this setup"), priority=True, key_display="⏎", id="advice.accept"),
        Binding("left", "field(-1)", mark("What if"), priority=True, key_display="←→", id="advice.left", group=WHAT_IF),
        Binding("right", "field(1)", mark("What if"), priority=True, show=False, id="advice.right", group=WHAT_IF),
        Binding("plus,equals_sign", "change(1)", mark("Change"), key_display="+-", id="advice.more", group=WHAT_IF),
        Binding("minus", "change(-1)", mark("Change"), show=False, id="advice.less", group=WHAT_IF),
        Binding("t", "remedy", mark("Apply the fix"), id="advice.remedy", group=WHAT_IF),
        Binding("s", "succeed", mark("Without an engine"), id="advice.succeed", group=WHAT_IF),
        Binding("r", "reset", mark("Reset"), id="advice.reset", group=WHAT_IF),
        Binding("e", "explain", mark("Explain figures"), id="advice.explain", group=WHY),
        Binding("p", "pareto", mark("Pareto front"), id="advice.pareto", group=WHY),
        Binding("x", "refused", mark("Not possible"), id="advice.refused", group=WHY),
        Binding("w", "constraints", mark("Constraints"), id="advice.constraints", group=WHAT_IF),
    ]
    view: reactive[AdviceView] = reactive(AdviceView(), repaint=False)

    def __init__(
        self,
        facts: ModelFacts,
        advise: Callable[[Constraints], Advice],
        explain: Callable[[Choice], Sequence[Figure]],
        front: Callable[[Constraints], Front],
        constraints: Constraints,
        chosen: Choice | None = None,
    ) -> None:
        super().__init__()
        self._facts, self._advise, self._explain, self._front, self._chosen = facts, advise, explain, front, chosen
        self._fields = fields(facts)
        self.set_reactive(AdviceScreen.view, AdviceView(constraints=constraints, given=constraints))

    def compose(self) -> ComposeResult:
        """The choices, and the details of the selected one."""
        details = Pane(Text(), MemoryBill(), Notes(), id="details", classes="reading", can_focus=False)
        yield from self.framed(
            Static(classes="heading"),
            Static(classes="subheading"),
            WhatIf(),
            ErrorPanel(),
            Static(id="load", markup=False),
            Container(Picker(id="choices"), details, classes="master-detail"),
        )

    def on_mount(self) -> None:
        """Request the advice."""
        self._entitle()
        self.mutate_reactive(AdviceScreen.view)  # it was set before any widget could show it
        self._ask(self._chosen)

    def _entitle(self) -> None:
        heading = tr("How should {name} run on this machine?", name=one_line(self._facts.name))
        self.query_one(".heading", Static).update(Content(heading))
        self.query_one(".subheading", Static).update(Content(model_line(self._facts)))

    def relabel(self) -> None:
        """Update all text to the current language; the advice's texts are requested again."""
        super().relabel()
        self._entitle()
        if self.view.advice is None and self.view.error is None:
            self._ask(self._chosen)  # an active request would mix two languages
        else:
            self._what_if(self.view.constraints, self.view.choice or self.view.last)
        self.mutate_reactive(AdviceScreen.view)

    @work(exclusive=True)
    async def _ask(self, like: Choice | None) -> None:
        """Request it in a thread: the first time it reads tables from disk, and a draft model may be on the Hub."""
        constraints = self.view.constraints
        try:
            self._answer(await background.call(lambda: self._advise(constraints)), constraints, like)
        except WizardError as error:
            self.view = replace(self.view, advice=None, choices=(), error=error)

    def _what_if(self, constraints: Constraints, like: Choice | None) -> None:
        """Show the effect at once: the advice is pure and takes a few milliseconds. Pinned constraints are kept."""
        constraints = constraints_of(self.guide.workshop, constraints)
        if constraints.draft:  # if its lookup failed, it is looked up again
            self.view = replace(self.view, constraints=constraints, error=None)
            self._ask(like)
            return
        try:
            self._answer(self._advise(constraints), constraints, like)
        except WizardError as error:
            self.view = replace(self.view, advice=None, choices=(), constraints=constraints, error=error)

    def _answer(self, advice: Advice, constraints: Constraints, like: Choice | None) -> None:
        choices = report.ordered(advice.choices)
        at = nearest(choices, like)
        last = choices[at] if choices else self.view.choice or self.view.last
        self.view = replace(
            self.view, advice=advice, choices=choices, at=at, constraints=constraints, last=last, error=None
        )

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the selected choice."""
        if event.option_index < len(self.view.choices):
            at = event.option_index
            self.view = replace(self.view, at=at, last=self.view.choices[at])

    def on_what_if_picked(self, event: WhatIf.Picked) -> None:
        """Let the keys change the clicked constraint."""
        self.view = replace(self.view, field=event.at)

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Enabled if there is something to accept, to reset, or to show."""
        view = self.view
        if action == "scroll":
            return self.hides_something
        return {
            "accept": bool(view.choices),
            "explain": bool(view.choices),
            "pareto": bool(view.choices),
            "field": view.last is not None,
            "change": view.last is not None,
            "remedy": bool(self._remedy()),
            "succeed": view.choice is not None and engines.builds(view.choice.stack),
            "reset": view.constraints != view.given,
            "refused": bool(view.choices and view.advice and view.advice.rejections),
        }.get(action, True)

    def action_accept(self) -> None:
        """Accept the selected choice."""
        if self.view.choice is not None:
            self.dismiss(self.view.choice)

    def action_field(self, by: int) -> None:
        """Select the constraint that keys change."""
        self.view = replace(self.view, field=(self.view.field + by) % len(self._fields))

    def action_change(self, by: int) -> None:
        """Change the selected constraint to its next or previous value."""
        view = self.view
        changed = self._fields[view.field].stepped(view.constraints, view.choice or view.last, by)
        pinned = self._fields[view.field].name in self.guide.workshop.pin
        if changed != view.constraints and not pinned:
            self._what_if(changed, view.choice or view.last)
        elif not self.query("Toast"):  # once, however long the key is held
            why = tr("Your facilitator has set this.") if pinned else tr("No further values here.")
            self.notify(why, timeout=2)

    def action_reset(self) -> None:
        """Undo every "what if", and go to the first choice."""
        self._what_if(self.view.given, None)

    def action_succeed(self) -> None:
        """Serve the same model without an engine: with the first successor that can, or show why none can."""
        candidates = [engines.succeeded(self.view.constraints, stack) for stack in engines.successors(self._facts)]
        self._what_if(
            next((candidate for candidate in candidates if self._advise(candidate).feasible), candidates[0]), None
        )

    def action_remedy(self) -> None:
        """Apply the first rejection's remedy to the constraints."""
        changed = replace(self.view.constraints, **self._remedy())  # type: ignore[arg-type]  # names and types of constraints
        self._what_if(changed, self.view.last)

    def _remedy(self) -> Mapping[str, Setting]:
        advice = self.view.advice
        if advice is None or advice.choices or not advice.rejections:
            return {}
        return refusals.changes(advice.rejections[0].remedies)

    def action_explain(self) -> None:
        """Every figure of the choice, with its formula and its source."""
        if self.view.choice is not None:
            figures = self._explain(self.view.choice)
            text = "\n\n".join(
                f"{each.name} = {each.result}\n  = {each.formula}\n  {tr('Source: {source}', source=each.source)}"
                for each in figures
            )
            title = tr("Explanation of these figures · {way}", way=report.choice_title(self.view.choice))
            self.app.push_screen(ReaderScreen(title, text or tr("There are no formulas for these figures.")))

    @work(exclusive=True, group="pareto")
    async def action_pareto(self) -> None:
        """The Pareto front of the constraints; a chosen point becomes the constraints."""
        asked = self.view.constraints
        point = await self.app.push_screen_wait(ParetoScreen(lambda: self._front(asked)))
        if point is not None:
            self._what_if(pareto.constrained(asked, point), point.choice)

    def action_refused(self) -> None:
        """Everything that is not possible here, with remedies."""
        groups = refusals.grouped(self.view.advice.rejections if self.view.advice else ())
        text = "\n\n".join(
            f"✗ {advise.setups(each)}\n{reasons.text(each.reason)}\n→ {remedies.text(each.remedies, flags=False)}"
            for each in groups
        )
        self.app.push_screen(ReaderScreen(tr("Not possible on this machine"), text))

    @work(exclusive=True, group="form")
    async def action_constraints(self) -> None:
        """Set constraints; the advice is requested again."""
        given = to_data(self.view.constraints)
        answers = await self.app.push_screen_wait(
            FormScreen(
                tr("Set your constraints"),
                (*CONSTRAINTS, *SETUP),
                given,
                self.guide.workshop.pin,
                {name: tr(heading) for name, heading in GROUPS.items()},
            )
        )
        if answers is not None:
            made = constraints(answers)
            self.view = replace(self.view, constraints=made, given=made, error=None)
            self._ask(self._chosen)

    def watch_view(self, view: AdviceView) -> None:
        """Show the state: bar and speed in the next frame, the details in the one after."""
        self.query_one(ErrorPanel).show(view.error)
        choice = view.choice
        shown = [(tr(field.title), field.words(view.constraints, choice or view.last)) for field in self._fields]
        self.query_one(WhatIf).show(shown, view.field)
        self.query_one(WhatIf).display = view.last is not None
        self.query_one(MemoryBill).display = self.query_one(Picker).display = choice is not None
        details = self.query_one("#details", Pane)
        details.set_class(choice is None, "-alone")
        headline = self.query_one(Text)
        if choice is not None:
            headline.show(advice_text.headline(choice))
            self.query_one(MemoryBill).show(choice)
        elif view.advice is None:
            headline.show(Content("" if view.error else tr("◌ Computing …")))
        else:
            headline.show(advice_text.impossible(view, remedy=bool(self._remedy())))
        details.scroll_home(animate=False)
        self.call_later(self.call_after_refresh, self._show_rest)

    def _show_rest(self) -> None:
        view, notes = self.view, self.query_one(Notes)
        best = view.advice.choices[0] if view.advice and view.advice.choices else None
        common = advice_text.lengths(best) or next(filter(None, map(advice_text.lengths, view.choices)), None)
        load = advice_text.load(common)
        if str(self.query_one("#load", Static).content) != load:  # an update lays the screen out again
            self.query_one("#load", Static).update(load)
        self.query_one(Picker).show(
            [advice_text.row(choice, choice is best, common) for choice in view.choices], view.at
        )
        if view.choice is not None:
            others = view.advice.choices[1:2] if view.advice and view.choice is best else ()
            refused = len(view.advice.rejections) if view.advice else 0
            notes.show(advice_text.notes(view.choice, others[0] if others else None, refused))
        else:
            notes.show(advice_text.rejections(view.advice.rejections) if view.advice else ())
        self.refresh_bindings()
