"""The text of PDF files, by pypdf (the extra ``pdf``) in a process with limits: `wizard.chat.readers.pdf`."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from wizard.kernel import fenced
from wizard.kernel.errors import UsageError
from wizard.kernel.extras import install
from wizard.kernel.language import tr
from wizard.kernel.text import plain
from wizard.kernel.units import size

LARGEST = 64 * 2**20
"""Bytes of a PDF, which may be mostly pictures."""
MEMORY = 2**30
SECONDS = 60
"""Of processor time: some thousand pages of plain text."""
_PROGRAM = Path(__file__).with_name("readers") / "pdf.py"
_BEGIN = b"%PDF-"
_BEGINS_WITHIN = 1024
"""Bytes before the header that readers tolerate (ISO 32000-1, Annex H.3.4.1)."""
_MOST_KNOWN = 8
_known: dict[tuple[str, int], Document] = {}
_reading = threading.Lock()


@dataclass(frozen=True, slots=True)
class Document:
    """The text of each page; empty for a page without text."""

    pages: tuple[str, ...]

    @property
    def text(self) -> str:
        """The pages that have text, each after a line with its number."""
        numbered = enumerate(self.pages, 1)
        return "\n\n".join(f"[{tr('Page {number}', number=number)}]\n{text}" for number, text in numbered if text)

    @property
    def blank(self) -> int:
        """Number of pages without text."""
        return sum(not text for text in self.pages)


def is_pdf(start: bytes) -> bool:
    """Whether a file that begins with ``start`` is a PDF, whatever its name."""
    return _BEGIN in start[:_BEGINS_WITHIN]


def read(name: str, data: bytes, most: int) -> Document:
    """The text of a PDF; blocks for up to twice `SECONDS`. The last ones are remembered.

    Args:
        name: The file's name, for errors.
        data: The file.
        most: Largest number of bytes of the text.

    Raises:
        UsageError: TW-C27 the text is too large, TW-C29 there is no readable text, TW-C30 the extra ``pdf`` is not
            installed.
    """
    if not find_spec("pypdf"):
        raise missing_extra(tr("PDF files require a package that is not installed: {package}", package="pypdf"), "pdf")
    key = (hashlib.sha256(data).hexdigest(), most)
    with _reading:
        if key not in _known:
            document = _read(name, data, most)
            while len(_known) >= _MOST_KNOWN:
                del _known[next(iter(_known))]
            _known[key] = document
        return _known[key]


def _read(name: str, data: bytes, most: int) -> Document:
    try:
        reply = fenced.run(_PROGRAM, data, (str(most),), memory=MEMORY, seconds=SECONDS)
    except fenced.FencedError as error:
        raise _no_text(name, error.reason) from error
    problem = reply.get("error")
    if problem == "large":
        raise _too_much_text(name, most)
    if problem == "encrypted":
        raise _no_text(name, tr("it is protected by a password"), tr("Save it without the password first."))
    if problem:
        raise _no_text(name, tr("it is damaged ({detail})", detail=plain(str(reply.get("detail", problem)))))
    document = Document(tuple(str(text).encode(errors="replace").decode() for text in reply["pages"]))
    if not any(document.pages):
        why = tr("it has no text, only pictures of pages")
        todo = tr("Recognize its text first, for example with ocrmypdf, or attach its pages as images.")
        raise _no_text(name, why, todo)
    if len(document.text.encode()) > most:
        raise _too_much_text(name, most)
    return document


def _no_text(name: str, why: str, todo: str = "") -> UsageError:
    return UsageError(
        "TW-C29",
        tr("cannot attach {name}: {why}", name=name, why=why),
        todo or tr("Open it in a PDF viewer, and save it, or the pages that you need, as a new file."),
    )


def _too_much_text(name: str, most: int) -> UsageError:
    """The text of a file is too large."""
    return UsageError(
        "TW-C27",
        tr("{name} is too large to attach: it has more than {size} of text", name=name, size=size(most)),
        tr("Attach an excerpt of it."),
    )


def missing_extra(message: str, extra: str) -> UsageError:
    """An optional package is not installed."""
    return UsageError("TW-C30", message, tr("Install it: `{command}`.", command=install(extra)))
