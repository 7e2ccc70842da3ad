"""Common parts of all stages: the frame, going back, quitting, help."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from wizard.catalog import explanations
from wizard.kernel.errors import CancelledError, WizardError
from wizard.kernel.language import mark, tr
from wizard.tui.guide import Guide
from wizard.tui.textual_private import DropsWork
from wizard.tui.widgets.chrome import JourneyBar, KeyBar
from wizard.tui.widgets.explanation import ExplanationPanel, Pinned, roomy
from wizard.tui.widgets.pane import Pane

R = TypeVar("R")


class StageScreen(DropsWork, Screen["R | None"], Generic[R]):
    """A stage of the workflow. It is dismissed with the decision, or with None to go back.

    A screen gets its content and the functions that it may call; it knows neither the other screens nor their order.
    """

    STAGE: ClassVar[int] = -1
    """Index into `wizard.tui.widgets.chrome.STAGES`."""
    HELP: ClassVar[str] = ""
    """The purpose of this stage, in a few sentences, for the help screen; a message for `wizard.kernel.language.tr`."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f3", "explain", mark("Explain"), id="stage.explain", priority=True),
        Binding("escape", "back", mark("Back"), id="stage.back"),
        Binding("question_mark", "app.help", mark("Help"), id="stage.help", show=False),
        Binding("q", "app.quit_alone", mark("Quit"), id="stage.quit"),
        Binding("pageup", "scroll(-1)", mark("Scroll"), priority=True, key_display="PgUp/Dn", id="stage.page_up"),
        Binding("pagedown", "scroll(1)", mark("Scroll"), priority=True, show=False, id="stage.page_down"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.guide = Guide()
        """Whether explanations are shown, and the workshop; the wizard's own is put here before the stage is shown."""

    def framed(self, *widgets: Widget) -> ComposeResult:
        """The stage's own ``widgets`` in the common frame."""
        yield JourneyBar(self.STAGE)
        if pinned := self._pinned():
            yield Pinned(Content(pinned))
        yield Pane(*widgets, id="stage", can_focus=False)
        yield ExplanationPanel()
        yield KeyBar()

    def _pinned(self) -> str:
        """The pinned answers of this stage."""
        if not self.guide.workshop.pin:
            return ""
        from wizard.plan.workshop import pinned_words

        return pinned_words(self.guide.workshop, self.stage_name)

    @property
    def stage_name(self) -> str:
        """One of `wizard.catalog.explanations.STAGES`, or `START`."""
        return explanations.STAGES[self.STAGE] if self.STAGE >= 0 else explanations.START

    def on_screen_resume(self) -> None:
        """Show the explanation, if explanations are on, which may have changed."""
        self.explain()

    def on_resize(self) -> None:
        """There may be more or less room for the explanation now."""
        self.explain()

    def explanation(self) -> tuple[explanations.Part, ...]:
        """The parts of the current explanation."""
        from wizard.plan.explanation import of_stage

        return of_stage(self.stage_name, self.guide.workshop)

    def _explanation(self) -> tuple[explanations.Part, ...]:
        """The current explanation, or why it is not readable: the workflow continues without it."""
        try:
            return self.explanation()
        except WizardError as error:
            return (explanations.Part(error.code, f"{error.what} {error.todo}"),)

    def explain(self) -> None:
        """Show the current explanation, if explanations are on; a conversation needs every row of a small terminal."""
        explanation, brief = self._explanation() if self.guide.shown else (), self.stage_name != "chat"
        for panel in self.query(ExplanationPanel):
            panel.show(explanation, title=tr("Explanation"), brief=brief)

    def action_explain(self) -> None:
        """Toggle explanations; if there is no room next to the stage, open this one in a window."""
        from wizard.tui.screens.explanation import ExplanationScreen

        window = not roomy(self.app.size)
        self._teach(window or not self.guide.shown)
        if window:
            self.app.push_screen(ExplanationScreen(self._explanation(), partial(self._teach, False)))

    def _teach(self, shown: bool) -> None:
        self.guide.shown = shown
        self.explain()

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """A focused list or pane keeps its own PgUp and PgDn, unless an explanation is longer than its panel."""
        return any(panel.max_scroll_y > 0 for panel in self.query(ExplanationPanel)) if action == "scroll" else True

    def action_back(self) -> None:
        """Go back to the previous stage."""
        self.dismiss(None)

    def action_scroll(self, pages: int) -> None:
        """Scroll the details while a list or a field keeps the focus: their pane, and everything in a low terminal."""
        for pane in self.query("#stage, .reading"):
            pane.scroll_relative(y=pages * max(1, pane.size.height - 1), animate=False, immediate=True)

    @property
    def hides_something(self) -> bool:
        """Whether there is more text than is visible."""
        return any(pane.max_scroll_y > 0 for pane in self.query("#stage, .reading"))

    def relabel(self) -> None:
        """Update all text to the current language, and keep all input, selections and streamed text.

        Each part of the screen renders its own texts again (`Speaks`). The output of tools is unchanged.
        """
        for pinned in self.query(Pinned):
            pinned.update(Content(self._pinned()))
        self.explain()

    def leave(self) -> None:
        """The user wants to quit; a stage with a running task asks first."""
        self.app.exit(0)

    def terminate(self) -> None:
        """The wizard received a signal: leave without a question, as the other interfaces do."""
        self.app.exit(CancelledError.exit_code)
