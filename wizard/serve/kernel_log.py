"""What NVIDIA's driver reported of GPUs in the kernel's log (Xid), where this user may read it.

``/dev/kmsg`` (Linux, Documentation/ABI/testing/dev-kmsg) needs CAP_SYSLOG where ``kernel.dmesg_restrict`` is set; the
journal then shows the same to the groups ``adm`` and ``systemd-journal``. Where neither can be read, nothing is known.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from wizard.kernel.language import tr
from wizard.kernel.text import plain
from wizard.probe.ask import asking
from wizard.serve.causes import Scan

KMSG = Path("/dev/kmsg")
RECENT_S = 300.0
"""Seconds before a server's end in which an Xid may be its reason; the machine's other programs have theirs, too."""
_KEPT = 100
_RECORD = 1 << 13
"""Bytes of a read, which returns one record, or fails if the record is longer."""
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)[^)]*\): (\d+),")


class KernelLog:
    """The Xids from now on."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lines: deque[tuple[float, str]] = deque(maxlen=_KEPT)
        self._file: IO[bytes] | None = None
        try:
            self._file = os.fdopen(os.open(KMSG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0)
            self._file.seek(0, os.SEEK_END)
        except OSError:
            self._file = None

    def read(self) -> None:
        """Read what is new; call it every few seconds."""
        while self._file:
            try:
                data = self._file.read(_RECORD)
            except BrokenPipeError:  # records were overwritten before they were read
                continue
            except OSError:
                return
            if not data:
                return
            text = plain(data.decode("utf-8", "replace"))
            self._lines += [(self._clock(), line) for line in text.splitlines() if _XID.search(line)]

    def xid(self) -> str:
        """The last minutes' Xid that explains most, in words; empty if all are harmless, or none can be read."""
        self.read()
        since = self._clock() - RECENT_S
        lines = [line for at, line in self._lines if at >= since] if self._file else _journal()
        lines = [line for line in lines if not _harmless(line)]
        best = _scan(lines).cause()
        match = _XID.search(best.line if best else lines[-1] if lines else "")
        if match is None:
            return ""
        text = tr("the kernel's log has Xid {number} of the GPU at {bus}", number=match[2], bus=match[1])
        if best is None:
            return text
        return tr("{text} ({title}: {fix})", text=text, title=best.title, fix=best.fix)


def _scan(lines: Iterable[str]) -> Scan:
    scan = Scan()
    scan.feed_lines(lines)
    return scan


def _harmless(line: str) -> bool:
    """Whether its Xid is known and ends no program."""
    scan = _scan((line,))
    return bool(scan.findings()) and scan.cause() is None


def _journal() -> list[str]:
    since = f"--since=@{time.time() - RECENT_S:.0f}"
    with asking({"log": ("journalctl", "--dmesg", "--no-pager", "--quiet", since)}) as running:
        lines = running["log"].answer().out.splitlines()
    return [line for line in map(plain, lines) if _XID.search(line)]
