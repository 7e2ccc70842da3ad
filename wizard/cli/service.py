"""`triton-wizard service`: start a server with the machine."""

from __future__ import annotations

import argparse
import getpass
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from wizard.cli.command_lines import command_line
from wizard.cli.stages import print_json, workspace_of
from wizard.kernel.language import tr
from wizard.kernel.text import table

if TYPE_CHECKING:
    from wizard.serve.service import Service

EXAMPLES = "service install demo\nservice status\nservice remove demo"


def add_service(parser: argparse.ArgumentParser) -> None:
    """The flags of ``service``."""
    about = tr(
        "install: let systemd start the server when you log in or the machine starts, and keep it running; "
        "remove: no longer; status: show whether it does"
    )
    parser.add_argument("action", choices=("install", "remove", "status"), metavar="install|remove|status", help=about)
    which = tr("a server in the workspace (default: the only one)")
    parser.add_argument("name", nargs="?", metavar="NAME", help=which)


def service(arguments: argparse.Namespace) -> int:
    """`triton-wizard service`."""
    from wizard import journey

    workspace, name = workspace_of(arguments), arguments.name
    removed = False
    if arguments.action == "install":
        journey.install_service(workspace, name)
    now = journey.service(workspace, name)
    if arguments.action == "remove":
        removed = journey.remove_service(workspace, now.server)
        now = replace(now, installed=False, enabled=None)
    if arguments.json:
        print_json(now)
        return 0
    if arguments.action == "remove":
        gone = tr("removed {path}; a running server keeps running", path=now.path)
        print(gone if removed else tr("{server} has no service", server=now.server), file=sys.stderr)
        return 0
    print(_text(now))
    if now.installed:
        _tell_how(now, arguments)
    return 0


def _text(now: Service) -> str:
    words = {True: tr("yes"), False: tr("no"), None: tr("unknown")}
    rows = [
        (tr("Server"), now.server),
        (tr("Unit"), now.path if now.installed else tr("not installed")),
        (tr("Started by systemd"), words[now.enabled if now.installed else False]),
        (tr("Without a login"), words[now.lingers]),
    ]
    return table(rows)


def _tell_how(now: Service, arguments: argparse.Namespace) -> None:
    lines = [(tr("Start it now:"), f"systemctl --user start {now.unit}")]
    if not now.lingers:
        lines.append(
            (tr("Start it with the machine, before you log in:"), f"loginctl enable-linger {getpass.getuser()}")
        )
    lines.append((tr("Remove it:"), command_line(arguments, "service", "remove", now.server)))
    print(f"\n{table(lines)}", file=sys.stderr)
