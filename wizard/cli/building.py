"""Builds, which run in a separate process: run a plan, `attach`, `cancel`."""

from __future__ import annotations

import argparse
import asyncio
import errno
import signal
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from wizard.cli.command_lines import command_line, typed_command
from wizard.cli.exposure import from_elsewhere
from wizard.cli.fixing import fixed
from wizard.cli.stages import print_json, workspace_of
from wizard.cli.workshop import explanations_of
from wizard.kernel.errors import CancelledError, WizardError
from wizard.kernel.language import tr
from wizard.kernel.text import is_terminal, table
from wizard.prompts.speech import tell

if TYPE_CHECKING:
    from wizard.plan.plan import Plan
    from wizard.run.build import Build
    from wizard.run.events import Event
    from wizard.serve.exposure import Exposure

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def carry_out(
    plan: Plan, arguments: argparse.Namespace, exposure: Exposure | None = None, *, outlives: bool = True
) -> None:
    """Run a plan and show its events; Ctrl-C or SIGTERM stops the running step with all its processes.

    If its window is closed, the build continues, unless it should not ``outlive`` the command.
    """
    from wizard import journey
    from wizard.prompts.value_text import step_explanations
    from wizard.run.build import left

    leaving = window() if outlives else None
    overrides: dict[str, Any] = {name: frozenset(getattr(arguments, name, None) or ()) for name in ("redo", "skip")}
    keep, workshop = getattr(arguments, "keep", None), explanations_of(arguments)
    explanation = step_explanations(plan, workshop) if workshop else None
    note = continues(arguments) if leaving else ""
    while True:
        events = journey.run(plan, exposure=exposure, keep=keep, leaving=leaving, **overrides)
        try:
            whole = _shown(events, arguments, leaving, note, explanation)
            break
        except WizardError as error:
            if not fixed(error, plan, arguments):
                raise
            overrides["redo"], note = frozenset(), ""  # the journal knows which of them are left
    if whole:
        return
    if leaving is not None and leaving.is_set():
        raise left(plan.name)
    raise CancelledError(
        "TW-U07",
        tr("stopped; completed steps are kept"),
        tr("To continue, run `{command}`.", command=typed_command(arguments)),
    )


def window() -> threading.Event | None:
    """To be set when this command's window is closed; None if it has none, as in a pipe of a job or a service.

    A command that ignores the end of its window (nohup(1)) has one.
    """
    nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return threading.Event() if nohup or any(map(is_terminal, (sys.stdin, sys.stdout, sys.stderr))) else None


def continues(arguments: argparse.Namespace) -> str:
    """What happens to a build when the window is closed."""
    commands = (
        (tr("Watch it:"), command_line(arguments, "attach")),
        (tr("Stop it:"), command_line(arguments, "cancel")),
    )
    return f"{tr('If you close this window, the build continues.')}\n{table(commands)}\n"


def _shown(
    events: AsyncGenerator[Event, None],
    arguments: argparse.Namespace,
    leaving: threading.Event | None,
    note: str,
    explanation: Callable[[str], str] | None = None,
) -> bool:
    """Show ``events`` to their end, after the first one's arrival with ``note``; False if that was stopped."""
    from wizard.prompts.event_printer import EventPrinter
    from wizard.prompts.interrupt import until_stopped
    from wizard.run.events import event_data

    printer = None if arguments.json else EventPrinter(sys.stderr, arguments.verbose, explanation)
    notes = [note] if note else []

    def show(event: Event) -> None:
        if printer is None:
            print_json(event_data(event))
            return
        if notes:
            print(notes.pop(), file=sys.stderr)
        printer.show(event)

    whole = until_stopped(_all(events, show, leaving), SIGNALS, leaving)
    if not whole and printer:
        with suppress(OSError):  # the terminal may be gone
            printer.end()
    return whole


async def _all(
    events: AsyncGenerator[Event, None], show: Callable[[Event], None], leaving: threading.Event | None
) -> None:
    async with aclosing(events):
        async for event in events:
            try:
                show(event)
            except OSError as error:
                if leaving is None or error.errno != errno.EIO:
                    raise
                leaving.set()  # the terminal is gone; its SIGHUP is on the way
                raise asyncio.CancelledError from error


