"""Stage 7: what to measure of the served model, and earlier reports of every kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from wizard.bench.bench import LONG_S, Outlook, expected
from wizard.bench.opened import Opened
from wizard.bench.order import Wanted
from wizard.bench.questions import QUESTIONS, answers_of, conflict, wanted_of
from wizard.flow.benchmark import Offer, Offers, shortened
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.texts.benchmark import offers as texts
from wizard.tui import background
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.widgets.error import ErrorPanel
from wizard.tui.widgets.picker import Picker


@dataclass(frozen=True, slots=True)
class BenchPort:
    """Functions of the screen; both block and are called in threads.

    Attributes:
        offers: What can be measured with some options, see `wizard.flow.benchmark.offers`.
        reports: Earlier reports of every kind, the latest first.
    """

    offers: Callable[[Wanted], Offers]
    reports: Callable[[], list[Opened]]


@dataclass(frozen=True, slots=True)
class BenchChoice:
    """The state of the screen."""

    wanted: Wanted
    offers: Offers | None = None
    """None until they are known, or if nothing can be measured."""
    reports: tuple[Opened, ...] = ()
    error: WizardError | None = None

    @property
    def rows(self) -> tuple[Offer | Opened, ...]:
        """What can be chosen."""
        measures = (self.offers.quick, self.offers.full) if self.offers else ()
        return (*measures, *self.reports)


class BenchScreen(StageScreen["Wanted | str"]):
    """Dismissed with what to measure, or the folder of a report to read.

    Args:
        title: The server.
        calls: The functions.
        wanted: The options that were used last.
        error: The error of the last benchmark, or of a report.
        read: Folder of the report that was just open; empty if none was.
    """

    STAGE = 6
    HELP = mark(
        "A benchmark sends many requests to the served model and measures tokens per second, time to first token and "
        "time between tokens. The quick one takes less than a minute; the full one repeats each level of load, so that "
        "its intervals are reliable.\nw changes the load, the length of prompts and answers, and the service level. "
        "The first benchmark installs NVIDIA's AIPerf in a separate environment, after confirmation. Below are the "
        "reports of this workspace: benchmarks, comparisons, tuning, quality and blind votes."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", mark("Measure"), priority=True, key_display="⏎", id="bench.accept"),
        Binding("enter", "open", mark("Open the report"), priority=True, key_display="⏎", id="bench.open"),
        Binding("w", "options", mark("What to measure"), id="bench.options"),
        Binding("escape", "back", mark("Back to the chat"), id="bench.back"),
    ]
    view: reactive[BenchChoice] = reactive(BenchChoice(Wanted()))

    def __init__(
        self, title: str, calls: BenchPort, wanted: Wanted | None, error: WizardError | None = None, read: str = ""
    ) -> None:
        super().__init__()
        self._title, self._calls, self._read = title, calls, read
        self.set_reactive(BenchScreen.view, BenchChoice(wanted or Wanted(), error=error))

    def compose(self) -> ComposeResult:
        """What can be measured, then the reports."""
        yield from self.framed(
            Static(classes="heading", markup=False),
            Static(classes="subheading", markup=False),
            ErrorPanel(),
            Picker(),
        )

    def on_mount(self) -> None:
        """Find out what can be measured."""
        self.query_one(Picker).focus()
        self.mutate_reactive(BenchScreen.view)
        self._look(self.view.wanted)

    @work(exclusive=True, group="look")
    async def _look(self, wanted: Wanted) -> None:
        """Show the offers with the options ``wanted``; if they do not suit the server, the earlier ones stay."""
        error, offers = None, None
        try:
            offers = await background.call(partial(self._calls.offers, wanted))
        except WizardError as failed:
            error = failed
        reports = tuple(await background.call(self._calls.reports))
        if offers is None and self.view.offers is not None:
            self.view = replace(self.view, reports=reports, error=error)
            return
        self.view = replace(self.view, wanted=wanted, offers=offers, reports=reports, error=error or self.view.error)

    def relabel(self) -> None:
        """Update all text to the current language."""
        super().relabel()
        self.mutate_reactive(BenchScreen.view)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enter measures, or opens a report."""
        row = self._row()
        if action in ("accept", "open"):
            return isinstance(row, Offer if action == "accept" else Opened)
        if action == "options":
            return self.view.offers is not None
        return self.hides_something if action == "scroll" else super().check_action(action, parameters)

    def _row(self) -> Offer | Opened | None:
        at = next((picker.highlighted for picker in self.query(Picker)), None)
        return self.view.rows[at] if at is not None and at < len(self.view.rows) else None

    def on_option_list_option_highlighted(self) -> None:
        """Enter means something else now."""
        self.refresh_bindings()

    def action_open(self) -> None:
        """Read the report."""
        if isinstance(row := self._row(), Opened):
            self.dismiss(str(row.folder))

    @work(exclusive=True, group="form")
    async def action_accept(self) -> None:
        """Measure, after questions about a long benchmark and about the installation."""
        row, offers = self._row(), self.view.offers
        if not isinstance(row, Offer) or offers is None:
            return
        wanted = await self._affordable(row)
        if wanted is None:
            return
        if offers.install is not None:
            answers = [("install", tr("Install it and measure")), ("back", tr("Do not install it"))]
            question = AskScreen(texts.install_line(offers.install), answers)
            if await self.app.push_screen_wait(question) != "install":
                return
        self.dismiss(wanted)

    async def _affordable(self, offer: Offer) -> Wanted | None:
        """The options to measure with, after a question if it takes long; None if the user does not want to."""
        outlook = expected(offer.load)
        if outlook is None or outlook.seconds <= LONG_S:
            return offer.wanted
        answer = await self.app.push_screen_wait(long_question(outlook))
        return {"all": offer.wanted, "shorter": shortened(offer.wanted, outlook.shorter)}.get(answer or "")

    @work(exclusive=True, group="form")
    async def action_options(self) -> None:
        """Change what is measured."""
        form = FormScreen(tr("What to measure"), QUESTIONS, answers_of(self.view.wanted), conflict=conflict)
        answers = await self.app.push_screen_wait(form)
        if answers is not None:
            self.view = replace(self.view, error=None)
            self._look(wanted_of(answers, self.view.wanted))

    def watch_view(self, view: BenchChoice) -> None:
        """Show the state."""
        self.query_one(".heading", Static).update(tr("Measure {name}", name=one_line(self._title)))
        self.query_one(ErrorPanel).show(view.error)
        about = "" if view.offers or view.error else tr("◌ Looking at the server and this machine …")
        if view.offers and view.offers.install:
            about = texts.install_line(view.offers.install)
        self.query_one(".subheading", Static).update(about)
        picker = self.query_one(Picker)
        titles = (tr("Quick benchmark"), tr("Full benchmark"))
        offered = [each for each in view.rows if isinstance(each, Offer)]
        rows = [_row(title, texts.load_line(offer.load)) for title, offer in zip(titles, offered, strict=False)]
        rows += [_row(texts.report_kind(each.report), texts.report_line(each.report)) for each in view.reports]
        at = self._start() if picker.highlighted is None else picker.highlighted
        picker.show(rows, min(at, max(len(rows) - 1, 0)))
        self.refresh_bindings()

    def _start(self) -> int:
        """The row of the report that was just open, else the first."""
        rows = enumerate(self.view.rows)
        return next((at for at, row in rows if isinstance(row, Opened) and str(row.folder) == self._read), 0)


def long_question(outlook: Outlook) -> AskScreen:
    """The question before a long benchmark; the shorter one is selected."""
    answers = [
        ("shorter", texts.shorter_line(outlook)),
        ("all", tr("Measure all of it")),
        ("back", tr("Do not measure")),
    ]
    return AskScreen(texts.long_line(outlook), answers)


def _row(title: str, text: str) -> Content:
    return Content.assemble((title, "bold"), "  ", (text, "$text-muted"))
