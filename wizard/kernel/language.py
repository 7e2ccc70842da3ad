"""The language of everything that a user reads: one catalogue of messages, looked up by the English text.

The English text of a message is its key, as with GNU gettext, whose catalogues are read here; the sources are in
``translations/``. What `tr` returns is a text in the present language that remembers how it was made (`Message`), so
that an error or a running plan can be rendered again when the language changes (`localized`), and written to JSON in
English whatever the user reads (`wizard.kernel.values`).

The language is the process's own, like the locale of the C library.
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
CATALOGUES = Path(__file__).resolve().parent.parent / "locale"
LANGUAGES = {"en": "English", "ko": "한국어"}
"""Every complete language: its code (ISO 639-1) and what its speakers call it."""
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")

T = TypeVar("T")

_messages: gettext.NullTranslations = gettext.NullTranslations()
_code = "en"


def preferred(environ: Mapping[str, str] = os.environ) -> str:
    """The language that the locale asks for, English if there is none of it (POSIX 8.2; GNU gettext 2.3.3).

    ``LANGUAGE`` goes first, but not in the locale ``C``; of the others the first that is set decides alone.
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
    """Say everything in the language ``code``, one of `LANGUAGES`, from here on."""
    global _messages, _code  # noqa: PLW0603 - as setlocale: see above
    english = code == "en"
    _messages = gettext.NullTranslations() if english else gettext.translation(DOMAIN, CATALOGUES, [code])
    _code = code


def used() -> str:
    """The code of the present language."""
    return _code


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Say everything in the language ``code`` inside; for what is printed, as threads share the language."""
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
    """A text in the language in which it was made, with its message and the values in it.

    Attributes:
        parts: The message, or its singular and plural, or a separator under which `join` put ``values`` together.
        values: Field → value; another `Message` among them is rendered with its message.
        number: What the plural was chosen for; None without one.
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
        return self if piece == self else piece  # nothing was cut off

    def __reduce__(self) -> tuple[type[Message], tuple[Any, ...]]:
        return Message, (str(self), self.parts, dict(self.values), self.number)


def _rendered(parts: tuple[str, ...], values: Mapping[str, object], number: int | None, english: bool) -> Message:
    catalogue = gettext.NullTranslations() if english else _messages
    if not parts:
        text = "".join(str(value) for value in values.values())
    elif number is None:
        # gettext keeps the catalogue's own header under the empty text
        text = catalogue.gettext(parts[0]) if parts[0] else ""
        text = text.format(**values) if values else text
    else:
        text = catalogue.ngettext(parts[0], parts[1], number).format(**values)
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
    """``value`` with each `Message` in it rendered in the present language; the same object if there is none.

    Args:
        value: A text, or frozen dataclasses, tuples, lists and dictionaries with texts in them. Other objects stay.
    """
    return mapped(value, lambda text: _again(text, english=False))


def mapped(value: T, change: Callable[[str], str]) -> T:
    """``value`` with ``change`` made to each text in it; see `localized`."""
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
    """Those of ``items`` that are other objects with ``change`` made to their texts."""
    return {key: new for key, item in items.items() if (new := mapped(item, change)) is not item}


def tr(text: str, /, **values: object) -> str:
    """``text`` in the present language, with ``values`` in its fields (`str.format`); without values it has no fields.

    Args:
        text: The English message, a literal where `translations/update.py` is to find it.
        values: Field → value; a translation may put them in another order.
    """
    return _rendered((text,), values, None, english=False)


def ntr(singular: str, plural: str, count: int, /, **values: object) -> str:
    """``singular`` or ``plural``, as the language's grammar wants for ``count``, with ``values`` in its fields."""
    return _rendered((singular, plural), values, count, english=False)


def join(separator: str, *texts: str) -> str:
    """``texts`` that are not empty with ``separator`` between them; a `Message` as they are."""
    pieces = [piece for text in texts if text for piece in (separator, text)][1:]
    return _rendered((), {str(number): piece for number, piece in enumerate(pieces)}, None, english=False)


def mark(text: str) -> str:
    """``text`` itself: a message that is declared here and given to `tr` where it is shown."""
    return text
