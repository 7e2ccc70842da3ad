"""Files that a question names as ``@PATH``: texts, PDFs and images; the content, not the name, decides which.

Their size is bounded before and while they are read.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wizard.chat import documents, images
from wizard.chat.meter import Usage
from wizard.chat.served import ServedModel
from wizard.chat.wire import OPENAI
from wizard.kernel import regular_files
from wizard.kernel.errors import UsageError
from wizard.kernel.language import join, mark, ntr, tr
from wizard.kernel.reasons import unreadable
from wizard.kernel.text import one_line
from wizard.kernel.units import size

LARGEST = 4 * 2**20
"""Bytes of all attached texts together: about a million tokens, more than the context of most models."""
MOST_REPLACED = 0.3
"""Share of characters that are not UTF-8 from which on a file is not text."""
_FENCED = re.compile(r"^(`{3,}).*?^\1`*[ \t]*$", re.MULTILINE | re.DOTALL)
_REFERENCE = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|([^\s"]+))')
_LIKE_A_PATH = re.compile(r"[\w~/.-]*[/.]\w+")
_PUNCTUATION = ".,;:!?)]}'"
_START = 1024
"""Bytes that show what a file is."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A file that a question names.

    Attributes:
        typed: As in the question, with ``@``.
        name: The path as typed.
        path: Where it is.
        exists: Whether something is there; otherwise it is text, such as ``@property``.
    """

    typed: str
    name: str
    path: Path
    exists: bool

    @property
    def mistyped(self) -> bool:
        """Whether it does not exist, but looks like a path."""
        return not self.exists and bool(_LIKE_A_PATH.fullmatch(self.name))


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file as it is sent.

    Attributes:
        name: The path as typed.
        text: The content; of an image its reference (`wizard.chat.images`).
        notes: What to know about it before it is sent.
        label: Language of the fenced block; None: it is no block, but an image.
    """

    name: str
    text: str
    notes: tuple[str, ...] = ()
    label: str | None = ""

    @property
    def block(self) -> str:
        """The text as a fenced block with its name, whose fence is longer than any in it; or the image."""
        name = one_line(self.name)
        if self.label is None:
            return f"{name}:\n\n{self.text}"
        longest = max(map(len, re.findall(r"^\s*(`+)", self.text, re.MULTILINE)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{name}:\n\n{fence}{self.label}\n{self.text.strip(chr(10))}\n{fence}"


def mentions(question: str) -> list[str]:
    """Every word that may name a file, as typed; no file is looked at."""
    return [match[0] for match in _REFERENCE.finditer(question)] if "@" in question else []


def references(question: str, folder: Path) -> list[Reference]:
    """The files that ``question`` names, relative to ``folder``, each once; not those inside of fenced blocks."""
    named: dict[str, Reference] = {}
    for match in _REFERENCE.finditer(_FENCED.sub("", question)):
        names = [match[1]] if match[1] else [match[2], match[2].rstrip(_PUNCTUATION)]
        paths = [(name, _path(name, folder)) for name in names if name]
        there = next(((name, path) for name, path in paths if _exists(path)), None)
        if paths:
            name, path = there or paths[-1]
            typed = match[0] if match[1] else f"@{name}"
            named.setdefault(name, Reference(typed, name, path, there is not None))
    return [*named.values()]


def _path(name: str, folder: Path) -> Path:
    with suppress(RuntimeError):  # an unknown user's home
        return folder / Path(name).expanduser()
    return folder / name


def _exists(path: Path) -> bool:
    try:
        path.lstat()
    except (OSError, ValueError):
        return False
    return True


def missing(reference: Reference) -> UsageError:
    """The file was there when the question was written."""
    return _unreadable(reference, tr("it was deleted or renamed"))


def outside(reference: Reference, folder: Path) -> Path | None:
    """Where the file really is, if that is outside of ``folder``: the user is asked before it is read."""
    try:
        real = reference.path.resolve()
    except (OSError, RuntimeError):  # a loop of links, which reading reports
        return None
    return None if real.is_relative_to(folder.resolve()) else real


def read(files: Sequence[Reference], served: ServedModel | None = None) -> list[Attachment]:
    """What is sent for ``files`` to the model ``served`` (None: not known yet); blocks, for a PDF up to two minutes.

    Raises:
        UsageError: TW-C25 one is not a readable file, TW-C26 it is neither text nor PDF nor image, TW-C27 they are too
            large, TW-C29 a PDF without readable text, TW-C30 an optional package is missing, TW-C31 an unusable image,
            TW-C32 the model takes no images.
    """
    attachments, left, images_left = [], LARGEST, images.LARGEST
    for each in files:
        data = _bytes(each, left)
        name = one_line(each.name)
        if images.is_image(data):
            if served is not None and served.wire.format is not OPENAI:
                raise images.unsupported()
            picture = images.read(name, data)
            attachments.append(_image(each, picture))
            images_left -= len(picture.data)
            if images_left < 0:
                raise _too_large(each, len(picture.data), images.LARGEST)
        elif documents.is_pdf(data):
            document = documents.read(name, data, left)
            attachments.append(_document(each, document))
            left -= len(document.text.encode())
        else:
            attachments.append(_decoded(each.name, data))
            left -= len(data)
    return attachments


def _bytes(file: Reference, left: int) -> bytes:
    """The content; ``left``: the most bytes of a text."""
    try:
        with regular_files.opened(file.path) as opened:
            start = opened.read(_START) or b""
            pdf, image = documents.is_pdf(start), images.is_image(start)
            most = documents.LARGEST if pdf else images.LARGEST if image else left
            length = os.fstat(opened.fileno()).st_size
            data = start + (opened.read(most + 1) or b"") if length <= most else b""
    except regular_files.NotRegularError as error:
        raise _unreadable(file, tr("it is a folder") if error.folder else tr("it is not a regular file")) from error
    except OSError as error:
        raise _unreadable(file, unreadable(error)) from error
    if max(length, len(data)) > most:
        raise _too_large(file, max(length, len(data)), max(most, LARGEST))
    return data


def _too_large(file: Reference, length: int, most: int) -> UsageError:
    return UsageError(
        "TW-C27",
        tr("{name} is too large to attach: {size}", name=one_line(file.name), size=size(length)),
        tr("Attach up to {size} at once, for example an excerpt of the file.", size=size(most)),
    )


def _unreadable(file: Reference, why: str) -> UsageError:
    return UsageError(
        "TW-C25",
        tr("cannot attach {name}: {why}", name=one_line(file.name), why=why),
        tr("Name a file that you can read, or put a space after @ to send it as text."),
    )


def _decoded(name: str, data: bytes) -> Attachment:
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # as Windows' programs write it
    text = data.decode("utf-16" if utf16 else "utf-8-sig", errors="replace")
    replaced = text.count("\ufffd") - (0 if utf16 else data.count("\ufffd".encode()))
    if "\0" in text or replaced > (0 if utf16 else MOST_REPLACED * len(text)):
        raise UsageError(
            "TW-C26",
            tr("cannot attach {name}: it is not text in UTF-8 or UTF-16, a PDF or an image", name=one_line(name)),
            tr("Convert it to text first; images must be PNG, JPEG, WebP or GIF."),
        )
    note = ntr(
        "{name} is not UTF-8: {count:,} character replaced",
        "{name} is not UTF-8: {count:,} characters replaced",
        replaced,
        name=one_line(name),
        count=replaced,
    )
    kind = Path(name).suffix[1:].lower()
    return Attachment(name, text.replace("\r\n", "\n"), (note,) if replaced else (), kind if kind.isalnum() else "")


def _document(file: Reference, document: documents.Document) -> Attachment:
    count, name = len(document.pages), one_line(file.name)
    pages = ntr("{name}: text of {count:,} page", "{name}: text of {count:,} pages", count, name=name, count=count)
    blank = ntr("{count:,} page without text", "{count:,} pages without text", document.blank, count=document.blank)
    return Attachment(file.name, document.text, (pages, blank) if document.blank else (pages,))


def _image(file: Reference, picture: images.Picture) -> Attachment:
    note = f"{one_line(file.name)}: {picture.described}"
    return Attachment(file.name, picture.reference(file.path), (note,), None)


def attached(question: str, files: Sequence[Reference], attachments: Sequence[Attachment]) -> str:
    """The question with the files' texts; it names them without ``@``, so that sending it again attaches nothing."""
    for each in files:
        question = question.replace(each.typed, each.name)
    return "\n\n".join([question, *(each.block for each in attachments)])


def check(usage: Usage, before: Usage) -> None:
    """Check that a question with attachments fits.

    Args:
        usage: Of the context with the question.
        before: Of the context without it.

    Raises:
        UsageError: TW-C28 if it does not fit, with both counts.
    """
    if usage.context is not None and usage.tokens >= usage.context:
        raise UsageError(
            "TW-C28",
            tr(
                "the question with its attachments has {tokens} tokens; {left} are left in the context",
                tokens=_tokens(usage.tokens - before.tokens, counted=usage.counted),
                left=f"{max(usage.context - before.tokens, 0):,}",
            ),
            tr("Attach less, or start a new conversation. Nothing was sent."),
        )


def note(attachments: Sequence[Attachment], usage: Usage, before: Usage) -> str:
    """What is sent, in a line: the files, their tokens with the question, and how many are left then."""
    names = ", ".join(one_line(each.name) for each in attachments)
    tokens = _tokens(usage.tokens - before.tokens, counted=usage.counted)
    counted = mark("{count} tokens without images") if any(map(_is_image, attachments)) else mark("{count} tokens")
    parts = [tr("attached: {names}", names=names), tr(counted, count=tokens)]
    if usage.context is not None:
        parts.append(tr("{count} left in the context", count=f"{max(usage.context - usage.tokens, 0):,}"))
    parts += [note for each in attachments for note in each.notes]
    return join(" · ", *parts)


def _tokens(count: int, *, counted: bool) -> str:
    return f"{'' if counted else '≈ '}{count:,}"


def _is_image(attachment: Attachment) -> bool:
    return attachment.label is None
