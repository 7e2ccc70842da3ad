"""Before a build is stopped, or the wizard quits during one: ask, and wait until its step has stopped."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from textual.message import Message

from wizard.kernel.errors import CancelledError
from wizard.kernel.language import tr
from wizard.kernel.text import one_line
from wizard.tui.event_messages import Ended
from wizard.tui.run import Run
from wizard.tui.screens.modal import AskScreen
from wizard.tui.views.build import Phase

if TYPE_CHECKING:
    from textual.app import App

    from wizard.tui.app import WizardApp

Reply: TypeAlias = Literal["on", "leave", "stop"]


async def may_stop(app: App[int], run: Run, *, quits: bool = False) -> Reply:
    """Ask whether to stop ``run``, or to leave it running, and then ``quits``. The question closes if the run ends
    meanwhile.

    Continuing is selected: Esc, or a sentence with a q, and Enter do not stop a build of an hour.
    """
    name = one_line(run.plan.name)
    choices: list[tuple[Reply, str]] = [("on", tr("Continue"))]
    if quits:
        choices.append(("leave", tr("Quit; the build continues")))
    choices.append(("stop", tr("Stop it and quit") if quits else tr("Stop it")))
    question = AskScreen(
        tr("Stop building {name}? Completed steps are kept, and the next run resumes from there.", name=name),
        choices,
        leaves="stop" if quits else "",
    )

    def gone(message: Message) -> None:
        if isinstance(message, Ended) and app.screen is question:
            question.dismiss("on")  # there is nothing left to stop

    end = run.listen(gone)
    try:
        reply = await app.push_screen_wait(question)
        return next((choice for choice, _ in choices if choice == reply), "on")
    finally:
        end()


async def stopped(app: App[int], runs: Sequence[Run], leaving: threading.Event, *, ask: bool) -> int | None:
    """Stop active runs, or set ``leaving`` if the user wants them to continue; return the exit status for quitting, or
    None if the user wants to stay.
    """
    for run in runs:
        reply = await may_stop(app, run, quits=True) if ask and run.view.phase is Phase.RUNNING else "stop"
        if reply == "on":
            return None
        if reply == "leave":
            leaving.set()
            return 0
        run.stop()
        if run.under_way:
            await run.over()
    return CancelledError.exit_code if not ask else max(exit_code(run) for run in runs)


def exit_code(run: Run) -> int:
    """The exit status for the result of ``run``."""
    if run.view.phase is Phase.CANCELLED:
        return CancelledError.exit_code
    return run.view.error.exit_code if run.view.error else 0


def what_continues(app: WizardApp, builds: Sequence[str]) -> str:
    """The servers that keep running when the wizard exits, and the ``builds`` that continue: lines to print."""
    from wizard.flow.perform import running
    from wizard.tui.views.build import still_building
    from wizard.tui.views.chat import still_running

    servers = [running(app.journey, app.workspace, name) for name in tuple(app.running)]
    lines = [still_running(server, app.workspace) for server in servers if server]
    return "\n".join([*lines, *(still_building(name, app.workspace) for name in builds)])
