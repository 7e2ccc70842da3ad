"""Offer the command that fixes a failed build, for commands that run one or show it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from wizard.cli.confirm import agreed
from wizard.kernel.language import tr
from wizard.kernel.text import is_terminal
from wizard.prompts.speech import tell

if TYPE_CHECKING:
    from wizard.kernel.errors import WizardError
    from wizard.plan.plan import Plan


def fixed(error: WizardError, plan: Plan | None, arguments: argparse.Namespace) -> bool:
    """Whether the command that fixes ``error`` was run, after confirmation, and succeeded, so that ``plan`` can be
    retried. Without a terminal, and with ``--yes``, it is only shown.
    """
    from wizard.run.fix import fix_of

    terminal, asks = is_terminal() and is_terminal(sys.stderr), not getattr(arguments, "yes", False)
    fix = None if arguments.json else fix_of(error, plan, terminal=terminal, asks=asks)
    if fix is None:
        return False
    tell(f"\n{fix.title}.")
    tell(fix.cause)
    tell(fix.label)
    print(f"  $ {fix.command}\n", file=sys.stderr, flush=True)
    if fix.by_hand or not _agreed():
        return False
    status = fix.apply()
    tell(f"\n{fix.result(status)}\n")
    return status == 0


def _agreed() -> bool:
    from wizard.prompts.question_input import forget_typed

    forget_typed()  # a user who typed ahead has not read the command
    return agreed(tr("Run it now and retry?"), default=False)
