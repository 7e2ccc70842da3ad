"""Typed reads from the header of a GGUF file, which never go beyond the file or a budget."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, BinaryIO

from wizard.kernel.errors import ModelError
from wizard.kernel.language import tr
from wizard.kernel.text import plain

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_KEPT_ITEMS = 10_000  # arrays with a number per layer are kept; merges, scores and token types are not


@dataclass(slots=True)
class Budget:
    """What the headers of all parts of a model may have together, so that they take less than 300 MB and 10 s.

    Attributes:
        entries: Keys, texts in arrays and kept numbers. Vocabularies have up to 260,000 tokens, and twice as many
            merges.
        text: Bytes of kept texts. A chat template has some kilobytes, the tokens of a vocabulary some megabytes.
        tensors: Llama 4 has 770, DeepSeek-V3 1,100.
    """

    entries: int = 2_000_000
    text: int = 16_000_000
    tensors: int = 100_000


class TooShortError(Exception):
    """The bytes end before the header does."""


class Reader:
    """A file and the position in it."""

    def __init__(self, file: BinaryIO, total: int, where: str, budget: Budget) -> None:
        self.file = file
        self.total = total
        self.where = where
        self.budget = budget
        self.position = 0

    def within(self, count: int) -> None:
        """Reject ``count`` more bytes if the file has fewer."""
        if count > self.total - self.position:
            raise TooShortError(tr("its header extends beyond the end of the file ({total} bytes)", total=self.total))

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        self.within(count)
        raw = self.file.read(count)
        if len(raw) < count:
            raise TooShortError(tr("its header extends beyond the available bytes"))
        self.position += count
        return raw

    def number(self, code: str) -> Any:
        """A number, by `struct`'s letter for its type."""
        return struct.unpack("<" + code, self.take(struct.calcsize(code)))[0]

    def text(self, limit: int | None = None) -> str:
        """A text with its length, invalid UTF-8 replaced."""
        return self.kept(self.number("Q"), limit).decode("utf-8", "replace")

    def kept(self, length: int, limit: int | None = None) -> bytes:
        """A text of ``length`` bytes; all of them share the budget, also those with a ``limit`` of their own."""
        if length > (self.budget.text if limit is None else min(limit, self.budget.text)):
            raise refused(self.where, tr("a string in its header is too long: {length} bytes", length=length))
        self.budget.text -= length
        return self.take(length)

    def value(self, kind: int, *, keep_texts: bool = False) -> Any:
        """A value of metadata."""
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self.array(keep_texts)
        if kind not in _SCALARS:
            raise refused(self.where, tr("its header has a value of unknown type {kind}", kind=kind))
        return self.number(_SCALARS[kind])

    def array(self, keep_texts: bool) -> tuple[Any, ...] | None:
        """The items of a short numeric array, or of the only relevant text array; others are skipped."""
        kind, count = self.number("I"), self.number("Q")
        if kind == _STRING:
            self.expect(count, 8)
            self.budget.entries -= count
            return self.texts(count, keep_texts)
        if kind not in _SCALARS:
            raise refused(self.where, tr("its header has an array of unknown type {kind}", kind=kind))
        each = struct.calcsize(_SCALARS[kind])
        self.expect(count, each)
        if count > _KEPT_ITEMS:
            self.skip(count * each)
            return None
        self.budget.entries -= count
        return struct.unpack(f"<{count}{_SCALARS[kind]}", self.take(count * each))

    def texts(self, count: int, keep: bool) -> tuple[Any, ...] | None:
        """The texts of an array if they are to be kept; None if not."""
        kept = []
        for _ in range(count):
            length = self.number("Q")
            if keep:
                kept.append(self.kept(length))
            else:
                self.skip(length)
        return tuple(kept) if keep else None

    def expect(self, count: int, least_bytes: int) -> None:
        """Reject a count that cannot fit in the rest of the file, or exceeds the budget."""
        if count > self.budget.entries:
            raise refused(self.where, tr("its header claims too many entries: {count}", count=count))
        if count * least_bytes > self.total - self.position:
            raise TooShortError(tr("its header claims {count} entries, more than the file can hold", count=count))

    def skip(self, count: int) -> None:
        """Go past ``count`` bytes without reading them."""
        self.within(count)
        self.file.seek(count, 1)
        self.position += count


def refused(where: str, why: str) -> ModelError:
    """The error for a file that is not a usable GGUF model."""
    text = tr("{where} is not a usable GGUF model: {why}", where=where, why=plain(why)[:300])
    return ModelError("TW-M09", text, tr("Choose another .gguf file."))
