"""What fixes a failed build: a command, which runs in the terminal below the screen, or other options."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from wizard.kernel.language import tr
from wizard.run.fix import Fix, fix_of
from wizard.texts import remedies
from wizard.tui.screens.modal import AskScreen

if TYPE_CHECKING:
    from textual.app import App

    from wizard.kernel.errors import WizardError
    from wizard.plan.question import Answers
    from wizard.tui.screens.build import BuildScreen


@dataclass(frozen=True, slots=True)
class Offer:
    """What is known to fix a failure.

    Attributes:
        fix: A command; None if there is none.
        changes: Answers that avoid it, if there are any.
    """

    fix: Fix | None
    changes: Answers

    @property
    def possible(self) -> bool:
        """Whether the wizard can do it."""
        return bool(self.changes) or (self.fix is not None and not self.fix.by_hand)


def offered(screen: BuildScreen, fixes: Callable[[WizardError | None], Answers], error: WizardError | None) -> Offer:
    """What fixes ``error``; ``fixes`` returns the answers that avoid it. A browser has no terminal for a command."""
    terminal = not (screen.app.is_web or screen.app.is_headless)
    return Offer(fix_of(error, screen.run.plan, terminal=terminal), fixes(error))


def by_hand(app: App[Any], offer: Offer) -> str:
    """The command that only the user can run, and where; empty if there is none."""
    if offer.fix is None or not offer.fix.by_hand:
        return ""
    why = tr("A browser has no terminal.") + " " if app.is_web and offer.fix.place == "terminal" else ""
    return f"{why}{offer.fix.label}\n$ {offer.fix.command}"


async def ask(app: App[Any], offer: Offer) -> Answers | Literal["retry"] | None:
    """Do it after confirmation: answers to change, ``"retry"`` after a command that succeeded, or None."""
    changes = remedies.changed(offer.changes)
    if offer.fix is None or offer.fix.by_hand:
        question = tr("Change the options to {changes} and review the recommendations?", changes=changes)
        answers = [("change", tr("Apply")), ("no", tr("Cancel"))]
    else:
        asked = tr("Apply the fix and retry? This runs in your terminal:")
        question = f"{offer.fix.cause}\n\n{asked}\n\n$ {offer.fix.command}"
        answers = [("no", tr("Do not run it")), ("run", tr("Run it and retry"))]
        if offer.changes:
            answers.append(("change", tr("Change the options instead: {changes}", changes=changes)))
    answer = await app.push_screen_wait(AskScreen(question, answers))
    if answer == "change":
        return offer.changes
    return "retry" if answer == "run" and offer.fix is not None and _applied(app, offer.fix) else None


def _applied(app: App[Any], fix: Fix) -> bool:
    with app.suspend():
        status = _run(fix)
    if status == 0:
        app.notify(fix.result(status), markup=False)
    return status == 0


def _run(fix: Fix) -> int:
    """Run it; if it fails, its output stays in view until Enter."""
    print(f"\n$ {fix.command}", flush=True)
    if status := fix.apply():
        print(f"\n{fix.result(status)}", flush=True)
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's would end the app
        try:
            with suppress(EOFError, KeyboardInterrupt):
                input(tr("Press Enter to return to the wizard."))
        finally:
            signal.signal(signal.SIGINT, handler)
    return status
