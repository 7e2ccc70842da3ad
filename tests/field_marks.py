"""The pseudo-language with marks around fields too, and silent about messages that no catalog has.

``Only {count} people`` is said as ``⟦Only ⟪3⟫ people⟧``: what lies in ``⟦ ⟧`` was looked up, what lies in ``⟪ ⟫`` was
put into a field, and what lies in neither was put around messages. The last two must be data: names, numbers, flags.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator
from functools import cache

import pytest

from tests.pseudo import PseudoCatalog
from translations import update
from wizard.kernel import language

_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*[A-Za-z]")


class FieldCatalog(PseudoCatalog):
    """Says every message in marks, with its fields in marks of their own."""

    def gettext(self, message: str) -> str:
        return super().gettext(_fielded(message)) if message in messages() else message


@cache
def messages() -> frozenset[str]:
    """All messages that the catalogs have."""
    ids = (message.id for message in update.messages() if message.id)
    return frozenset(
        each for message_id in ids for each in ([message_id] if isinstance(message_id, str) else message_id)
    )


def _fielded(message: str) -> str:
    """``message`` with marks around its fields; a message without values may have braces that are no fields."""
    try:
        pieces = list(string.Formatter().parse(message))
    except ValueError:
        return message
    if all(name is None for _, name, _, _ in pieces):
        return message
    parts = []
    for text, name, spec, how in pieces:
        parts.append(text.replace("{", "{{").replace("}", "}}"))
        if name is not None:
            parts.append(f"⟪{{{name}{f'!{how}' if how else ''}{f':{spec}' if spec else ''}}}⟫")
    return "".join(parts)


def speak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say everything in marks for the rest of the test."""
    monkeypatch.setattr(language, "_messages", FieldCatalog())


def data(text: str) -> Iterator[str]:
    """The pieces of ``text`` that are no message's words."""
    marks, piece = [""], ""
    for each in text:
        if each not in "⟦⟧⟪⟫":
            piece += each if marks[-1] != "⟦" else ""
            continue
        yield piece
        piece = ""
        if each in "⟦⟪":
            marks.append(each)
        elif len(marks) > 1:
            marks.pop()
    yield piece


def untranslated(texts: Iterable[str], known: Iterable[str] = ()) -> dict[str, str]:
    """Word that is no message's → one of ``texts`` that has it; words of ``known`` data do not count."""
    fine = {word.lower() for message in known for word in _WORD.findall(message)}
    leftover: dict[str, str] = {}
    for text in texts:
        for piece in data(text):
            for word in _WORD.findall(piece):
                if word.lower() not in fine:
                    leftover.setdefault(word, text)
    return leftover
