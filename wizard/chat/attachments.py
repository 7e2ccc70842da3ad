"""Files that a question names as ``@PATH``, attached as text. Their size is bounded before and while they are read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wizard.chat.meter import Usage
from wizard.kernel.errors import UsageError
from wizard.kernel.language import join, ntr, tr
from wizard.kernel.reasons import unreadable
from wizard.kernel.text import one_line
from wizard.kernel.units import size

LARGEST = 4 * 2**20
"""Bytes of all attached files together: about a million tokens, more than the context of most models."""
MOST_REPLACED = 0.3
"""Share of characters that are not UTF-8 from which on a file is not text."""
_FENCED = re.compile(r"^(`{3,}).*?^\1`*[ \t]*$", re.MULTILINE | re.DOTALL)
_REFERENCE = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|([^\s"]+))')
_LIKE_A_PATH = re.compile(r"[\w~/.-]*[/.]\w+")
_PUNCTUATION = ".,;:!?)]}'"


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
    """A file's text.

    Attributes:
        name: The path as typed.
        text: The content.
        replaced: Number of its characters that were not UTF-8 and became U+FFFD.
    """

    name: str
    text: str
    replaced: int = 0

    @property
    def block(self) -> str:
        """The text as a fenced block with its name, whose fence is longer than any in it."""
        longest = max(map(len, re.findall(r"^\s*(`+)", self.text, re.MULTILINE)), default=0)
        fence = "`" * max(3, longest + 1)
        kind = Path(self.name).suffix[1:].lower()
        return f"{one_line(self.name)}:\n\n{fence}{kind if kind.isalnum() else ''}\n{self.text.strip(chr(10))}\n{fence}"


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


def outside(reference: Reference, folder: Path) -> Path | None:
    """Where the file really is, if that is outside of ``folder``: the user is asked before it is read."""
    try:
        real = reference.path.resolve()
    except (OSError, RuntimeError):  # a loop of links, which reading reports
        return None
    return None if real.is_relative_to(folder.resolve()) else real


def read(files: Sequence[Reference]) -> list[Attachment]:
    """The texts of ``files``.

    Raises:
        UsageError: TW-C25 if one is not a readable file, TW-C26 if it is not text, TW-C27 if they are too large.
    """
    attachments, left = [], LARGEST
    for each in files:
        data = _bytes(each, left)
        left -= len(data)
        attachments.append(_decoded(each.name, data))
    return attachments


def _bytes(file: Reference, left: int) -> bytes:
    """The content; only a regular file is opened, because a pipe or a device could block or be changed by that."""
    try:
        status = file.path.stat()
        if not stat.S_ISREG(status.st_mode):
            folder = stat.S_ISDIR(status.st_mode)
            raise _unreadable(file, tr("it is a folder") if folder else tr("it is not a regular file"))
        with open(os.open(file.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:  # noqa: PTH123
            data = opened.read(left + 1) if status.st_size <= left else b""
    except OSError as error:
        raise _unreadable(file, unreadable(error)) from error
    if max(status.st_size, len(data)) > left:
        raise UsageError(
            "TW-C27",
            tr("{name} is too large to attach: {size}", name=one_line(file.name), size=size(status.st_size)),
            tr("Attach up to {size} at once, for example an excerpt of the file.", size=size(LARGEST)),
        )
    return data


def _unreadable(file: Reference, why: str) -> UsageError:
    return UsageError(
        "TW-C25",
        tr("cannot attach {name}: {why}", name=one_line(file.name), why=why),
        tr("Name a text file that you can read, or put a space after @ to send it as text."),
    )


def _decoded(name: str, data: bytes) -> Attachment:
    text = data.decode("utf-8-sig", errors="replace")
    replaced = text.count("\ufffd") - data.count("\ufffd".encode())
    if b"\0" in data or replaced > MOST_REPLACED * len(text):
        raise UsageError(
            "TW-C26",
            tr("cannot attach {name}: it is not text in UTF-8", name=one_line(name)),
            tr("Convert it to text first."),
        )
    return Attachment(name, text.replace("\r\n", "\n"), replaced)


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
    parts = [tr("attached: {names}", names=names), tr("{count} tokens", count=tokens)]
    if usage.context is not None:
        parts.append(tr("{count} left in the context", count=f"{max(usage.context - usage.tokens, 0):,}"))
    for each in attachments:
        if each.replaced:
            text = ntr(
                "{name} is not UTF-8: {count:,} character replaced",
                "{name} is not UTF-8: {count:,} characters replaced",
                each.replaced,
                name=one_line(each.name),
                count=each.replaced,
            )
            parts.append(text)
    return join(" · ", *parts)


def _tokens(count: int, *, counted: bool) -> str:
    return f"{'' if counted else '≈ '}{count:,}"
