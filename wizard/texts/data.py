"""Values as JSON with the texts of their reasons, in English in every language."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from wizard.advise.advice import Rejection
from wizard.advise.reasons import Note, Reason, Refused, Remedy
from wizard.doctor.finding import Finding
from wizard.kernel.errors import WizardError
from wizard.kernel.language import speaking
from wizard.kernel.values import to_data
from wizard.texts import advise, errors, reasons, remedies
from wizard.texts.doctor import report as doctor

TEXTS: dict[type, dict[str, Callable[[Any], str | None]]] = {
    Note: {"text": advise.note, "source": advise.source},
    Rejection: {
        "text": lambda rejection: reasons.text(rejection.reason),
        "remedy": lambda rejection: remedies.text(rejection.remedies),
    },
    Reason: {"text": reasons.text},
    Remedy: {"text": remedies.remedy},
    Finding: {
        "check": lambda finding: finding.check,
        "title": doctor.title,
        "text": doctor.text,
        "why": doctor.why,
        "fix": doctor.fix,
    },
}
"""Type of value → its texts in JSON, by name."""


def data(value: Any) -> Any:
    """``value`` as `wizard.kernel.values.to_data`, the same in every language, with readable texts.

    These are in `TEXTS`.
    """
    with speaking("en"):
        return _data(value)


def error_data(error: WizardError) -> dict[str, str]:
    """The error as every ``--json`` command prints it, in English in every language; a refusal is rendered again."""
    with speaking("en"):
        again = errors.error(error.__cause__) if isinstance(error.__cause__, Refused) else error
        data: dict[str, str] = to_data(again.as_json())
        return data


def _data(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        own = {field.name: _data(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {**own, **{name: text(value) for name, text in TEXTS.get(type(value), {}).items()}}
    if isinstance(value, dict):
        return {str(key): _data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_data(item) for item in value]
    return to_data(value)
