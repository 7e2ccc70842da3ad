"""After the chat in a plain terminal: measure the server, or read an earlier report."""

from __future__ import annotations

import sys
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Literal

from wizard.bench.bench import LONG_S, Outlook, expected
from wizard.bench.folder import REPORT
from wizard.bench.measured import Measured
from wizard.bench.opened import Opened
from wizard.bench.order import Wanted, folder_of
from wizard.bench.questions import QUESTIONS, answers_of, conflict, wanted_of
from wizard.bench.report import Report
from wizard.flow.benchmark import Offer, Offers, benchmark, kept, offers, shortened
from wizard.flow.effects import Measure
from wizard.flow.values import Answer, Outcome
from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.kernel.program import pasteable
from wizard.prompts.ask import Ask, ask_question
from wizard.prompts.event_printer import EventPrinter
from wizard.prompts.interrupt import until_stopped
from wizard.prompts.options import as_value
from wizard.prompts.question_input import forget_typed
from wizard.prompts.run import LEAVING
from wizard.prompts.speech import columns, say
from wizard.texts.benchmark import offers as texts
from wizard.texts.benchmark import views

if TYPE_CHECKING:
    from wizard.bench.load import Load
    from wizard.flow.port import JourneyPort
    from wizard.kernel.paths import Workspace
    from wizard.plan.question import Answers
    from wizard.serve.endpoint import Endpoint


class Bench:
    """Asks what to measure, runs the benchmark and prints its report.

    Args:
        journey: `wizard.journey`, or its replacement.
        workspace: The workspace of the reports.
        ask: The input.
    """

    def __init__(self, journey: JourneyPort, workspace: Workspace, ask: Ask) -> None:
        self._journey, self._workspace, self._ask = journey, workspace, ask

    def asked(self, endpoint: Endpoint, before: Wanted | None, error: WizardError | None) -> Answer:
        """What to measure with, by default, the options of ``before``; a report to read, or None to finish.

        Ctrl-C and the end of input finish, too: nothing is left to be lost.
        """
        if error is not None:
            self._say_error(error)
        with suppress(KeyboardInterrupt, EOFError):
            return Answer(self._reply(endpoint, before or Wanted()))
        return Answer()

    def _reply(self, endpoint: Endpoint, wanted: Wanted) -> Wanted | str | None:
        reports = self._journey.benchmarks(self._workspace)
        options: list[tuple[str, Literal["finish", "measure", "read"]]] = [(tr("Finish"), "finish")]
        options.append((tr("Measure this server"), "measure"))
        options += [(tr("Open an earlier report"), "read")] if reports else []
        while (picked := self._ask.choose(tr("The chat has ended. What now?"), options)) != "finish":
            chosen = self._report(reports) if picked == "read" else self._chosen(endpoint, wanted)
            if chosen:
                return chosen
        return None

    def _chosen(self, endpoint: Endpoint, wanted: Wanted) -> Wanted | None:
        """The options to measure with; None if nothing is to be measured, or nothing can be, which is shown."""
        offered: Offers | None = None
        while True:
            try:
                offered = offers(self._journey, self._workspace, endpoint, wanted)
            except WizardError as error:
                self._say_error(error)
                if offered is None:
                    return None
                wanted = offered.full.wanted  # which suited the server
                continue
            options: list[tuple[str, Offer | Literal["change"] | None]] = [
                (f"{tr('Quick benchmark')}: {texts.load_line(offered.quick.load)}", offered.quick),
                (f"{tr('Full benchmark')}: {texts.load_line(offered.full.load)}", offered.full),
                (tr("Change what to measure"), "change"),
                (tr("Do not measure"), None),
            ]
            picked = self._ask.choose(tr("What do you want to measure?"), options)
            if picked == "change":
                wanted = self._changed(wanted)
            elif not isinstance(picked, Offer):
                return None
            elif chosen := self._agreed(picked, offered):
                return chosen

    def _changed(self, wanted: Wanted) -> Wanted:
        """The options after all questions; those that contradict each other are asked again."""
        given: Answers = answers_of(wanted)
        while True:
            answers: Answers = {}
            for question in QUESTIONS:
                answer = ask_question(self._ask, question, as_value(given.get(question.name)))
                answers |= {} if answer is None else {question.name: answer}
            problem = conflict(answers)
            if problem is None:
                return wanted_of(answers, wanted)
            self._say_error(problem[1])
            given = {name: value for name, value in answers.items() if name not in ("concurrency", "request_rate")}

    def _report(self, reports: list[Opened]) -> str:
        """The folder of a report; empty if the user chooses none."""
        options = [
            (f"{texts.report_kind(each.report)}: {texts.report_line(each.report)}", str(each.folder))
            for each in reports
        ]
        return self._ask.choose(tr("Which report?"), [*options, (tr("None of these"), "")])

    def _agreed(self, offer: Offer, offered: Offers) -> Wanted | None:
        """The options to measure with, after questions about a long benchmark and about the installation."""
        wanted, outlook = offer.wanted, expected(offer.load)
        if outlook is not None and outlook.seconds > LONG_S:
            chosen = self._long(outlook)
            if chosen is None:
                return None
            wanted = shortened(wanted, chosen) if chosen == outlook.shorter else wanted
        if offered.install is not None:
            say(texts.install_line(offered.install))
            answers = [(tr("Install it and measure"), True), (tr("Do not install it"), False)]
            if not self._ask.choose(tr("Install it?"), answers):
                return None
        return wanted

    def _long(self, outlook: Outlook) -> Load | None:
        options = [
            (texts.shorter_line(outlook), outlook.shorter),
            (tr("Measure all of it"), outlook.load),
            (tr("Do not measure"), None),
        ]
        return self._ask.choose(texts.long_line(outlook), options)

    def carry(self, effect: Measure) -> Outcome:
        """Measure; Ctrl-C stops it, and what was measured until then is the report."""
        folder = folder_of(self._workspace, effect.endpoint.title)
        printer = EventPrinter(sys.stdout, aloud=True)

        async def agree(outlook: Outlook) -> Load | None:
            before = expected(outlook.load)
            return outlook.load if before is not None and before.seconds > LONG_S else self._long(outlook)

        async def drive() -> None:
            items = benchmark(self._journey, self._workspace, effect.endpoint, effect.wanted, folder, agree)
            async with aclosing(items):
                async for item in items:
                    if not isinstance(item, (Measured, Report)):
                        printer.show(item)

        say(tr("Press Ctrl-C to stop; what was measured until then is kept."))
        error = None
        try:
            if not until_stopped(drive(), LEAVING):
                printer.end()
        except WizardError as failed:
            error = failed
        finally:
            forget_typed()
        try:
            measured = kept(self._journey, folder)
        except WizardError as failed:
            return Outcome(effect, error or failed)
        if measured and error is not None:
            self._say_error(error)
        return Outcome(effect, str(folder) if measured else error)

    def shown(self, opened: Opened) -> Answer:
        """Print a report and where its page is; a vote that is not complete has none."""
        print(f"\n{views.text(opened.report, columns(), listed=True)}\n", flush=True)
        if opened.folder:
            page = opened.folder / "report.html"
            say(tr("Report: {path}", path=page if page.is_file() else opened.folder / REPORT))
        return Answer()

    def _say_error(self, error: WizardError) -> None:
        say(f"\n{pasteable(str(error), self._workspace)}\n")
