"""The user's error for a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wizard.advise.reasons import Refused
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.texts import reasons, remedies

REMEDY = {
    **dict.fromkeys(("TW-A01", "TW-A10", "TW-L01"), "{remedy}"),
    "TW-A11": mark("Try: {remedy}."),
    "TW-L47": mark("Use {remedy}."),
}
"""Error code → how its remedy is worded; the remedies of other codes are sentences already."""


@contextmanager
def user_errors() -> Iterator[None]:
    """Raise refusals inside as the user's error of their kind, in the current language."""
    try:
        yield
    except Refused as refused:
        raise error(refused) from refused


def error(refused: Refused) -> WizardError:
    """The error, with its reason and its remedies as texts."""
    why, remedy = reasons.text(refused.why.reason), remedies.text(refused.why.remedies)
    if refused.code in REMEDY:
        todo = tr(REMEDY[refused.code], remedy=remedy)
    else:
        todo = f"{remedy[:1].upper()}{remedy[1:].rstrip('.')}."
    return refused.kind(refused.code, why.rstrip(".") if refused.code == "TW-A11" else why, todo)
