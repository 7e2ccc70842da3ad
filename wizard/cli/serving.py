"""The commands that act: up, run, demo, status, logs, chat, clean; and the wizard itself."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.cli.building import carry_out, offer, tell_next
from wizard.cli.command_lines import command_line, fit, typed_command
from wizard.cli.confirm import agreed
from wizard.cli.exposure import exposure_of
from wizard.cli.stages import host_of, print_json, workspace_of
from wizard.cli.tools import tools_of
from wizard.cli.walk import constraints_given, make_plan
from wizard.cli.workshop import pinned_answers, workshop_options
from wizard.kernel.errors import CancelledError, ServerError, UsageError, WorkspaceError
from wizard.kernel.language import mark, tr

if TYPE_CHECKING:
    from wizard.plan.plan import Plan
    from wizard.serve.endpoint import Endpoint
    from wizard.serve.exposure import Exposure

KINDS = {
    "server": mark("server"),
    "environment": mark("environment"),
    "model": mark("model"),
    "benchmark": mark("benchmark"),
    "record": mark("record"),
    "container": mark("container"),
    "process": mark("leftover process"),
    "service": mark("systemd service"),
    "memory": mark("leftover shared memory"),
}
"""Kind of `wizard.run.clean.Item` → display name."""


def wizard(arguments: argparse.Namespace) -> int:
    """`triton-wizard` alone: the full-screen wizard, or the prompts."""
    from wizard.kernel.text import is_terminal
    from wizard.plan.answers import read_answers

    in_browser = "TEXTUAL_DRIVER" in os.environ  # see `wizard.tui.web.server`
    if not in_browser and not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        raise UsageError(
            "TW-U02",
            tr("the wizard needs to ask questions, but no terminal is attached"),
            tr("Pass the answers as flags: `triton-wizard up demo --yes`, or see `triton-wizard --help`."),
        )
    answers = {**(read_answers(arguments.answers) if arguments.answers else {}), **constraints_given(arguments)}
    answers = pinned_answers(arguments, answers)
    if arguments.hardware:
        host_of(arguments)  # report errors in flags before a screen opens
    options = {"hardware": arguments.hardware, "offline": arguments.offline, **workshop_options(arguments)}
    if not in_browser and (arguments.plain or os.environ.get("TERM", "dumb") == "dumb"):
        from wizard.prompts.flow import run_prompts

        command = (
            typed_command(arguments) if arguments.plain else f"{typed_command(arguments)} --plain"
        )  # TERM does not tell
        return run_prompts(workspace_of(arguments), answers=answers, again=command, **options)
    from wizard.tui.start import run_tui

    return run_tui(workspace_of(arguments), answers=answers, **options)


def run(arguments: argparse.Namespace) -> int:
    """`triton-wizard run`."""
    from wizard.kernel import bounded
    from wizard.kernel.paths import Workspace
    from wizard.kernel.reasons import unreadable
    from wizard.kernel.values import LARGEST, from_json
    from wizard.plan.plan import Plan

    try:
        if arguments.plan == "-" and sys.stdin is None:
            raise OSError(tr("standard input is closed"))
        text = bounded.read(sys.stdin.buffer if arguments.plan == "-" else Path(arguments.plan), LARGEST)
    except (OSError, ValueError) as error:
        raise UsageError(
            "TW-U05",
            tr("cannot read {file}: {reason}", file=arguments.plan, reason=unreadable(error)),
            tr("Pass a plan file created with `plan --json`."),
        ) from error
    plan = from_json(Plan, text, where=arguments.plan)
    if workspace_of(arguments) != Workspace.at(plan.workspace):
        arguments.workspace = plan.workspace  # answers refer to the plan
    if offer(arguments):
        return 0
    if plan.is_for_here and not arguments.yes:  # whoever wrote it, it can run any command
        _ask_to_go(plan, arguments, files=True)
    return _serve(plan, arguments, exposure_of(arguments, workspace_of(arguments)))


def up(arguments: argparse.Namespace) -> int:
    """`triton-wizard up`."""
    if offer(arguments):
        return 0
    plan = make_plan(arguments)
    if not arguments.yes:
        _ask_to_go(plan, arguments)
    elif not arguments.json:
        _announce(plan)
    return _serve(plan, arguments, exposure_of(arguments, workspace_of(arguments)))


def _serve(plan: Plan, arguments: argparse.Namespace, exposure: Exposure | None) -> int:
    if arguments.verify and plan.is_for_here:
        _verify(arguments, plan.name)
    carry_out(plan, arguments, exposure)
    tell_next(plan.name, arguments, exposure)
    return 0


def _verify(arguments: argparse.Namespace, name: str) -> None:
    """Compare the files of the server's model with its manifest, which an earlier run wrote."""
    from wizard import journey
    from wizard.kernel.text import is_terminal

    def show(fraction: float) -> None:
        text = tr("Checking the files of {name}: {percent}%", name=name, percent=round(100 * fraction))
        print(f"\r{text}", end="\n" if fraction >= 1 else "", file=sys.stderr, flush=True)

    seen = is_terminal(sys.stderr) and not arguments.json
    journey.verify(workspace_of(arguments), name, show if seen else lambda _: None)


