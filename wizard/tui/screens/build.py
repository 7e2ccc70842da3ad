"""Stage 5: run the plan; every step and all output can be watched live, or later."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Input, Static

from wizard.catalog.explanations import Part
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.text import one_line
from wizard.plan.artefacts import dependants
from wizard.plan.explanation import of_step
from wizard.plan.plan import Step
from wizard.plan.question import Answers
from wizard.plan.summary import cost
from wizard.run.overrides import needed
from wizard.serve.endpoint import Endpoint  # noqa: F401 - in the base's annotation
from wizard.tui import fixing
from wizard.tui.clipboard import copy
from wizard.tui.event_messages import Begun, Ended, LogLines, Moved
from wizard.tui.garbage_collection import collect_and_freeze
from wizard.tui.key_groups import OUTPUT, STEPS
from wizard.tui.run import Run
from wizard.tui.screens.modal import AskScreen, ReaderScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.stopping import exit_code, may_stop
from wizard.tui.views.build import BuildView, Diagnosis, Phase, diagnosis
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.live_log import LiveLog
from wizard.tui.widgets.progress import ProgressLines
from wizard.tui.widgets.search_bar import SearchBar
from wizard.tui.widgets.steps import StepList

HALTED = (Phase.FAILED, Phase.CANCELLED)


class BuildScreen(StageScreen["Endpoint | str | Answers"]):
    """Dismissed with the ready server, ``"background"``, answers to change, or None to go back."""

    STAGE = 4
    HELP = mark(
        "The steps of the plan run one after another. You can stop at any time: completed steps are kept, and "
        "the next run resumes from there. b continues the build in the background; to return, select its row on "
        "the first screen. If the window closes, the build continues, too: this screen, `triton-wizard attach` and "
        "a notebook show it again.\nThe output scrolls along until you scroll up; press f or End to follow it again. / "
        "searches it, n and N go to the next and previous match, w wraps long lines, c copies the visible or "
        "selected text. The full output is in the files that l shows.\nTab moves to the steps: R reruns the "
        "selected one and every step that uses its results; s skips it, unless the server requires it."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Chat with it"), priority=True, key_display="⏎", id="build.accept"),
        Binding("a", "fix", mark("Apply the fix"), id="build.fix", group=STEPS),
        Binding("r", "run", mark("Try again"), id="build.run", group=STEPS),
        Binding("s", "skip", mark("Skip the step"), id="build.skip", group=STEPS),
        Binding("R", "redo", mark("Rerun the step"), id="build.redo", group=STEPS),
        Binding("d", "copy_diagnosis", mark("Copy the diagnosis"), id="build.diagnosis", group=OUTPUT),
        Binding("b", "background", mark("Background"), id="build.background", group=STEPS),
        Binding("slash", "find", mark("Search"), key_display="/", id="build.find", group=OUTPUT),
        Binding("n", "next(1)", mark("Next match"), key_display="n N", id="build.next", group=OUTPUT),
        Binding("N", "next(-1)", mark("Previous match"), show=False, id="build.previous", group=OUTPUT),
        Binding("f", "follow", mark("Follow"), id="build.follow", group=OUTPUT),
        Binding("w", "wrap", mark("Wrap"), id="build.wrap", group=OUTPUT),
        Binding("c", "copy", mark("Copy"), id="build.copy", group=OUTPUT),
        Binding("l", "logs", mark("Log files"), id="build.logs", group=OUTPUT),
        Binding("escape", "end_search", mark("End the search"), id="build.end_search"),
        Binding("escape", "stop", mark("Stop"), id="build.stop"),
        Binding("escape", "back", mark("Back to the plan"), id="build.back"),
        Binding("escape", "servers", mark("Back"), id="build.servers"),
    ]
    view: reactive[BuildView] = reactive(BuildView())

    def __init__(
        self,
        run: Run,
        measured: Callable[[], str],
        logs: Path,
        fixes: Callable[[WizardError | None], Answers],
        *,
        reviewed: bool,
    ) -> None:
        """``measured`` returns a ready server's measured and predicted memory, in a few words; ``fixes`` the answers
        that avoid a known failure. If the plan was ``reviewed`` just before, going back leads to the review.
        """
        super().__init__()
        self.run, self._reviewed = run, reviewed
        self._measured, self._logs, self._offer = measured, logs, partial(fixing.offered, self, fixes)
        self._log_keys = (True, False)
        """What decides which keys the output has now: whether it follows its end, whether it is searched."""
        self._end: Callable[[], None] | None = None

    def compose(self) -> ComposeResult:
        """Steps, progress, the output, and the result."""
        left = Vertical(StepList(), ProgressLines(), ErrorPanel(), Static(id="outcome"), id="left", classes="reading")
        output = Vertical(LiveLog(), SearchBar(), id="output")
        yield from self.framed(Static(classes="heading"), Container(left, output, classes="master-detail"))

    def on_mount(self) -> None:
        """Show the progress and listen to changes."""
        collect_and_freeze()
        log = self.query_one(LiveLog)
        log.write_lines(tuple(self.run.lines))
        log.focus()
        self._end = self.run.listen(self.post_message)
        self.view = self.run.view
        self._look()
        self._point()
        self.set_interval(1.0, self._tick)
        if not self.run.begun:
            self.run.begin()

    def on_unmount(self) -> None:
        """The run continues in the background."""
        if self._end is not None:
            self._end()

    def _tick(self) -> None:
        if self.view.phase is Phase.RUNNING:
            self._show_progress()

    # -- what happens --------------------------------------------------------------------------------------------------

    def on_begun(self, _message: Begun) -> None:
        """Output of the previous run is obsolete."""
        self.query_one(LiveLog).clear()
        self.view = self.run.view

    def on_log_lines(self, message: LogLines) -> None:
        """Show a batch of output."""
        self.query_one(LiveLog).write_lines(message.lines)

    def on_moved(self, _message: Moved) -> None:
        """Show the new state."""
        self.view = self.run.view

    def on_ended(self, _message: Ended) -> None:
        """Show the result."""
        self.view = self.run.view
        self._point()

    def _point(self) -> None:
        """Scroll to the line with the cause of the failure."""
        if problem := self._problem():
            self.query_one(LiveLog).point_at(problem.line)

    def _problem(self) -> Diagnosis | None:
        return diagnosis(self.view, self._logs, fixing.by_hand(self.app, self._offer(self.view.error)))

    # -- keys ----------------------------------------------------------------------------------------------------------

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Each key only while it applies."""
        phase, log = self.view.phase, self.query_one(LiveLog)
        halted, typing = phase in HALTED, isinstance(self.focused, Input)
        allowed = {
            "accept": phase is Phase.READY and not typing,
            "run": halted,
            "fix": phase is Phase.FAILED and self._offer(self.view.error).possible,
            "skip": halted and self._pointed().id not in self.run.left_out,
            "redo": phase not in (Phase.RUNNING, Phase.STOPPING) and self._state() in ("done", "skipped", "omitted"),
            "copy_diagnosis": phase is Phase.FAILED,
            "background": phase is Phase.RUNNING,
            "find": not typing,
            "next": bool(log.sought),
            "follow": not log.follows,
            "end_search": bool(log.sought) and not typing,
            "stop": phase is Phase.RUNNING,
            "back": phase in (*HALTED, Phase.READY) and self._reviewed,
            "servers": phase in (*HALTED, Phase.READY) and not self._reviewed,
        }
        return allowed.get(action, True)

    def action_accept(self) -> None:
        """Go to the chat."""
        self.dismiss(self.view.endpoint)

    def action_servers(self) -> None:
        """Go back to the first screen, which lists the servers."""
        self.action_back()

    def action_run(self) -> None:
        """Run the plan, from where it was left."""
        self.run.begin()

    @work(exclusive=True, group="ask")
    async def action_fix(self) -> None:
        """Run the command that fixes the failure and retry, or change the options that avoid it."""
        end = await fixing.ask(self.app, self._offer(self.view.error))
        if end == "retry":
            self.run.begin()
        elif end is not None:
            self.dismiss(end)

    def action_background(self) -> None:
        """Continue in the background."""
        self.notify(tr("The build continues in the background. You get a notification when it ends."), timeout=4)
        self.dismiss("background")

    @work(exclusive=True, group="ask")
    async def action_redo(self) -> None:
        """Rerun the selected step."""
        step = self._pointed()
        question = tr("Rerun '{title}'? Estimate: {cost}.", title=step.title, cost=cost(step.estimate))
        if others := self._others(step):
            question += "\n" + tr("These steps use its results and are rerun too: {titles}", titles=others)
        answers = [("redo", tr("Rerun")), ("no", tr("Cancel"))]
        if await self.app.push_screen_wait(AskScreen(question, answers)) == "redo":
            self.run.left_out.discard(step.id)
            self.run.begin(redo={step.id})

    @work(exclusive=True, group="ask")
    async def action_skip(self) -> None:
        """Skip the selected step, if a server can start without it."""
        step = self._pointed()
        if needed(step):
            message = tr("'{title}' cannot be skipped: the server requires it.", title=one_line(step.title))
            self.notify(message, severity="warning", markup=False)
            return
        question = tr("Skip '{title}'? Its output will be missing, and its checks will not run.", title=step.title)
        if others := self._others(step):
            question += " " + tr("These steps use its results and may fail: {titles}", titles=others)
        question += "\n" + tr("The skip is recorded; press R to run the step later.")
        answers = [("no", tr("Do not skip")), ("skip", tr("Skip and continue"))]
        if await self.app.push_screen_wait(AskScreen(question, answers)) == "skip":
            self.run.left_out.add(step.id)
            self.run.begin()

    def _pointed(self) -> Step:
        return self.run.plan.steps[self.query_one(StepList).at]

    def _state(self) -> str:
        at = self.query_one(StepList).at
        return self.view.steps[at].state if self.view.steps else "waiting"

    def _others(self, step: Step) -> str:
        """Titles of the steps that use the results of ``step``."""
        users = dependants(self.run.plan.steps, {step.id}) - {step.id}
        return ", ".join(user.title for user in self.run.plan.steps if user.id in users)

    def action_logs(self) -> None:
        """Show where the whole output is."""
        files = [(step.title, f"{step.id}.log") for step in self.run.plan.steps]
        paths = [f"{title}\n  {self._logs / file}" for title, file in (*files, (tr("Server log"), "triton.log"))]
        self.app.push_screen(ReaderScreen(tr("Full output of each step"), "\n".join(paths)))

    def action_copy_diagnosis(self) -> None:
        """Copy the details of the failure."""
        if problem := self._problem():
            self._copy(problem.text())

    def action_copy(self) -> None:
        """Copy the selection, or the visible lines."""
        self._copy(self.get_selected_text() or self.query_one(LiveLog).visible_text())

    def _copy(self, text: str) -> None:
        count = len(text.splitlines())
        message = ntr("{count} line copied", "{count} lines copied", count, count=count)
        copy(self.app, text, message, instead=tr("Press l to see the log files."))

    # -- the output ----------------------------------------------------------------------------------------------------

    def action_follow(self) -> None:
        """Go to the end of the output and follow it."""
        self.query_one(LiveLog).action_follow()

    def action_wrap(self) -> None:
        """Toggle wrapping of long lines."""
        self.query_one(LiveLog).toggle_wrap()

    def action_find(self) -> None:
        """Search the output; in a low terminal the search field scrolls into view, with the output above it."""
        self.query_one(SearchBar).open()
        self.call_after_refresh(self.query_one(SearchBar).scroll_visible, animate=False)

    def action_next(self, by: int) -> None:
        """Go to another match."""
        self.query_one(LiveLog).seek_next(by)

    def action_end_search(self) -> None:
        """End the search."""
        self.query_one(SearchBar).action_close()

    def on_search_bar_searched(self, message: SearchBar.Searched) -> None:
        """Search while the user types; the typed text is shown first."""
        self.call_after_refresh(self.query_one(LiveLog).seek, message.text)

    def on_search_bar_step(self, message: SearchBar.Step) -> None:
        """Go to another match."""
        self.action_next(message.by)

    def on_search_bar_done(self, message: SearchBar.Done) -> None:
        """The output gets the focus again."""
        if message.closed:
            self.query_one(LiveLog).seek("")
            self.query_one(SearchBar).display = False
        self.query_one(LiveLog).focus()

    def on_live_log_scrolled(self) -> None:
        """Show the position."""
        self._look()

    def _look(self) -> None:
        log = self.query_one(LiveLog)
        self.query_one(SearchBar).show(*log.match_counts)
        if (keys := (log.follows, bool(log.sought))) != self._log_keys:
            self._log_keys = keys
            self.refresh_bindings()

    def relabel(self) -> None:
        """Update all text to the current language; the run has rendered its own texts."""
        super().relabel()
        self.view = self.run.view
        self.mutate_reactive(BuildScreen.view)

    # -- leaving -------------------------------------------------------------------------------------------------------

    @work(exclusive=True, group="ask")
    async def action_stop(self) -> None:
        """Ask once, then stop the running step gracefully."""
        if await may_stop(self.app, self.run) == "stop":
            self.run.stop()

    def leave(self) -> None:
        """Quit; while a step is running, the app asks, and waits until it has stopped."""
        self.app.exit(exit_code(self.run))

    # -- showing -------------------------------------------------------------------------------------------------------

    def explanation(self) -> tuple[Part, ...]:
        """The explanation of the selected step, by default the running one."""
        return of_step(self.run.plan, self._pointed(), self.guide.workshop)

    def on_step_list_pointed(self) -> None:
        """Explain that step."""
        self.explain()

    def watch_view(self, view: BuildView) -> None:
        """Show the state."""
        style = "$error" if view.phase is Phase.FAILED else ""
        self.query_one(".heading", Static).update(Content.assemble((_heading(view, self.run), style)))
        self.query_one(StepList).show(view.steps)
        self.explain()
        problem, panel = self._problem(), self.query_one(ErrorPanel)
        parts = {"line": problem.line, "log": problem.log, "by_hand": problem.by_hand} if problem else {}
        panel.show(problem.error if problem else None, **parts)
        outcome = self.query_one("#outcome", Static)
        outcome.display = view.phase in (Phase.RUNNING, Phase.READY, Phase.CANCELLED)
        outcome.update(_outcome(view, self._measured()))
        self._show_progress()
        self.refresh_bindings()

    def _show_progress(self) -> None:
        lines, phase = self.query_one(ProgressLines), self.view.phase
        lines.display = phase in (Phase.RUNNING, Phase.STOPPING)
        lines.show(self.run.progress, self.run.elapsed, stopping=phase is Phase.STOPPING)


