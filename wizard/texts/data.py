"""Values as JSON with the texts of their reasons, in English whatever the user reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wizard.advise.advice import Rejection
from wizard.advise.reasons import Note, Reason, Remedy
from wizard.kernel import language
from wizard.kernel.values import to_data
from wizard.texts import advise, reasons, remedies


def data(value: Any) -> Any:
    """``value`` as `wizard.kernel.values.to_data`, the same in every language, with texts for people.

    A note has ``text`` and ``source`` too, a rejection ``text`` and ``remedy``, a reason and a remedy ``text``.
    """
    with in_english():
        return _data(value)


@contextmanager
def in_english() -> Iterator[None]:
    """What is worded inside is English."""
    code = language.used()
    if code == "en":
        yield
        return
    language.use("en")
    try:
        yield
    finally:
        language.use(code)


def _data(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        own = {field.name: _data(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {**own, **_texts(value)}
    if isinstance(value, dict):
        return {str(key): _data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_data(item) for item in value]
    return to_data(value)


def _texts(value: object) -> dict[str, str | None]:
    if isinstance(value, Note):
        return {"text": advise.note(value), "source": advise.source(value)}
    if isinstance(value, Rejection):
        return {"text": reasons.text(value.reason), "remedy": remedies.text(value.remedies)}
    if isinstance(value, Reason):
        return {"text": reasons.text(value)}
    if isinstance(value, Remedy):
        return {"text": remedies.remedy(value)}
    return {}