def _announce(plan: Plan) -> None:
    """Show the downloads, their licenses, and other notes before the run begins."""
    from wizard.kernel.text import plain
    from wizard.plan.summary import model_line
    from wizard.prompts.speech import tell

    for line in (f"{plan.facts.name}: {model_line(plan.facts)}", *plan.notes):
        tell(plain(line))


def _ask_to_go(plan: Plan, arguments: argparse.Namespace, *, files: bool = False) -> None:
    from wizard.kernel.text import is_terminal
    from wizard.prompts.question_input import forget_typed
    from wizard.prompts.value_text import plan_text

    if not is_terminal():
        message = tr("the plan requires confirmation, but no terminal is attached")
        raise UsageError("TW-U03", message, tr("Pass --yes to accept it."))
    print(plan_text(plan, files=files, fit=fit(arguments)), file=sys.stderr)
    forget_typed()  # a user who typed ahead has not read the plan
    if not agreed(f"\n{tr('Start?')}", default=True):
        raise CancelledError(
            "TW-U06", tr("the plan was not accepted"), tr("Nothing was done; use flags to change the plan.")
        )


def demo(arguments: argparse.Namespace) -> int:
    """`triton-wizard demo`: the whole workflow with the offline model; no server is left running."""
    from wizard import journey
    from wizard.prompts.chat import run_chat

    arguments = argparse.Namespace(
        **{"ref": "demo", "answers": None, "name": None, "http_port": None, **vars(arguments)}, yes=True
    )
    plan = make_plan(arguments)
    workspace = workspace_of(arguments)
    question = plan.facts.questions[0] if plan.facts.questions else "What is Triton?"
    ours = plan.name not in {
        server.name for server in journey.statuses(workspace) if server.state in ("ready", "starting")
    }
    try:
        carry_out(plan, arguments, outlives=False)  # it leaves no server running
        endpoint = journey.endpoint(workspace, plan.name)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that it, too, goes through the cleanup below
        if not arguments.json:
            print(f"\n{tr('Question:')} {question}\n{tr('Answer:')}   ", end="", flush=True)
        status = run_chat(endpoint, message=question, json_output=arguments.json, protocol="grpc")
    except WorkspaceError:
        ours = False  # another wizard has locked the workspace; its servers are its own
        raise
    finally:
        if ours and plan.name in workspace.names():
            journey.stop(workspace, plan.name)
    if not ours:
        print(f"\n{tr('The server was already running and keeps running.')}", file=sys.stderr)
        return status
    if not arguments.json:
        folder = workspace.server(plan.name).logs
        print(f"\n{tr('Stopped; nothing is left running. Logs: {folder}', folder=folder)}", file=sys.stderr)
        print(tr("Open the full-screen wizard: {command}", command=command_line(arguments)), file=sys.stderr)
    return status


def status(arguments: argparse.Namespace) -> int:
    """`triton-wizard status`."""
    from wizard import journey
    from wizard.serve.status import status_data

    workspace = workspace_of(arguments)
    for name in workspace.names() if arguments.verify else ():
        _verify(arguments, name)
    servers = journey.statuses(workspace)
    if arguments.json:
        print_json([status_data(server) for server in servers])
    else:
        from wizard.prompts.value_text import statuses_text

        print(statuses_text(servers, command_line(arguments, "up", "demo")))
    return 0


def logs(arguments: argparse.Namespace) -> int:
    """`triton-wizard logs`."""
    from wizard import journey

    lines = journey.logs(
        workspace_of(arguments),
        arguments.name,
        lines=arguments.lines,
        step=arguments.step,
        raw=arguments.raw,
        times=arguments.times,
    )
    if arguments.json:
        print_json(lines)
    else:
        print("\n".join(lines))
    return 0


