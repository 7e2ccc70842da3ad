"""A plan as a shell script: the same commands in the same order, each step behind its reason."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import PurePath

from wizard.plan.plan import Plan, Step

HEAD = """\
#!/usr/bin/env bash
# {title}
# Made by triton-wizard for {host}; every path in it is that machine's. It does what the wizard would do, without its
# checks: nothing is skipped that is there already, a port that is taken is not moved, and no first question is asked.
set -euo pipefail
mkdir -p {server} && cd {server}
"""


def script(plan: Plan) -> str:
    """The script; the same text for the same plan. Secrets are not in it: steps find them in the environment."""
    server = PurePath(plan.workspace) / "servers" / plan.name
    title = f"Serve {plan.facts.name} as {plan.name} with {plan.choice.stack}"
    head = HEAD.format(title=title, host=plan.host, server=shlex.quote(str(server)))
    # The question is the wizard's own command, which knows only of servers that it has started.
    return "\n".join([head, *(_step(step) for step in plan.steps if step.id != "question")])


def _step(step: Step) -> str:
    why = textwrap.fill(" ".join(step.why.split()), 110, initial_indent="# ", subsequent_indent="# ")
    # A directory that a command changes to is that command's own.
    lines = [f"({line})" if line.startswith("cd ") else line for line in (each.shell() for each in step.actions)]
    return "\n".join([f"# --- {step.title}", why, f"echo {shlex.quote('--- ' + step.title)}", *lines, ""])
