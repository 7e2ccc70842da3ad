"""`triton-wizard diagnose`: known causes of failure in any log."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from wizard.cli.stages import print_json
from wizard.kernel.language import tr
from wizard.kernel.text import wrap

if TYPE_CHECKING:
    from wizard.serve.causes import Finding

_COLUMNS = 100


def diagnose(arguments: argparse.Namespace) -> int:
    """Print the best explanation, then where the log shows others; the exit status is 0 in any case, as for `logs`."""
    from wizard import journey

    findings = journey.diagnose(arguments.log)
    if arguments.json:
        print_json(findings)
    elif findings:
        print(_text(findings))
    else:
        print(tr("The log shows no known cause of failure."), file=sys.stderr)
    return 0


def _text(findings: list[Finding]) -> str:
    best, *others = findings
    rows = [
        (tr("line {number}", number=best.line_number), best.line),
        (tr("Cause"), best.cause),
        (tr("Fix"), best.fix),
        (tr("Command"), best.command),
        (tr("Source"), best.source),
    ]
    shown = [f"{best.title} ({best.id})"]
    shown += [wrap(text, _COLUMNS, first=f"  {name}: ", indent="    ") for name, text in rows if text]
    if others:
        shown += ["", tr("Also in this log:")]
        shown += [f"  {tr('line {number}', number=other.line_number)}: {other.title} ({other.id})" for other in others]
    return "\n".join(shown)
