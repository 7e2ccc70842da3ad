"""argparse's own messages (usage, options, errors in flags) in the wizard's language.

argparse looks its messages up with gettext, in a catalog that only the environment can select; ``--language`` cannot,
and setting the environment would change the language of every child process. So it gets our lookup.
"""

from __future__ import annotations

import argparse

from wizard.kernel import language
from wizard.kernel.language import mark

WORDS = (
    mark("usage: "),
    mark("positional arguments"),
    mark("options"),
    mark("show this help message and exit"),
    mark("the following arguments are required: %s"),
    mark("unrecognized arguments: %s"),
    mark("argument %(argument_name)s: %(message)s"),
    mark("invalid %(type)s value: %(value)r"),
    mark("invalid choice: %(value)r (choose from %(choices)s)"),
    mark("ambiguous option: %(option)s could match %(matches)s"),
    mark("ignored explicit argument %r"),
    mark("expected one argument"),
    mark("expected at most one argument"),
    mark("expected at least one argument"),
)
"""Messages that our commands can trigger (Lib/argparse.py of Python 3.10 to 3.12)."""


def translate_argparse() -> None:
    """Make argparse translate through `wizard.kernel.language`."""
    vars(argparse).update(_=language.tr, ngettext=language.ntr)
