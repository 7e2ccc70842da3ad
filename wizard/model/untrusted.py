"""Validated values from untrusted files: bounded JSON objects, integers in plausible ranges, short texts.

A model's files are untrusted. A missing value stays missing; an invalid value is an error that names the field, because
advice computed from it would be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wizard.kernel import bounded
from wizard.kernel.errors import ModelError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import plain

LARGEST_JSON = 10_000_000
"""Bytes. Real config.json files have some kilobytes, tokenizer_config.json with its template up to a megabyte."""

MORE_LAYERS = 16
"""Items that a list with an item per layer may have beyond them: for layers that predict several tokens."""


class _DuplicateKeyError(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _DuplicateKeyError(tr("duplicate key, so its value is ambiguous"))
    return value


def parse_object(raw: bytes, where: str) -> dict[str, Any]:
    """Parse a JSON object.

    Raises:
        ModelError: TW-M04 if it is not a JSON object in UTF-8, has too many values, is nested too
            deeply, or has a duplicate key.
    """
    try:
        data = bounded.loads(raw.decode("utf-8-sig"), object_pairs_hook=_object)
    except RecursionError as error:
        raise _not_json(where, tr("nested too deeply")) from error
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise _not_json(where, str(error)) from error
    if not isinstance(data, dict):
        raise _not_json(where, tr("expected an object, found {what}", what=_kind(data)))
    return data


def _not_json(where: str, why: str) -> ModelError:
    text = tr("cannot parse {where} as JSON: {why}", where=where, why=plain(why)[:200])
    return ModelError("TW-M04", text, tr("Download the file again, or fix it."))


def read_bytes(path: Path, limit: int = LARGEST_JSON) -> bytes:
    """The contents of a small regular file.

    Raises:
        ModelError: TW-M04 if it is larger than ``limit`` bytes; TW-M17 if it is not readable.
    """
    try:
        return bounded.read(path, limit)
    except OSError as error:
        raise unreadable(path, error) from error
    except bounded.TooLargeError as error:
        raise ModelError(
            "TW-M04",
            tr("{path} is larger than {size} MB", path=path, size=limit // 1_000_000),
            tr("No model needs a file like this: check where the folder comes from."),
        ) from error


def unreadable(path: Path, error: OSError) -> ModelError:
    """The error for a file that the operating system does not let us read."""
    text = tr("cannot read {path}: {error}", path=path, error=error.strerror or error)
    return ModelError("TW-M17", text, tr("Check the path and its permissions, then try again."))


def read_object(path: Path, limit: int = LARGEST_JSON) -> dict[str, Any]:
    """Read a small JSON file with a single object; see `read_bytes` and `parse_object` for the errors."""
    return parse_object(read_bytes(path, limit), str(path))


def optional_object(path: Path) -> dict[str, Any]:
    """`read_object` if the file exists, else an empty object."""
    return read_object(path) if path.is_file() else {}


def whole(data: Mapping[str, Any], name: str, high: int, where: str, *, low: int = 1) -> int | None:
    """The integer ``data[name]``; None if it is absent or null.

    For a list with a number per layer the largest is returned, so that estimates are conservative.

    Raises:
        ModelError: TW-M05 if it is not an integer or not in ``low`` … ``high``.
    """
    value = data.get(name)
    if value is None:
        return None
    numbers = [_integer(item) for item in value] if isinstance(value, (list, tuple)) else [_integer(value)]
    sane = [number for number in numbers if number is not None]
    if not sane or len(sane) < len(numbers):
        raise impossible(where, name, tr("{what}; expected an integer", what=_kind(value)))
    largest = max(sane)
    if min(sane) < min(low, 0 if len(sane) > 1 else low) or not low <= largest <= high:
        digits = _digits(largest if largest > high else min(sane))
        raise impossible(where, name, tr("{number}; expected {low:,} to {high:,}", number=digits, low=low, high=high))
    return largest


def per_layer(data: Mapping[str, Any], name: str, layers: int, where: str) -> Sequence[Any] | None:
    """The list ``data[name]`` with an item for each of the ``layers``; None if it is absent, null or empty.

    It may have up to `MORE_LAYERS` more.

    Raises:
        ModelError: TW-M05 if it is not a list, or has another number of items.
    """
    value = data.get(name)
    if value is None or value == []:
        return None
    if not isinstance(value, (list, tuple)):
        raise impossible(where, name, tr("{what}; expected a list", what=_kind(value)))
    if not layers <= len(value) <= layers + MORE_LAYERS:
        raise impossible(
            where,
            name,
            tr("a list of {count:,}; expected one item for each of {layers:,} layers", count=len(value), layers=layers),
        )
    return value[:layers]


def _integer(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():  # false for NaN and the infinities
        return int(value)
    return value if isinstance(value, int) else None


def _digits(number: int) -> str:
    """An integer that may be absurdly long; Python refuses to print more than 4300 digits."""
    return str(number) if number.bit_length() <= 128 else tr("a {bits}-bit number", bits=number.bit_length())


def impossible(where: str, name: str, value: str) -> ModelError:
    """The error for the field ``name`` of the file ``where``, whose ``value`` cannot be."""
    return ModelError(
        "TW-M05",
        tr("in {where}, {field} is {what}", where=where, field=name, what=value),
        tr("The file is damaged or contains invalid values: download the model again, or correct that value."),
    )


def _kind(value: object) -> str:
    names = {
        dict: mark("an object"),
        list: mark("a list"),
        tuple: mark("a list"),
        str: mark("a string"),
        bool: mark("true or false"),
        float: mark("a decimal number"),
    }
    return "null" if value is None else tr(names.get(type(value), mark("a number")))


def label(value: object, limit: int = 100) -> str | None:
    """``value`` as a short, sanitized line, or None if it is not a string or is empty."""
    if not isinstance(value, str):
        return None
    line = " ".join(plain(value[: 4 * limit]).split())[:limit]
    return "".join(each if each.isprintable() else "\ufffd" for each in line) or None
