"""A language in which every message is ⟦the message⟧, and what of a text is not in it.

What is outside the marks was said without the catalog. Data (names, paths, figures, commands, codes) may be outside.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from wizard.kernel import language

OPEN, CLOSE = "⟦", "⟧"
CODE = "pseudo"
_DATA = re.compile(
    r"""
      `[^`]*`                          # commands and names in text
    | TW-[A-Z]\d{2,3}                  # codes
    | https?://\S+
    | --[a-z][\w-]*                    # flags
    | \{[^{}]*\}                       # choices of a flag
    | \b[A-Z][A-Z_]+\b                 # values of a flag: FILE, N
    | \S*[/\\=@_]\S*                   # paths, assignments, identifiers
    | \b(?:[KMGT]iB|min|ms)\b          # units
    | \S*\d\S*                         # figures and what is called by them
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d_]{2,}(?:['’-][^\W\d_]+)*")


class PseudoCatalog(gettext.NullTranslations):
    """Translates everything: ``Stop {name}`` becomes ``⟦Stop {name}⟧``. What argparse adds is kept at the ends."""

    def gettext(self, message: str) -> str:
        stripped = message.strip()
        return message.replace(stripped, f"{OPEN}{stripped}{CLOSE}") if stripped else message

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)


@contextmanager
def spoken() -> Iterator[None]:
    """Say everything in the pseudo-language."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language, "_messages", PseudoCatalog())
        patch.setattr(language, "_code", CODE)
        patch.setattr(language, "use", lambda code: None)
        yield


def outside(text: str) -> str:
    """``text`` without what is inside the marks; messages in the fields of messages are inside both.

    Raises:
        AssertionError: A mark has no partner: a message was cut, or glued to another one.
    """
    depth, kept = 0, []
    for character in text:
        if character == OPEN:
            depth += 1
            kept.append(" ")
        elif character == CLOSE:
            depth -= 1
            assert depth >= 0, f"no beginning of a message: {text[:200]!r}"
        elif not depth:
            kept.append(character)
    assert not depth, f"no end of a message: {text[:200]!r}"
    return "".join(kept)


def escaped(text: str, data: Iterable[str] = ()) -> list[str]:
    """The words of ``text`` that were said without the catalog.

    Args:
        text: What a user reads, said within `spoken`.
        data: Names and other data that are in it; they are no words.
    """
    rest = outside(text)
    for value in sorted(data, key=len, reverse=True):
        rest = rest.replace(value, " ")
    return _WORD.findall(_DATA.sub(" ", rest))
