"""The stages' values as JSON and back.

Values are frozen dataclasses. Writing needs only the standard library; reading goes through pydantic, because bytes
from a file are not to be believed (``House rules`` of the design: pydantic only where bytes enter).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.reasons import misfit, unreadable

T = TypeVar("T")


def to_data(value: Any) -> Any:
    """Return ``value`` (dataclasses, mappings, sequences, paths, scalars) as plain JSON data."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_data(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): to_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_data(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return value


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Return ``value`` as JSON text; ``indent=None`` gives one line, fit for JSON lines."""
    return json.dumps(to_data(value), indent=indent, ensure_ascii=False)


@cache
def _adapter(kind: Hashable) -> Any:
    """Pydantic's reader of ``kind``; making one takes longer than reading a line of the journal with it."""
    from pydantic import TypeAdapter

    return TypeAdapter(cast("type[Any]", kind))


def from_data(kind: type[T], data: Any, *, where: str) -> T:
    """Read plain JSON data as a value of ``kind``.

    Args:
        kind: A frozen dataclass (or any type that pydantic understands).
        data: What ``json.loads`` or a TOML parser gave.
        where: Named in the error: a file name or the like.

    Raises:
        UsageError: TW-K01 if the data does not fit, naming the first field that does not.
    """
    from pydantic import ValidationError

    try:
        value: T = _adapter(cast("Hashable", kind)).validate_python(data)
        return value
    except ValidationError as error:
        raise unfit(error, where) from error


def unfit(error: Any, where: str) -> UsageError:
    """TW-K01 for what pydantic refused: the first field that does not fit."""
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"]) or tr("the top level")
    return UsageError(
        "TW-K01",
        tr("{where} does not fit: {field}: {problem}", where=where, field=field, problem=misfit(first)),
        tr("Mend that field. A file that the wizard wrote can be written anew."),
    )


def from_json(kind: type[T], text: str | bytes, *, where: str) -> T:
    """Read JSON text as a value of ``kind``; see `from_data`.

    Raises:
        UsageError: TW-K01 if the data does not fit, TW-K02 if the text is not JSON.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        what = tr("{where} is not JSON: {error}", where=where, error=unreadable(error))
        raise UsageError("TW-K02", what, tr("Give a file that the wizard wrote.")) from error
    return from_data(kind, data, where=where)


def fingerprint(value: Any) -> str:
    """Sixteen hex digits that change when anything in ``value`` changes (SHA-256 of its canonical JSON)."""
    text = json.dumps(to_data(value), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
