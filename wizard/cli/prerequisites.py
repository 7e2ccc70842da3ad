"""`triton-wizard prerequisites`: the prerequisites of GPU containers on this machine, and the commands to install
them.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from wizard.cli.confirm import agreed
from wizard.cli.stages import print_json, workspace_of
from wizard.kernel.errors import CancelledError, HostError, UsageError
from wizard.kernel.foreground import foreground
from wizard.kernel.language import tr
from wizard.kernel.program import command

if TYPE_CHECKING:
    from wizard.plan.prerequisites import Prerequisite
    from wizard.probe.host import Host

BY_HAND = ("newgrp ", "sudo reboot")
"""Prefixes of lines that the user must run: one opens another shell, one ends this session. See also
`wizard.catalog.failures.Where`.
"""


def prerequisites(arguments: argparse.Namespace) -> int:
    """Show them, or install the one in ``--run``; the exit status reports whether any is missing."""
    from wizard import journey
    from wizard.plan.prerequisites import prerequisites as of

    host = journey.probe(workspace_of(arguments), hardware=arguments.hardware)
    items = of(host)
    if arguments.run:
        (chosen,) = (item for item in items if item.name == arguments.run)
        _bring(host, chosen, yes=arguments.yes)
        return 0
    if arguments.json:
        print_json(items)
    else:
        print("\n".join(_text(item, here=host.is_here) for item in items))
        if not any(item.needed for item in items):
            print(tr("Without an NVIDIA GPU, models run on the CPU: {command}", command=command("up", "demo")))
    return 0 if all(item.met or not item.needed for item in items) else HostError.exit_code


def _text(item: Prerequisite, *, here: bool) -> str:
    """A few lines; the ``--run`` command is shown for this machine only, because it runs here."""
    from wizard.kernel.text import one_line
    from wizard.prompts.value_text import wrapped

    words = {"what": item.title, "found": one_line(item.found)}
    if not item.needed and not item.met:
        return wrapped(tr("{what}: not needed on a machine without an NVIDIA GPU", **words), "  ", first="")
    title = tr("{what}: {found}", **words) if item.met else tr("{what}: not available ({found})", **words)
    lines = [wrapped(title, "  ", first="")]
    if not item.met:
        lines.append(wrapped(item.why, "  "))
        lines += [f"    $ {line}" for line in item.commands]
        lines += [wrapped(tr("Source: {source}", source=item.source), "  ")] if item.source else []
        run = command("prerequisites", "--run", item.name)
        lines += [f"  {tr('Run them: {command}', command=run)}"] if item.commands and here else []
    return "\n".join(lines)


def _bring(host: Host, item: Prerequisite, *, yes: bool) -> None:
    """Run the commands one by one in this terminal, so that sudo can prompt.

    Raises:
        UsageError: TW-U38 if no terminal is attached, TW-U40 if it is a different machine.
        HostError: TW-U39 if a command fails, TW-U41 if none is known for this distribution.
        CancelledError: TW-U42 if the user declines.
    """
    if not host.is_here:
        message = tr("{host} is not this machine", host=host.source)
        raise UsageError("TW-U40", message, tr("Omit --hardware to install on this machine."))
    if item.met or not item.needed:
        print(_text(item, here=True), file=sys.stderr)
        return
    if not item.commands:
        message = tr("the wizard has no installation commands for this system ({found})", found=item.found)
        raise HostError("TW-U41", message, tr("For instructions, see {source}.", source=item.source))
    mine = [line for line in item.commands if not line.startswith(BY_HAND)]
    print("\n".join([f"{item.title}: {item.found}. {item.why}", *(f"  $ {line}" for line in mine)]), file=sys.stderr)
    if not yes:
        _ask()
    for line in mine:
        print(f"\n$ {line}", file=sys.stderr)
        if status := foreground(line):
            todo = tr("Fix the problem above, then rerun the triton-wizard command.")
            raise HostError("TW-U39", tr("`{command}` exited with status {status}", command=line, status=status), todo)
    for line in item.commands:
        if line.startswith(BY_HAND):
            print(f"\n{tr('Run this yourself: {command}', command=line)}", file=sys.stderr)


def _ask() -> None:
    from wizard.kernel.text import is_terminal

    if not is_terminal(sys.stdin):
        message = tr("confirmation required, but no terminal is attached")
        raise UsageError("TW-U38", message, tr("Pass --yes to run the commands without confirmation."))
    if not agreed(f"\n{tr('Run them?')}", default=False):
        raise CancelledError(
            "TW-U42", tr("the commands were not run"), tr("Nothing was changed; you can run them manually.")
        )
