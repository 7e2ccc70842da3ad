"""`triton-wizard doctor`: what keeps this machine from serving a model, and what to do about it."""

from __future__ import annotations

import argparse
import sys

from wizard.cli.stages import print_json, workspace_of
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

FAILED = 1
"""Exit status if a check fails."""
EXAMPLES = "doctor\ndoctor --quick\ndoctor --json"


def add_doctor(parser: argparse.ArgumentParser) -> None:
    """The flags."""
    about = tr("only the checks that read files: no network, no queries to GPUs")
    parser.add_argument("--quick", action="store_true", help=about)


def doctor(arguments: argparse.Namespace) -> int:
    """Print the findings of all checks; the exit status reports whether one fails."""
    from wizard import journey
    from wizard.kernel.text import is_terminal

    if arguments.hardware:
        raise UsageError("TW-U10", tr("doctor checks only this machine"), tr("Omit --hardware."))
    if is_terminal(sys.stderr):
        print(tr("Checking this machine …"), file=sys.stderr, flush=True)
    findings = journey.doctor(workspace_of(arguments), quick=arguments.quick, offline=arguments.offline)
    if arguments.json:
        print_json(findings)
    else:
        from wizard.kernel.program import pasteable
        from wizard.prompts.speech import columns
        from wizard.texts.doctor.report import report

        print(pasteable(report(findings, columns()), arguments.workspace))
    return FAILED if any(finding.status == "fail" for finding in findings) else 0
