"""A command's output at any speed: all of it in its log, with its times, and the latest lines for the interfaces.

Memory is bounded: a program may write a gigabyte without a line end, and no one can read 200,000 lines per second.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from wizard.kernel.files import private_file
from wizard.kernel.language import tr
from wizard.kernel.process import LONGEST_LINE, Line
from wizard.kernel.secrets import boundary, redact_bytes
from wizard.serve.log import times_of

SHOWN_BYTES, SHOWN_LINES, SHOWN_CHARACTERS = 1 << 19, 2_000, 4_000
"""Maximum of a batch for the interfaces: bytes, lines, and characters of a line."""
_UP = "\x1b[A"
"""Moves the cursor up: tqdm's lines of several bars, which overwrite one another."""
_MARGIN = 4096
"""Bytes that follow the end of a part of a long line, so that a secret is not cut."""


def only_in_log(count: int) -> str:
    """A line that stands for ``count`` lines that are not shown."""
    return tr("… lines that are only in the log: {count} …", count=f"{count:,}")


class Capture:
    """A log that is begun again; output is written as it is, but without secrets.

    Args:
        path: The step's log.

    Raises:
        OSError: It cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = private_file(path, "wb")
        self._times = private_file(times_of(path), "wb")
        self._rest = b""

    @property
    def size(self) -> int:
        """Bytes of the log."""
        return self._log.tell()

    def feed(self, data: bytes, *, end: bool = False) -> list[Line]:
        """Write ``data`` up to its last line end, with ``end`` all of it; return the latest lines.

        Raises:
            OSError: The log cannot be written.
        """
        block = self._rest + data
        size = len(block) if end else _whole(block)
        self._rest = block[size:]
        block = redact_bytes(block[:size])
        if not block:
            return []
        try:
            self._times.write(b"%d %.3f\n" % (self.size, time.time()))
            self._log.write(block)
            self._times.flush()
            self._log.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self._path)) from error
        return _latest(block)

    def close(self) -> None:
        """Write the rest.

        Raises:
            OSError: The log cannot be written.
        """
        try:
            self.feed(b"", end=True)
        finally:
            for file in (self._log, self._times):
                with suppress(OSError):  # `feed` has raised it
                    file.close()


def _whole(block: bytes) -> int:
    """Where the last whole line ends; a ``\\r`` at the very end may be half of a line end."""
    newline = block.rfind(b"\n") + 1
    end = max(newline, block.rfind(b"\r", newline, len(block) - 1) + 1)
    return end if len(block) - end <= LONGEST_LINE else boundary(block, len(block) - _MARGIN)


def _latest(block: bytes) -> list[Line]:
    """The last lines of whole lines; if others precede them, the first says how many."""
    start = max(0, len(block) - SHOWN_BYTES)
    texts = block[start:].decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n").split("\n")
    omitted = block.count(b"\n", 0, start) + max(0, len(texts) - SHOWN_LINES)
    lines = [Line(only_in_log(omitted))] if omitted else []
    updates = max(1, SHOWN_LINES // len(texts))
    for text in texts[-SHOWN_LINES:]:
        *overwritten, last = text.split("\r")
        lines += [Line(update[:SHOWN_CHARACTERS], update=True) for update in overwritten[-updates:]]
        lines.append(Line(last[:SHOWN_CHARACTERS], update=last.endswith(_UP)))
    return lines
