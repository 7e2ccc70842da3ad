"""A plan as a shell script: the same commands in the same order, each step behind its reason."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import PurePath

from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line
from wizard.plan.artefacts import ENDPOINT, dependants
from wizard.plan.plan import Plan, Step

ABOUT = mark(
    "Serve {model} as {name} with {stack}\n"
    "Made by triton-wizard for {host}; every path in it is that machine's. It does what the wizard would do, without "
    "its\nchecks: nothing is skipped that is there already, a port that is taken is not moved, and no first question "
    "is asked.\nThe wizard does not know of a server that was started so: `triton-wizard down` does not stop it, "
    "`kill` does."
)
HEAD = """\
#!/usr/bin/env bash
{about}
set -euo pipefail
mkdir -p {server} && cd {server}
"""


def script(plan: Plan) -> str:
    """The script; the same text for the same plan. Secrets are not in it: steps find them in the environment."""
    server = PurePath(plan.workspace) / "servers" / plan.name
    names = {"model": plan.facts.name, "name": plan.name, "stack": plan.choice.stack, "host": plan.host}
    about = "\n".join(f"# {one_line(line)}" for line in tr(ABOUT, **names).splitlines())
    head = HEAD.format(about=about, server=shlex.quote(str(server)))
    # The wizard's own command knows only of servers that it has started, of which it leaves a note.
    own = dependants(plan.steps, [step.id for step in plan.steps if ENDPOINT in step.reads])
    return "\n".join([head, *(_step(step) for step in plan.steps if step.id not in own)])


def _step(step: Step) -> str:
    why = textwrap.fill(" ".join(step.why.split()), 110, initial_indent="# ", subsequent_indent="# ")
    lines = [action.shell() for action in step.actions]
    return "\n".join([f"# --- {step.title}", why, f"echo {shlex.quote('--- ' + step.title)}", *lines, ""])
