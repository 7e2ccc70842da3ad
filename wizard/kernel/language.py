"""The language of everything that a user reads: one catalogue of messages, looked up by the English text.

The English text of a message is its key, as with GNU gettext, whose catalogues are read here; the sources are in
``translations/``. A text that a value carries (a reason, an error) is made in the language of the process that made it.

The language is the process's own, like the locale of the C library: it is chosen once, before anything is said.
"""

from __future__ import annotations

import gettext
import os
from collections.abc import Mapping
from pathlib import Path

DOMAIN = "triton-wizard"
CATALOGUES = Path(__file__).resolve().parent.parent / "locale"
LANGUAGES = {"en": "English", "ko": "한국어"}
"""Every complete language: its code (ISO 639-1) and what its speakers call it."""
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")

_messages: gettext.NullTranslations = gettext.NullTranslations()
_code = "en"


def preferred(environ: Mapping[str, str] = os.environ) -> str:
    """The language that the locale asks for, English if there is none of it (POSIX 8.2; GNU gettext 2.3.3).

    ``LANGUAGE`` goes first, but not in the locale ``C``; of the others the first that is set decides alone.
    """
    locale = next((value for name in _VARIABLES if (value := environ.get(name))), "C")
    if locale.partition(".")[0] in ("C", "POSIX"):
        return "en"
    for wished in (*environ.get("LANGUAGE", "").split(":"), locale):
        code = wished.partition(".")[0].partition("_")[0].lower()
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


def tr(text: str, /, **values: object) -> str:
    """``text`` in the present language, with ``values`` in its fields (`str.format`); without values it has no fields.

    Args:
        text: The English message, a literal where `translations/update.py` is to find it.
        values: Field → value; a translation may put them in another order.
    """
    message = _messages.gettext(text) if text else ""  # gettext keeps the catalogue's own header under the empty text
    return message.format(**values) if values else message


def ntr(singular: str, plural: str, count: int, /, **values: object) -> str:
    """``singular`` or ``plural``, as the language's grammar wants for ``count``, with ``values`` in its fields."""
    return _messages.ngettext(singular, plural, count).format(**values)


def mark(text: str) -> str:
    """``text`` itself: a message that is declared here and given to `tr` where it is shown."""
    return text