def chat(arguments: argparse.Namespace) -> int:
    """`triton-wizard chat`. Interactive conversations are saved, others only if they continue a saved one."""
    from wizard import journey
    from wizard.chat.settings import SETTINGS, parsed, started, with_answers
    from wizard.flow.session import keeps_chats
    from wizard.kernel.text import is_terminal
    from wizard.prompts.chat import run_chat

    workspace = workspace_of(arguments)
    full_screen = bool(arguments.url) and _full_screen(arguments)
    if arguments.url:
        endpoint = _at_url(arguments, any_model=full_screen)
    else:
        endpoint = journey.endpoint(workspace, arguments.name)
    history = journey.history(workspace)
    kept = started(history, go_on=arguments.go_on, preset=arguments.preset)
    given = {
        setting.name: value for setting in SETTINGS if (value := getattr(arguments, setting.name, None)) is not None
    }
    endpoint = replace(endpoint, folder=arguments.tokenizer or endpoint.folder, model=arguments.model or endpoint.model)
    conversation = with_answers(kept.conversation, {**given, **parsed(arguments.set)})
    if full_screen:
        from wizard.tui.opening import Opening
        from wizard.tui.start import run_tui

        keeps = not arguments.private and keeps_chats()
        tools = tools_of(arguments, workspace, asks=True)
        return run_tui(workspace, opening=Opening(endpoint, conversation, kept if keeps else None, tools))
    spoken = arguments.go_on or (arguments.message is None and is_terminal(sys.stdin))
    return run_chat(
        endpoint,
        conversation,
        message=arguments.message,
        json_output=arguments.json,
        protocol=arguments.protocol,
        workspace=workspace,
        history=history,
        keep=spoken and not arguments.private and keeps_chats(),
        kept=kept,
        compare=arguments.compare,
        tools=tools_of(arguments, workspace, asks=arguments.message is None and is_terminal(sys.stdin)),
    )


def _full_screen(arguments: argparse.Namespace) -> bool:
    """Whether a chat can take the whole terminal, and nothing else was asked for."""
    from wizard.kernel.text import is_terminal

    wants = not (arguments.plain or arguments.json or arguments.compare) and arguments.message is None
    return wants and is_terminal(sys.stdin) and is_terminal(sys.stdout) and os.environ.get("TERM", "dumb") != "dumb"


def _at_url(arguments: argparse.Namespace, *, any_model: bool) -> Endpoint:
    """The server at ``--url``; if it requires an API key and a terminal is attached, prompts for the key, masked.
    ``any_model``: with several models and no name the first one, because others can be chosen later.
    """
    from getpass import getpass

    from wizard import journey
    from wizard.chat.ask import API_KEY
    from wizard.kernel.text import is_terminal

    if arguments.name:
        raise UsageError(
            "TW-U37",
            tr("NAME and --url cannot be combined: NAME is a server in the workspace, --url is a server elsewhere"),
            tr("Pass only one of them; to choose a model on the --url server, use --model."),
        )

    def find() -> Endpoint:
        there = journey.models(arguments.url) if any_model and arguments.model is None else []
        return there[0] if there else journey.at(arguments.url, arguments.model)

    try:
        return find()
    except ServerError as error:
        if error.code != "TW-C12" or not is_terminal(sys.stdin):
            raise
        print(error.what, file=sys.stderr)
    os.environ[API_KEY] = getpass(f"{tr('API key (hidden):')} ")  # of this process; its children do not get it
    return find()


def clean(arguments: argparse.Namespace) -> int:
    """`triton-wizard clean`."""
    from wizard import journey
    from wizard.kernel.text import table
    from wizard.kernel.units import size

    workspace = workspace_of(arguments)
    items, images = journey.made(workspace), journey.images(workspace)
    if arguments.keep_models:
        items = [item for item in items if item.kind != "model"]
    if arguments.yes:
        journey.clean(workspace, items)
    if arguments.json:
        print_json({"removed": arguments.yes, "items": items, "images": images})
        return 0
    rows = [(tr(KINDS[item.kind]), item.name, size(item.bytes), item.path or shlex.join(item.remove)) for item in items]
    print(table(rows) or tr("{folder} is empty", folder=workspace.root))
    for image in images:
        words = {"image": image.name, "size": size(image.bytes), "command": shlex.join(image.remove)}
        hint = tr(
            "The image {image} ({size}) is kept, because it may be in use elsewhere; to remove it, run `{command}`",
            **words,
        )
        print(hint, file=sys.stderr)
    if workspace.chats.exists():
        print(tr("Saved conversations are kept in {folder}", folder=workspace.chats), file=sys.stderr)
    if items:
        total = size(sum(item.bytes for item in items))
        left = tr("{size} in total; pass --yes to remove everything", size=total)
        print(tr("removed {size}", size=total) if arguments.yes else left, file=sys.stderr)
    return 0
