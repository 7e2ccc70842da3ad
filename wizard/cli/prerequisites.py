"""`triton-wizard prerequisites`: what this machine has and lacks for GPU containers, and the commands that bring it."""

from __future__ import annotations

import argparse
import subprocess
import sys
from typing import TYPE_CHECKING

from wizard.cli.stages import print_json, workspace_of
from wizard.kernel.errors import CancelledError, HostError, UsageError

if TYPE_CHECKING:
    from wizard.plan.prerequisites import Prerequisite
    from wizard.probe.host import Host

BY_HAND = ("newgrp ", "sudo reboot")
"""Beginnings of lines that are left to the user: one opens another shell, one ends this session."""


def prerequisites(arguments: argparse.Namespace) -> int:
    """Show them, or bring the one that ``--run`` names; the status says whether something is missing."""
    from wizard import journey
    from wizard.plan.prerequisites import prerequisites as of

    host = journey.probe(workspace_of(arguments), hardware=arguments.hardware)
    found = of(host)
    if arguments.run:
        (wanted,) = (one for one in found if one.name == arguments.run)
        _bring(host, wanted, yes=arguments.yes)
        return 0
    if arguments.json:
        print_json(found)
    else:
        print("\n".join(map(_text, found)))
    return 0 if all(one.met for one in found) else HostError.exit_code


def _text(one: Prerequisite) -> str:
    from wizard.kernel.text import one_line
    from wizard.prompts.show import wrapped

    lines = [wrapped(f"{one.title}: {'' if one.met else 'missing. '}{one_line(one.found)}", "  ", first="")]
    if not one.met:
        lines.append(wrapped(one.why, "  "))
        lines += [f"    $ {line}" for line in one.commands]
        lines += [wrapped(f"Source: {one.source}", "  ")] if one.source else []
        lines += [f"  Run them: triton-wizard prerequisites --run {one.name}"] if one.commands else []
    return "\n".join(lines)


def _bring(host: Host, one: Prerequisite, *, yes: bool) -> None:
    """Run the commands one by one in this terminal, where sudo may ask.

    Raises:
        UsageError: TW-U38 if there is no terminal to ask in, TW-U40 if the machine is another one.
        HostError: TW-U39 if a command fails, TW-U41 if none is known for this distribution.
        CancelledError: TW-U42 if the user does not want it.
    """
    if host.source != "this machine":
        raise UsageError("TW-U40", f"{host.source} is not this machine", "Leave --hardware away to change this one.")
    if one.met:
        print(f"{one.title}: {one.found}", file=sys.stderr)
        return
    if not one.commands:
        raise HostError("TW-U41", f"no commands are known for this: {one.found}", f"Follow {one.source}.")
    mine = [line for line in one.commands if not line.startswith(BY_HAND)]
    print("\n".join([f"{one.title}: {one.found}. {one.why}", *(f"  $ {line}" for line in mine)]), file=sys.stderr)
    if not yes:
        _ask()
    for line in mine:
        print(f"\n$ {line}", file=sys.stderr, flush=True)
        # In the foreground of this terminal, unlike a plan's steps: sudo asks for the password there.
        if status := subprocess.run(("sh", "-c", line), check=False).returncode:
            todo = "Mend what it says above and run this again; what was done stays done."
            raise HostError("TW-U39", f"`{line}` ended with status {status}", todo)
    for line in one.commands:
        if line.startswith(BY_HAND):
            print(f"\nLeft to you: {line}", file=sys.stderr)


def _ask() -> None:
    from wizard.kernel.text import is_terminal

    if not is_terminal(sys.stdin):
        raise UsageError("TW-U38", "these commands need your word and there is no terminal", "Say --yes to run them.")
    print("\nRun them? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CancelledError(
            "TW-U42", "the commands were not run", "Nothing was changed; run them by hand if you like."
        )
