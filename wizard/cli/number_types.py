"""Numbers on the command line, as argparse types."""

from __future__ import annotations

import argparse

from wizard.kernel.language import tr


def whole(text: str) -> int:
    """An integer, 1 or more."""
    value = int(text) if text.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(tr("must be an integer of 1 or more"))
    return value


def port(text: str, last: int = 65533) -> int:
    """A port, at most ``last``."""
    value = int(text) if text.isdecimal() else 0
    if not 1 <= value <= last:
        raise argparse.ArgumentTypeError(tr("must be from 1 to {last}", last=last))
    return value
