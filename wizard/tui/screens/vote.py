"""A blind vote: the answers of two servers side by side, without their names."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import ClassVar, cast

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from wizard.bench.quality.report import Quality
from wizard.bench.quality.votes import shown
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import plain
from wizard.run.events import Progress
from wizard.tui import background
from wizard.tui.screens.stage import StageScreen
from wizard.tui.views.vote import Side, VoteView, answered, chosen, skipped, undone
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.lines import LEAST_WIDTH, Lines
from wizard.tui.widgets.markdown_lines import Block, blocks
from wizard.tui.widgets.pane import Pane
from wizard.tui.widgets.progress import ProgressLines


class Formatted(Lines):
    """A text in Markdown."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: list[Block] = []

    def show(self, text: str) -> None:
        """Show this text."""
        self._blocks = blocks(plain(text).strip() or tr("(empty)"))
        self.changed()

    def lines(self, width: int) -> list[Content]:
        """Its blocks, with an empty line between paragraphs."""
        made: list[Content] = []
        for block in self._blocks:
            made += ([Content("")] if block.gap and made else []) + block.lines(max(width, LEAST_WIDTH))
        return made


class VoteScreen(StageScreen[Quality]):
    """Dismissed with the complete report, or None if the vote is stopped; all votes until then are kept.

    Args:
        answers: Gets the answers that are missing; yields the report after each.
        keep: Writes the report; blocks.
        clock: Monotonic seconds.
    """

    STAGE = 6
    HELP = mark(
        "Two servers answer the same prompts, and you choose the better answer without knowing whose it is. First all "
        "answers are collected, so that speed reveals nothing; the sides are random. Every vote is saved at once: Esc "
        "stops, and you can continue later. The names come with the result, after the last vote.\ns skips a prompt, "
        "which comes again at the end. u takes the last vote back. The same answers of both count as equal."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,1", "choose(0)", mark("Better"), tooltip=mark("The left answer is better"), priority=True,
                key_display="←→", id="vote.left"),
        Binding("right,2", "choose(1)", mark("Better"), tooltip=mark("The right answer is better"), priority=True,
                show=False, id="vote.right"),
        Binding("equals_sign,0", "choose(-1)", mark("Equal"), tooltip=mark("Neither is better"), priority=True,
                key_display="=", id="vote.equal"),
        Binding("s", "skip", mark("Skip"), tooltip=mark("Vote on this prompt at the end"), id="vote.skip"),
        Binding("u", "undo", mark("Undo"), tooltip=mark("Take the last vote back"), id="vote.undo"),
        Binding("up", "roll(-1)", mark("Scroll"), key_display="↑↓", id="vote.up"),
        Binding("down", "roll(1)", mark("Scroll"), show=False, id="vote.down"),
        Binding("enter", "again", mark("Retry"), key_display="⏎", id="vote.again"),
        Binding("escape", "back", mark("Stop"), tooltip=mark("Stop and keep the votes"), id="vote.stop"),
    ]  # fmt: skip
    view: reactive[VoteView] = reactive(VoteView())

    def __init__(
        self,
        answers: Callable[[], AsyncGenerator[Quality, None]],
        keep: Callable[[Quality], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._answers, self._keep, self._clock = answers, keep, clock
        self.set_reactive(VoteScreen.view, VoteView())
        self._began = clock()
        self._writing = asyncio.Lock()
        self._written: Quality | None = None

    def compose(self) -> ComposeResult:
        """The prompt, and two lanes."""
        names = ("lane-left", "lane-right")
        lanes = [Pane(Formatted(), id=name, classes="lane reading", can_focus=False) for name in names]
        yield from self.framed(
            Static(classes="heading", markup=False),
            Static(classes="subheading", markup=False),
            ErrorPanel(),
            ProgressLines(),
            Pane(Formatted(), id="prompt", can_focus=False),
            Container(*lanes, id="lanes"),
        )

    def on_mount(self) -> None:
        """Get the answers."""
        self.mutate_reactive(VoteScreen.view)
        self.set_interval(1.0, self._show_progress)
        self._collect()

    @work(exclusive=True, group="collect")
    async def _collect(self) -> None:
        try:
            async with aclosing(self._answers()) as reports:
                async for report in reports:
                    self.view = answered(self.view, report)
        except WizardError as error:
            self.view = replace(self.view, error=error)
            return
        if self.view.complete:  # all answers are the same
            self._write()

    @work(group="write")
    async def _write(self) -> None:
        """Write the votes, and leave after the last one; in order, and always the latest ones."""
        async with self._writing:
            report = self.view.report
            if report is None or report is self._written:
                return
            try:
                await background.call(partial(self._keep, report))
            except WizardError as error:
                self.view = replace(self.view, error=error)
                return
            self._written = report
            if not report.partial and report is self.view.report:
                while self.app.screen is not self:
                    await self.app.pop_screen()  # a window that was open at the time
                self.dismiss(report)

    def relabel(self) -> None:
        """Update all text to the current language."""
        super().relabel()
        self.mutate_reactive(VoteScreen.view)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Votes while a prompt is on the screen; another attempt after an error."""
        if action in ("choose", "skip"):
            return self.view.vote is not None and (action == "choose" or len(self.view.order) > 1)
        if action == "undo":
            return bool(self.view.voted)
        if action == "again":
            return self.view.error is not None
        return self.hides_something if action in ("scroll", "roll") else super().check_action(action, parameters)

    def action_choose(self, side: int) -> None:
        """Vote, and show the next prompt."""
        self._change(chosen(self.view, cast("Side", side)))

    def action_undo(self) -> None:
        """Take the last vote back."""
        self._change(undone(self.view))

    def _change(self, view: VoteView) -> None:
        self.view = replace(view, error=None)
        self._write()

    def action_roll(self, by: int) -> None:
        """Scroll both answers."""
        for pane in self.query(".lane"):
            pane.scroll_relative(y=by, animate=False, immediate=True)

    def action_skip(self) -> None:
        """Show the next prompt; this one comes again at the end."""
        self.view = skipped(self.view)

    def action_again(self) -> None:
        """Ask for the missing answers again, or write the votes again."""
        self.view = replace(self.view, error=None)
        if self.view.report is None or self.view.report.unasked:
            self._collect()
        else:
            self._write()

    def watch_view(self, before: VoteView, view: VoteView) -> None:
        """Show the state."""
        vote, count = view.vote, view.count
        number = count - len(view.order) + 1
        title = tr("Blind vote · prompt {number} of {count}", number=number, count=count) if vote else tr("Blind vote")
        about = tr("Which answer is better? The names come with the result.")
        if not vote and not view.complete:
            about = tr("First, both servers answer all prompts, so that speed reveals nothing.")
        self.query_one(".heading", Static).update(title)
        self.query_one(".subheading", Static).update(about)
        self.query_one(ErrorPanel).show(view.error)
        self.query_one("#lanes").display = self.query_one("#prompt").display = vote is not None
        self.query_one(ProgressLines).display = vote is None and view.error is None
        self._show_progress()
        left, right = (self.query_one(f"#lane-{side}", Pane) for side in ("left", "right"))
        left.border_title, right.border_title = Content(f"← {tr('Answer 1')}"), Content(f"{tr('Answer 2')} →")
        if vote and vote != before.vote:
            texts = (vote.prompt, *shown(vote))
            for pane, text in zip((self.query_one("#prompt", Pane), left, right), texts, strict=True):
                pane.query_one(Formatted).show(text)
                pane.scroll_home(animate=False)
        self.refresh_bindings()

    def _show_progress(self) -> None:
        view = self.view
        done = len(view.report.votes) if view.report else 0
        text = tr("Answers: {done} of {count}", done=done, count=view.count) if view.report else ""
        progress = Progress("votes", done / view.count if view.count else None, None, text, 0.0)
        self.query_one(ProgressLines).show(progress, self._clock() - self._began, stopping=False)
