"""Validation of the names of arguments and of languages, with a suggestion for typing errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from wizard.kernel.errors import UsageError
from wizard.kernel.language import LANGUAGES, mark, tr, use

UNKNOWN_OPTION, NO_SETTING = mark("unknown option: {name!r}"), mark("unknown setting: {name!r}")


def options_checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The ``given`` options that are not None, validated."""
    from wizard.plan.questions import CONSTRAINTS, SETUP, constraints

    check_names(given, (question.name for question in (*CONSTRAINTS, *SETUP)), UNKNOWN_OPTION)
    answers = {name: value for name, value in given.items() if value is not None}
    constraints(answers)
    return answers


def check_names(given: Mapping[str, Any], known: Iterable[str], message: str) -> None:
    """Reject a name in ``given`` that is not in ``known``, with the error ``message`` and the nearest name."""
    known = list(known)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            names = ", ".join(known)
            todo = tr("Available: {names}.", names=names)
            if near:
                todo = tr("Did you mean {near}? Available: {names}.", near=near[0], names=names)
            raise UsageError("TW-U36", tr(message, name=name), todo)


def use_language(code: str) -> None:
    """Switch to the language ``code``.

    Raises:
        UsageError: TW-N12 if it is not available.
    """
    if code not in LANGUAGES:
        message = tr("unknown language: {code!r}", code=code)
        raise UsageError("TW-N12", message, tr("Available: {names}.", names=", ".join(LANGUAGES)))
    use(code)
