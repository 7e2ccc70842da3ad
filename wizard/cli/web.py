"""`triton-wizard web`: the full-screen wizard in a browser of this machine."""

from __future__ import annotations

import argparse
import sys

from wizard.kernel.errors import HostError
from wizard.kernel.language import tr, used

EXTRA = ("aiohttp", "aiohttp_jinja2", "textual_serve")
"""Packages that only the extra ``web`` brings."""


def web(arguments: argparse.Namespace) -> int:
    """Serve it until Ctrl-C; what was said here is said to every wizard that is started."""
    from wizard.plan.answers import read_answers

    try:
        from wizard.tui.web import serve
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in EXTRA:
            raise
        raise HostError(
            "TW-U60",
            tr("the wizard in a browser needs a package that is not installed: {package}", package=error.name),
            tr("Install it: `pip install 'triton-wizard[web]'`."),
        ) from error
    if arguments.answers:
        read_answers(arguments.answers)  # what is wrong in it is told here, not in a page
    serve(command(arguments), port=arguments.port, browser=not arguments.no_open)
    return 0


def command(arguments: argparse.Namespace) -> list[str]:
    """What runs the wizard of a tab."""
    given = {
        name: value
        for name in ("workspace", "profiles", "hardware", "answers", "workshop", "seat")
        if (value := getattr(arguments, name, None))
    }
    words = [f"--{name}={value}" for name, value in given.items()]
    words += [f"--{name}" for name in ("offline", "explain") if getattr(arguments, name)]
    return [sys.executable, "-m", "wizard", f"--language={used()}", *words]
