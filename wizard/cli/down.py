"""`triton-wizard down`: stop one server, or all of them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from wizard.cli.stages import print_json, workspace_of
from wizard.kernel.errors import CancelledError, ServerError, UsageError
from wizard.kernel.language import tr

if TYPE_CHECKING:
    from wizard.kernel.paths import Workspace
    from wizard.serve.status import Status

SEVERAL, NONE = "TW-S01", "TW-S02"
"""Error codes if several servers are running, or none (`wizard.serve.find.endpoint`)."""


def down(arguments: argparse.Namespace) -> int:
    """`triton-wizard down`; exits with 0 if nothing is running."""
    from wizard import journey
    from wizard.serve.status import status_data

    workspace = workspace_of(arguments)
    if arguments.all:
        stopped = journey.stop_all(workspace)
    else:
        stopped = _stopped(workspace, arguments.name, asks=not arguments.json)
    if arguments.json:
        data = [status_data(server) for server in stopped]
        print_json(data if arguments.all else next(iter(data), None))
        return 0
    lines = [tr("stopped {name}", name=server.name) for server in stopped]
    print("\n".join(lines) or tr("no server is running in {folder}", folder=workspace.root), file=sys.stderr)
    return 0


def _stopped(workspace: Workspace, name: str | None, *, asks: bool) -> list[Status]:
    """Stop the server ``name``, or the only one; if several are running, let the user choose."""
    from wizard import journey
    from wizard.kernel.text import is_terminal

    try:
        return [journey.stop(workspace, name)]
    except ServerError as error:
        if error.code != NONE:
            raise
        return journey.stop_all(workspace)  # also those that are not noted as running
    except UsageError as error:
        if error.code != SEVERAL:
            raise
        if not (asks and is_terminal()):
            raise UsageError(SEVERAL, error.what, tr("Pass the name of one of them, or --all.")) from error
    chosen = _chosen(workspace)
    return [journey.stop(workspace, chosen)] if chosen else journey.stop_all(workspace)


def _chosen(workspace: Workspace) -> str | None:
    """The name of the server that the user chooses; None for all."""
    from wizard import journey
    from wizard.prompts.ask import Ask
    from wizard.serve.status import STATES

    servers = [server for server in journey.statuses(workspace) if server.endpoint]
    servers.sort(key=lambda server: server.state == "dead")
    options: list[tuple[str, str | None]] = [
        (f"{server.name} ({tr(STATES[server.state])})", server.name) for server in servers
    ]
    try:
        return Ask().choose(tr("Which server should be stopped?"), [*options, (tr("All of them"), None)])
    except (KeyboardInterrupt, EOFError) as error:
        raise CancelledError("TW-U65", tr("no server was chosen"), tr("All servers keep running.")) from error
