"""What all stages have in common: the frame, going back, quitting, help."""

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
from wizard.tui.widgets.chrome import JourneyBar, KeyBar
from wizard.tui.widgets.explanation import ExplanationPanel, Pinned, roomy
from wizard.tui.widgets.pane import Pane

R = TypeVar("R")


class StageScreen(Screen["R | None"], Generic[R]):
    """A stage of the journey. It is dismissed with what was decided, or with None to go back.

    A screen gets what it shows and the functions it may call; it knows neither the other screens nor their order.
    """

    STAGE: ClassVar[int] = -1
    """Index into `wizard.tui.widgets.chrome.STAGES`."""
    HELP: ClassVar[str] = ""
    """What this stage is for, in a few sentences, for the help screen; a message for `wizard.kernel.language.tr`."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f3", "explain", mark("Explain"), id="stage.explain", priority=True),
        Binding("escape", "back", mark("Back"), id="stage.back"),
        Binding("question_mark", "app.help", mark("Help"), id="stage.help", show=False),
        Binding("q", "app.quit", mark("Quit"), id="stage.quit"),
        Binding("pageup", "scroll(-1)", mark("Scroll"), priority=True, key_display="PgUp/Dn", id="stage.page_up"),
        Binding("pagedown", "scroll(1)", mark("Scroll"), priority=True, show=False, id="stage.page_down"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.guide = Guide()
        """Whether explanations are shown, and the workshop; the wizard's own is put here before the stage is shown."""

    def framed(self, *widgets: Widget) -> ComposeResult:
        """The stage's own ``widgets`` in the frame that all stages have."""
        yield JourneyBar(self.STAGE)
        if pinned := self._pinned():
            yield Pinned(Content(pinned))
        yield Pane(*widgets, id="stage", can_focus=False)
        yield ExplanationPanel()
        yield KeyBar()

    def _pinned(self) -> str:
        """What a facilitator decided of what is asked here."""
        if not self.guide.workshop.pin:
            return ""
        from wizard.plan.workshop import pinned_words

        return pinned_words(self.guide.workshop, self.stage_name)

    @property
    def stage_name(self) -> str:
        """One of `wizard.catalog.explanations.STAGES`, or `START`."""
        return explanations.STAGES[self.STAGE] if self.STAGE >= 0 else explanations.START

    def on_screen_resume(self) -> None:
        """Teach, if explanations are on: that may have changed since."""
        self.explain()

    def on_resize(self) -> None:
        """There may be more room for the explanation now, or less."""
        self.explain()

    def explanation(self) -> tuple[explanations.Part, ...]:
        """What is to be known here."""
        from wizard.plan.explanation import of_stage

        return of_stage(self.stage_name, self.guide.workshop)

    def _explanation(self) -> tuple[explanations.Part, ...]:
        """The present explanation, or why it cannot be read: the journey goes on without it."""
        try:
            return self.explanation()
        except WizardError as error:
            return (explanations.Part(error.code, f"{error.what} {error.todo}"),)

    def explain(self) -> None:
        """Show the present explanation, if explanations are on; a conversation needs each row of a small terminal."""
        explanation, brief = self._explanation() if self.guide.shown else (), self.stage_name != explanations.STAGES[-1]
        for panel in self.query(ExplanationPanel):
            panel.show(explanation, title=tr("Explanation"), brief=brief)

    def action_explain(self) -> None:
        """Show explanations or hide them; where there is no room beside the stage, open this one in a window."""
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
        """Go back to the stage before."""
        self.dismiss(None)

    def action_scroll(self, pages: int) -> None:
        """Scroll what is to be read while a list or a field keeps the focus: its pane, and all in a low terminal."""
        for pane in self.query("#stage, .reading"):
            pane.scroll_relative(y=pages * max(1, pane.size.height - 1), animate=False, immediate=True)

    @property
    def hides_something(self) -> bool:
        """Whether there is more to read than is in sight."""
        return any(pane.max_scroll_y > 0 for pane in self.query("#stage, .reading"))

    def relabel(self) -> None:
        """Say everything in the present language and lose nothing that was typed, chosen or streamed.

        Each part of the screen renders its own texts again (`Speaks`). The output of tools stays as it is.
        """
        for pinned in self.query(Pinned):
            pinned.update(Content(self._pinned()))
        self.explain()

    def leave(self) -> None:
        """The user wants to quit; a stage that has something running asks first."""
        self.app.exit(0)

    def terminate(self) -> None:
        """The wizard was sent a signal: leave without asking, as the other interfaces do."""
        self.app.exit(CancelledError.exit_code)