def _heading(view: BuildView, run: Run) -> str:
    name = one_line(run.plan.name)
    if view.phase is Phase.RUNNING:
        return tr("Building {name} · {share:.0%}", name=name, share=run.share)
    headings = {
        Phase.STOPPING: tr("Stopping …"),
        Phase.READY: tr("{name} is ready", name=name),
        Phase.FAILED: tr("A step failed")
        if any(step.state == "failed" for step in view.steps)
        else tr("The build failed"),
        Phase.CANCELLED: tr("Stopped"),
    }
    return headings[view.phase]


def _outcome(view: BuildView, measured: str) -> Content:
    if view.phase is Phase.READY and view.endpoint is not None:
        endpoint = view.endpoint
        line = tr("Triton responds at {http} (HTTP) and {grpc} (gRPC)", http=endpoint.http, grpc=endpoint.grpc)
        took = tr("Measured: {measured}.", measured=measured) + "\n" if measured else ""
        openai = tr("OpenAI-compatible: {url}", url=endpoint.openai) + "\n" if endpoint.openai else ""
        proof = tr("Model: {proof}", proof=one_line(view.proof)) + "\n" if view.proof else ""
        rest = f"\n{openai}{proof}{took}" + tr("Press Enter to chat with your model.")
        return Content.assemble(("✓ ", "bold $success"), (line, "bold"), rest)
    if view.phase is Phase.CANCELLED:
        kept = tr("Completed steps are kept; press r to resume.")
        return Content.assemble((tr("■ Stopped."), "bold $warning"), " ", kept)
    if view.phase is Phase.RUNNING:
        return Content.styled(
            tr("If this window closes, the build continues: `triton-wizard attach` shows it."), "$text-muted"
        )
    return Content("")