def tell_next(name: str, arguments: argparse.Namespace, exposure: Exposure | None = None) -> None:
    """Show the measured and predicted memory, and how to chat with the server and stop it."""
    from wizard import journey
    from wizard.advise.calibration import text
    from wizard.chat.elsewhere import question

    if arguments.json:
        return
    if measurement := journey.calibration(workspace_of(arguments)).latest_of(name):
        print(f"\n{text(measurement)}", file=sys.stderr)
    commands = (
        (tr("Chat with it:"), command_line(arguments, "chat", name)),
        (tr("Stop it:"), command_line(arguments, "down", name)),
    )
    print(f"\n{table(commands)}", file=sys.stderr)
    endpoint = journey.endpoint(workspace_of(arguments), name)
    if endpoint.openai:
        print(f"\n{tr('From other programs, for example:')}\n{question(endpoint)}", file=sys.stderr)
        if url := from_elsewhere(exposure, endpoint.openai):
            print(tr("From other machines: {url}", url=url), file=sys.stderr)


def offer(arguments: argparse.Namespace) -> bool:
    """Whether a build was running, and the user has watched it instead of starting another.

    Raises:
        WorkspaceError: TW-R100 if one is running, and no terminal is attached or the user does not want to watch it.
    """
    from wizard import journey
    from wizard.cli.confirm import yes
    from wizard.run.build import occupied

    workspace = workspace_of(arguments)
    build = journey.building(workspace)
    if build is None or build.ending:
        return False
    error = occupied(build, workspace)
    if arguments.json or arguments.yes or not is_terminal():
        raise error
    tell(error.what)
    if not yes(tr("Watch it?")):
        raise error
    _watch(build, arguments)
    return True


def attach(arguments: argparse.Namespace) -> int:
    """`triton-wizard attach`: show a build from its beginning to its end; its exit status is the build's."""
    from wizard import journey

    _watch(journey.build(workspace_of(arguments), arguments.name), arguments)
    return 0


def _watch(build: Build, arguments: argparse.Namespace) -> None:
    from wizard import journey
    from wizard.run.build import left

    leaving = threading.Event()
    leaving.set()  # leaving this view never stops the build
    running = build.running
    if not arguments.json:
        began = time.strftime("%Y-%m-%d %H:%M", time.localtime(build.at))
        if running:
            tell(tr("Build of {name}, since {time} (process {pid})", name=build.name, time=began, pid=build.pid))
            tell(tr("Ctrl-C leaves this view, and the build continues."))
            print(f"{table([(tr('Stop it:'), command_line(arguments, 'cancel'))])}\n", file=sys.stderr)
        else:
            tell(tr("Build of {name}, begun {time}; it has ended", name=build.name, time=began))
    events = journey.attach(workspace_of(arguments), build.name, leaving=leaving)
    try:
        if not _shown(events, arguments, leaving, ""):
            raise left(build.name)
    except WizardError as error:
        plan = journey.earlier_plan(workspace_of(arguments), build.name)
        if plan is None or not fixed(error, plan, arguments):
            raise
        as_before = {"words": ("up", build.name), "redo": (), "skip": build.skip, "keep": build.keep}
        carry_out(plan, argparse.Namespace(**{**vars(arguments), **as_before}), build.exposure)
        running = True
    if running:
        tell_next(build.name, arguments)


def cancel(arguments: argparse.Namespace) -> int:
    """`triton-wizard cancel`: stop the running build; exits with 0 if none is running."""
    from wizard import journey

    workspace = workspace_of(arguments)
    build = journey.cancel(workspace, arguments.name)
    if arguments.json:
        print_json(build)
    elif build is None:
        tell(tr("no build is running in {folder}", folder=workspace.root))
    else:
        again = command_line(arguments, "up", build.name)
        tell(tr("stopped the build of {name}; completed steps are kept", name=build.name))
        tell(tr("To continue, run `{command}`.", command=again))
    return 0
