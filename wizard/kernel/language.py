"""The language of all user-facing text: one catalog of messages, looked up by the English text.

The English text of a message is its key, as with GNU gettext, whose catalogs are read here; the sources are in
``translations/``. What `tr` returns is a text in the current language that remembers its template and values
(`Message`), so that an error or a running plan can be rendered again when the language changes (`localized`), and
written to JSON in English in every language (`wizard.kernel.values`).

The language is set per process, like the locale of the C library.
"""

from __future__ import annotations

import dataclasses
import gettext
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, SupportsIndex, TypeVar, cast

DOMAIN = "triton-wizard"
CATALOGS = Path(__file__).resolve().parent.parent / "locale"
LANGUAGES = {"en": "English", "ko": "한국어"}
"""All complete languages: code (ISO 639-1) → native name."""
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")

T = TypeVar("T")

_messages: gettext.NullTranslations = gettext.NullTranslations()
_code = "en"


def preferred(environ: Mapping[str, str] = os.environ) -> str:
    """The language that the locale selects; English if it is not available (POSIX 8.2; GNU gettext 2.3.3).

    ``LANGUAGE`` takes precedence, except in the locale ``C``; of the other variables the first that is set decides.
    """
    locale = next((value for name in _VARIABLES if (value := environ.get(name))), "C")
    if locale.partition(".")[0] in ("C", "POSIX"):
        return "en"
    for wanted in (*environ.get("LANGUAGE", "").split(":"), locale):
        code = wanted.partition(".")[0].partition("_")[0].lower()
        if code in LANGUAGES:
            return code
    return "en"


def use(code: str) -> None:
    """Switch to the language ``code``, one of `LANGUAGES`."""
    global _messages, _code  # noqa: PLW0603 - as setlocale: see above
    english = code == "en"
    _messages = gettext.NullTranslations() if english else gettext.translation(DOMAIN, CATALOGS, [code])
    _code = code


def used() -> str:
    """The code of the current language."""
    return _code


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Use the language ``code`` inside the block; for printing only, because threads share the language."""
    before = _code
    if code == before:
        yield
        return
    use(code)
    try:
        yield
    finally:
        use(before)


class Message(str):
    """A text in the language in which it was created, with its template and values.

    Attributes:
        parts: The template, or its singular and plural, or the separator with which `join` combined ``values``.
        values: Field → value; a nested `Message` is rendered with its own template.
        number: The count that selected the plural form; None without one.
    """

    __slots__ = ("number", "parts", "values")
    parts: tuple[str, ...]
    values: Mapping[str, object]
    number: int | None

    def __new__(  # noqa: D102 - as the class says
        cls, text: str, parts: tuple[str, ...], values: Mapping[str, object], number: int | None = None
    ) -> Message:
        message = super().__new__(cls, text)
        message.parts, message.values, message.number = parts, values, number
        return message

    def __add__(self, other: str) -> str:
        return join("", self, other)

    def __radd__(self, other: str) -> str:
        return join("", other, self)

    def __getitem__(self, place: SupportsIndex | slice) -> str:
        piece = super().__getitem__(place)
        return self if piece == self else piece  # nothing was truncated

    def __reduce__(self) -> tuple[type[Message], tuple[Any, ...]]:
        return Message, (str(self), self.parts, dict(self.values), self.number)


def _rendered(parts: tuple[str, ...], values: Mapping[str, object], number: int | None, english: bool) -> Message:
    catalog = gettext.NullTranslations() if english else _messages
    if not parts:
        text = "".join(str(value) for value in values.values())
    elif number is None:
        # gettext keeps the catalog's own header under the empty text
        text = catalog.gettext(parts[0]) if parts[0] else ""
        text = text.format(**values) if values else text
    else:
        text = catalog.ngettext(parts[0], parts[1], number).format(**values)
    return Message(text, parts, values, number)


def _again(text: str, english: bool) -> str:
    if not isinstance(text, Message):
        return text
    values = {name: _again(value, english) if isinstance(value, str) else value for name, value in text.values.items()}
    return _rendered(text.parts, values, text.number, english)


def english(text: str) -> str:
    """``text`` in English if it is a `Message`, else ``text``."""
    return _again(text, english=True)


def localized(value: T) -> T:
    """``value`` with each `Message` in it rendered in the current language; the same object if it has none.

    Args:
        value: A text, or frozen dataclasses, tuples, lists and dictionaries that contain texts. Other objects are kept.
    """
    return mapped(value, lambda text: _again(text, english=False))


def mapped(value: T, change: Callable[[str], str]) -> T:
    """``value`` with ``change`` applied to each text in it; see `localized`."""
    if isinstance(value, str):
        return cast("T", change(value))
    if dataclasses.is_dataclass(value) and getattr(value, "__dataclass_params__").frozen:  # noqa: B009 - not typed
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        changed = _changed(fields, change)
        return cast("T", dataclasses.replace(value, **changed)) if changed else value  # type: ignore[type-var]
    if type(value) is dict:
        table = cast("dict[Any, Any]", value)
        return cast("T", {**table, **changed}) if (changed := _changed(table, change)) else value
    if type(value) in (tuple, list):
        items = dict(enumerate(cast("Sequence[Any]", value)))
        changed = _changed(items, change)
        return type(value)({**items, **changed}.values()) if changed else value  # type: ignore[call-arg]
    return value


def _changed(items: Mapping[Any, Any], change: Callable[[str], str]) -> dict[Any, Any]:
    """The ``items`` that become different objects when ``change`` is applied to their texts."""
    return {key: new for key, item in items.items() if (new := mapped(item, change)) is not item}


def tr(text: str, /, **values: object) -> str:
    """``text`` in the current language, formatted with ``values`` (`str.format`); not formatted without values.

    Args:
        text: The English message, a literal where `translations/update.py` must find it.
        values: Field → value; a translation may use them in a different order.
    """
    return _rendered((text,), values, None, english=False)


def ntr(singular: str, plural: str, count: int, /, **values: object) -> str:
    """``singular`` or ``plural``, by the language's plural rule for ``count``, formatted with ``values``."""
    return _rendered((singular, plural), values, count, english=False)


def join(separator: str, *texts: str) -> str:
    """The non-empty ``texts``, joined by ``separator``; a `Message` if any of them is one."""
    pieces = [piece for text in texts if text for piece in (separator, text)][1:]
    return _rendered((), {str(number): piece for number, piece in enumerate(pieces)}, None, english=False)


def mark(text: str) -> str:
    """Return ``text`` unchanged: marks a message that is declared here and passed to `tr` where it is shown."""
    return text
