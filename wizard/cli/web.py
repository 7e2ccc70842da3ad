"""`triton-wizard web`: the full-screen wizard in a browser on this machine."""

from __future__ import annotations

import argparse
import sys

from wizard.kernel.errors import HostError
from wizard.kernel.extras import install
from wizard.kernel.language import tr

EXTRA = ("aiohttp", "aiohttp_jinja2", "textual_serve")
"""Packages that only the extra ``web`` installs."""
PASSED_ON = ("workspace", "profiles", "hardware", "language", "workshop", "seat", "answers", "offline", "explain")
"""Flags that are passed to each tab's wizard."""


def web(arguments: argparse.Namespace) -> int:
    """Serve it until Ctrl-C; the flags are passed to every wizard."""
    from wizard.cli.stages import host_of
    from wizard.plan.answers import read_answers

    try:
        from wizard.tui.web.server import serve
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in EXTRA:
            raise
        raise HostError(
            "TW-U60",
            tr("the browser interface requires a package that is not installed: {package}", package=error.name),
            tr("Install it: `{command}`.", command=install("web")),
        ) from error
    if arguments.answers:  # report errors here, not on a page
        read_answers(arguments.answers)
    if arguments.hardware:
        host_of(arguments)
    serve(command(arguments), port=arguments.port, browser=not arguments.no_open)
    return 0


def command(arguments: argparse.Namespace) -> list[str]:
    """The command that runs a tab's wizard: with the same flags."""
    from wizard.cli.walk import constraints_given
    from wizard.plan.questions import BY_NAME

    flags = {f"--{name}": getattr(arguments, name, None) for name in PASSED_ON}
    flags |= {BY_NAME[name].flag: value for name, value in constraints_given(arguments).items()}
    words = [flag if value is True else f"{flag}={value}" for flag, value in flags.items() if value]
    return [sys.executable, "-m", "wizard", *words]
