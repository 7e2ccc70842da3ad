"""The error that users see of something that is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wizard.advise.reasons import Refused
from wizard.kernel.errors import WizardError
from wizard.kernel.language import english, mark, tr
from wizard.texts import reasons, remedies
from wizard.texts.data import in_english

TODO = {
    **dict.fromkeys(("TW-A01", "TW-A10", "TW-L01"), "{remedy}"),
    "TW-A11": mark("Try: {remedy}."),
    "TW-L47": mark("Use {remedy}."),
}
"""What to do, by the error's code; for others the remedy as a sentence."""


@contextmanager
def worded() -> Iterator[None]:
    """Raise what is refused inside as the error of its kind, in the present language."""
    try:
        yield
    except Refused as refused:
        raise error(refused) from refused


def error(refused: Refused) -> WizardError:
    """The error, with its reason and its remedies as texts."""
    why, remedy = reasons.text(refused.why.reason), remedies.text(refused.why.remedies)
    if refused.code in TODO:
        todo = tr(TODO[refused.code], remedy=remedy)
    else:
        todo = f"{remedy[:1].upper()}{remedy[1:].rstrip('.')}."
    return refused.kind(refused.code, why.rstrip(".") if refused.code == "TW-A11" else why, todo)


def in_json(failure: WizardError) -> dict[str, str]:
    """The error's fields, the same in every language: what was refused is worded again, in English."""
    if not isinstance(failure.__cause__, Refused):
        return {name: english(text) for name, text in failure.as_json().items()}
    with in_english():
        return error(failure.__cause__).as_json()
