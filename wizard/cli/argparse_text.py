"""The words of argparse itself (usage, options, what is wrong with a flag) in the wizard's language.

argparse looks its words up with gettext, in a catalogue that only the environment can choose; ``--language`` cannot,
and setting the environment would change the language of every tool that is started. So it is given our look-up.
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
"""What our commands can make it say (Lib/argparse.py of Python 3.10 to 3.12)."""


def translate_argparse() -> None:
    """Let argparse say its words through `wizard.kernel.language`."""
    vars(argparse).update(_=language.tr, ngettext=language.ntr)
