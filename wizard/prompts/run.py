"""Run a plan in a plain terminal: its steps in words, and the options when one fails."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Literal, TypeAlias

from wizard.flow.effects import FollowBuild, RunPlan
from wizard.flow.port import JourneyPort
from wizard.flow.values import Answer, Back, Outcome, Redo, Skip
from wizard.kernel.errors import UsageError, WizardError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.program import command, pasteable
from wizard.kernel.text import is_terminal, one_line
from wizard.plan.plan import Plan, Wait
from wizard.plan.question import Answers
from wizard.prompts.ask import Ask
from wizard.prompts.event_printer import EventPrinter
from wizard.prompts.interrupt import until_stopped
from wizard.prompts.question_input import forget_typed
from wizard.prompts.speech import say, say_command
from wizard.run.build import left
from wizard.run.diagnose import CommandError
from wizard.run.events import Ready, StepFinished
from wizard.run.fix import Fix, fix_of
from wizard.serve.endpoint import Endpoint
from wizard.texts import remedies

LEAVING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that stop a step with all its processes."""
LOG_LINES = 40
"""Lines of a failed step's log to show on request."""
Remedy: TypeAlias = Fix | Literal["again", "apply", "redo", "skip", "log", "back"]


class Run:
    """Runs plans, and asks what to do when a step fails.

    Args:
        journey: `wizard.journey`, or its replacement.
        workspace: The workspace of the run.
        ask: The input.
    """

    def __init__(self, journey: JourneyPort, workspace: Workspace, ask: Ask) -> None:
        self._journey, self._workspace, self._ask = journey, workspace, ask
        self._failed = ""
        """Id of the step that failed last."""

    def carry(self, effect: RunPlan | FollowBuild, explanation: Callable[[str], str] | None) -> Outcome:
        """Run the plan, or show its build; ``explanation`` returns the explanation of a step ID, if they are on.

        Raises:
            KeyboardInterrupt: The user stopped it; the step is stopped with all its processes.
            CancelledError: TW-R102 if the user left the view of a build.
        """
        printer = EventPrinter(sys.stdout, explanation=explanation, aloud=True)
        ready: list[Endpoint] = []
        leaving = threading.Event()
        self._failed = ""
        if isinstance(effect, FollowBuild):
            leaving.set()  # leaving this view never stops the build
            events = self._journey.attach(self._workspace, effect.plan.name, leaving=leaving)
            notes = [tr("Ctrl-C leaves this view, and the build continues.")]
        else:
            steps = {"redo": frozenset(effect.redo), "skip": frozenset(effect.skip)}
            events = self._journey.run(effect.plan, **steps, leaving=leaving)
            watch = command("attach", workspace=self._workspace)
            notes = [tr("If you close this terminal, the build continues. Watch it again: {watch}", watch=watch)]

        async def drive() -> None:
            async with aclosing(events):
                async for event in events:
                    if notes:
                        say(notes.pop())
                    printer.show(event)
                    if isinstance(event, Ready):
                        ready.append(event.endpoint)
                    if isinstance(event, StepFinished) and event.outcome == "failed":
                        self._failed = event.step

        try:
            whole = until_stopped(drive(), LEAVING, leaving)
        except WizardError as error:
            return Outcome(effect, error)
        finally:
            forget_typed()
        if not whole:
            printer.end()
            raise left(effect.plan.name) if isinstance(effect, FollowBuild) else KeyboardInterrupt
        return Outcome(effect, ready[0])

    def what_now(self, plan: Plan, error: WizardError | None, fixes: Answers) -> Answer | Back:
        """Ask what to do after the ``error``, which is shown first; ``fixes`` are answers that avoid it, if known."""
        fix = fix_of(error, plan, terminal=is_terminal())
        self._tell(error, fix)
        while True:
            remedy = self._ask.choose(tr("What now?"), self._remedies(fixes, fix))
            if remedy == "log":
                self._show_log(plan)
            elif isinstance(remedy, Fix):
                if self._applied(remedy):
                    return Answer("again")
            elif remedy == "redo":
                if step := self._pick_step(plan):
                    return Answer(Redo(step))
            elif remedy in ("back", "apply"):
                return Back("advice", fixes if remedy == "apply" else {})
            else:
                return Answer(Skip(self._failed) if remedy == "skip" else "again")

    def _tell(self, error: WizardError | None, fix: Fix | None) -> None:
        """Show the error, and the command that fixes it. The question how to continue follows."""
        if isinstance(error, CommandError):
            _tell_failure(error)
        elif error is not None:
            say(f"\n{pasteable(str(error), self._workspace)}\n")
        if fix is not None:
            say_command(fix.label, fix.command)
            say()

    def _remedies(self, fixes: Answers, fix: Fix | None) -> list[tuple[str, Remedy]]:
        apply = tr("Apply the fix and review the recommendations: {changes}", changes=remedies.changed(fixes))
        offered: list[tuple[str, Remedy]] = [(apply, "apply")] if fixes else []
        if fix is not None and not fix.by_hand:
            offered.insert(0, (tr("Apply the fix and retry"), fix))
        options: list[tuple[str, Remedy]] = [
            *offered,
            (tr("Try again; the run resumes here"), "again"),
            (tr("Back to the recommendations"), "back"),
        ]
        if self._failed:
            options += [
                (tr("Show the end of the step's log"), "log"),
                (tr("Rerun a completed step and those that depend on it"), "redo"),
                (tr("Skip this step and continue; steps that need it may fail"), "skip"),
            ]
        return options

    def _applied(self, fix: Fix) -> bool:
        """Run the command after confirmation; whether it succeeded."""
        say_command(tr("The command:"), fix.command)
        if not self._ask.choose(tr("Run it now?"), [(tr("Do not run it"), False), (tr("Run it and retry"), True)]):
            return False
        status = fix.apply()
        forget_typed()
        say(f"\n{fix.result(status)}\n")
        return status == 0

    def _pick_step(self, plan: Plan) -> str | None:
        steps: list[tuple[str, str | None]] = [(one_line(step.title), step.id) for step in plan.steps]
        return self._ask.choose(tr("Which step?"), [*steps, (tr("None of these"), None)])

    def _show_log(self, plan: Plan) -> None:
        """The end of the failed step's log; for a server that did not become ready it is the server's log."""
        waits = (step.id for step in plan.steps if any(isinstance(action, Wait) for action in step.actions))
        step = None if self._failed in waits else self._failed
        try:
            lines = self._journey.logs(self._workspace, plan.name, lines=LOG_LINES, step=step)
        except WizardError as error:
            say(pasteable(str(error), self._workspace))
        else:
            print("\n".join(lines))  # a tool's own text, unchanged


def _tell_failure(error: CommandError) -> None:
    """Show the failure and its remedy; the command on a separate line."""
    failure = error.failure
    say(f"\n{error.code}: {error.what}\n  → {failure.todo}")
    say(tr("Full output: {log}", log=failure.log))
    say_command(tr("The command was:"), failure.command)
    say()


def save(ask: Ask, plan: Plan) -> None:
    """Ask for format and path, and write the plan there; an error is shown."""
    from wizard.export import formats

    options: list[tuple[str, formats.Format | None]] = [
        (tr(export_format.title), export_format) for export_format in formats.FORMATS
    ]
    form = ask.choose(tr("Which format?"), [*options, (tr("None of these"), None)])
    if form is None:
        return
    usual = form.file(plan)
    path = Path(ask.line(tr("File to write (Enter: {default}):", default=usual)) or usual).expanduser()
    try:
        formats.save(plan, form, path)
    except UsageError as error:
        say(str(error))
    else:
        say(tr("Saved to {file}", file=path.absolute()))
