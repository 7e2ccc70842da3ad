"""The stages' values as JSON and back.

Values are frozen dataclasses. Writing needs only the standard library; reading goes through pydantic, because data from
a file is untrusted (pydantic is used only where bytes enter).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Hashable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from wizard.kernel import bounded
from wizard.kernel.errors import UsageError
from wizard.kernel.language import Message, english, localized, mapped, tr
from wizard.kernel.reasons import misfit, unreadable

T = TypeVar("T")
LARGEST = 32_000_000
"""Bytes of a file to read as a value."""
MOST_VALUES = 150_000
"""Values in it: each of them may be several errors of 500 bytes."""
_LISTED = 10_000
"""Errors from which the first one is found: pydantic makes a list of all of them."""
_UNSAFE = re.compile(r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
STRICT = {"extra": "forbid"}
"""``__pydantic_config__`` of a value that people write by hand: a field that does not exist is an error (TW-K01)."""


def to_data(value: Any) -> Any:
    """Return ``value`` (dataclasses, mappings, sequences, paths, scalars) as plain JSON data, messages in English."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_data(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): to_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_data(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return english(value) if isinstance(value, str) else value


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Return ``value`` as JSON text; ``indent=None`` gives one line, fit for JSON lines.

    It can be printed: control characters and direction marks are escaped, also those that JSON does not escape.
    """
    text = json.dumps(to_data(value), indent=indent, ensure_ascii=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)  # outside of strings there are none


def messages(value: Any) -> dict[str, Any]:
    """The template and values of each `Message` in ``value``, by its English text.

    A file with these under ``messages``, beside the data, is read in the reader's language: see `from_data`.
    """
    table: dict[str, Any] = {}

    def keep(text: str) -> str:
        if isinstance(text, Message):
            table[english(text)] = _parts(text)
        return text

    mapped(value, keep)
    return table


def to_document(value: Any) -> str:
    """The text of a file with ``value``, a dataclass, readable in every language; see `messages`."""
    return to_json({**to_data(value), "messages": messages(value)}, indent=2) + "\n"


def _parts(text: object) -> Any:
    """A message value as JSON; a `Message` as its parts, values and number."""
    if isinstance(text, Message):
        values = {name: _parts(value) for name, value in text.values.items()}
        return [list(text.parts), values, text.number]
    return text if isinstance(text, (str, int, float, bool)) or text is None else str(text)


def _message(data: Any) -> Any:
    """The reverse of `_parts`."""
    if not isinstance(data, list):
        return data
    parts, values, number = data
    return localized(Message("", tuple(parts), {name: _message(value) for name, value in values.items()}, number))


def _localized(value: T, table: Mapping[str, Any]) -> T:
    """``value`` with the texts listed in ``table`` in the current language; invalid entries stay in English."""

    def read(text: str) -> str:
        try:
            message = _message(table[text])
        except (KeyError, ValueError, TypeError, LookupError, AttributeError):
            return text
        return message if isinstance(message, Message) and english(message) == text else text

    return mapped(value, read)


@cache
def _adapter(kind: Hashable) -> Any:
    """Pydantic's reader of ``kind``, cached: creating it takes longer than reading a line of the journal with it."""
    from pydantic import TypeAdapter

    return TypeAdapter(cast("type[Any]", kind))


def from_data(kind: type[T], data: Any, *, where: str) -> T:
    """Read plain JSON data as a value of ``kind``.

    Args:
        kind: A frozen dataclass (or any type that pydantic understands).
        data: The result of ``json.loads`` or a TOML parser. Texts listed under ``messages`` are read in the current
            language.
        where: The source named in the error, such as a file name.

    Raises:
        UsageError: TW-K01 if the data does not fit, naming the first field that does not.
    """
    from pydantic import ValidationError

    try:
        value: T = _adapter(cast("Hashable", kind)).validate_python(data)
    except ValidationError as error:
        raise unfit(error, where) from error
    table = data.get("messages") if isinstance(data, dict) else None
    return _localized(value, table) if isinstance(table, dict) else value


def unfit(error: Any, where: str) -> UsageError:
    """TW-K01 for data that pydantic rejected: the first field that does not fit."""
    if error.error_count() > _LISTED:
        problem = tr("{count:,} values do not fit", count=error.error_count())
        text = tr("{where} is invalid: {problem}", where=where, problem=problem)
        return UsageError("TW-K01", text, tr("If the wizard wrote the file, you can regenerate it."))
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or tr("the top level")
    return UsageError(
        "TW-K01",
        tr("{where} is invalid: {field}: {problem}", where=where, field=field, problem=misfit(first)),
        tr("Fix that field. If the wizard wrote the file, you can regenerate it."),
    )


def from_json(kind: type[T], text: str | bytes, *, where: str, most: int = MOST_VALUES) -> T:
    """Read JSON text with at most ``most`` values (`bounded.loads`) as a value of ``kind``; see `from_data`.

    Raises:
        UsageError: TW-K01 if the data does not fit, TW-K02 if the text is not JSON, or too large.
    """
    try:
        data = bounded.loads(text, most)
    except (ValueError, RecursionError) as error:
        message = tr("{where} is not valid JSON: {error}", where=where, error=unreadable(error))
        raise UsageError("TW-K02", message, tr("Use a file written by the wizard.")) from error
    return from_data(kind, data, where=where)


def fingerprint(value: Any) -> str:
    """Sixteen hex digits that change when any part of ``value`` changes (SHA-256 of its canonical JSON)."""
    text = json.dumps(to_data(value), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
