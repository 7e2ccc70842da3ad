"""Reasons as sentences: looks up the text of a code and inserts the parameters."""

from __future__ import annotations

from collections.abc import Mapping

from wizard.advise.reasons import Param, Reason
from wizard.advise.titles import format_title, stack_title
from wizard.kernel.language import tr
from wizard.kernel.units import size
from wizard.texts import notes, obstacles
from wizard.texts.table import Fields

_TEXTS = {**obstacles.TEXTS, **notes.REASONS}


def text(reason: Reason | str) -> str:
    """The reason in one or more sentences; a text is unchanged."""
    return reason if isinstance(reason, str) else " ".join(_sentences(reason))


def brief(reason: Reason) -> str:
    """Its first sentence, without the period."""
    problem = reason.params.get("problem")
    if reason.code == "and" and isinstance(problem, Reason):
        return brief(problem)
    return _sentences(reason)[0].rstrip(".")


def _sentences(reason: Reason) -> tuple[str, ...]:
    known, values = _TEXTS.get(reason.code, reason.code), fields(reason.params)
    if callable(known):
        return tuple(filter(None, known(reason.params, values)))
    return (tr(known, **values),)


def fields(params: Mapping[str, Param]) -> Fields:
    """The parameters as display texts: ``size_bytes=1024`` is ``size='1.0 KiB'``."""
    return dict(_field(name, value, params) for name, value in params.items())


def _several(value: Reason | tuple[str | int | Reason, ...]) -> str:
    if isinstance(value, Reason):
        return text(value)
    if value and all(isinstance(each, int) for each in value):
        return ".".join(map(str, value))  # a version, a compute capability
    between = "; " if any(isinstance(each, Reason) for each in value) else ", "
    return between.join(text(each) if isinstance(each, (Reason, str)) else str(each) for each in value)


def _field(name: str, value: Param, params: Mapping[str, Param]) -> tuple[str, object]:
    if isinstance(value, (tuple, Reason)):
        return name, _several(value)
    if name.endswith("_bytes"):
        return name.removesuffix("_bytes"), size(value if isinstance(value, int) else None)
    if name == "format":
        dtype = params.get("dtype")
        return name, format_title(None if value is None else str(value), None if dtype is None else str(dtype))
    if name == "stack":
        return name, stack_title(str(value))
    return name, "" if value is None else value
