"""`triton-wizard lint`: problems in any model repository."""

from __future__ import annotations

import argparse

from wizard.cli.stages import print_json, workspace_of


def lint(arguments: argparse.Namespace) -> int:
    """Print the findings; the exit status reports whether a server would reject a model."""
    from dataclasses import replace
    from pathlib import Path

    from wizard import journey
    from wizard.kernel.errors import InfeasibleError
    from wizard.kernel.program import pasteable
    from wizard.kernel.text import plain
    from wizard.repository.lint import report_text, server

    host = journey.probe(workspace_of(arguments), hardware=arguments.hardware)
    gpus = None if "gpus" in host.unknown else len(host.gpus)
    mounts = tuple(arguments.mount)
    known = server(arguments.server_version, backends=arguments.backends, gpus=gpus, mounts=mounts)
    kinds = frozenset("{}.{}".format(*gpu.compute_capability) for gpu in host.gpus if gpu.compute_capability)
    report = journey.lint(Path(arguments.repository), replace(known, capabilities=kinds or None))
    if arguments.json:
        print_json(report)
    else:
        print(pasteable(plain(report_text(report)), arguments.workspace))
    return InfeasibleError.exit_code if report.errors else 0
