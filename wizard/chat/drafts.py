"""Text that was typed and not sent, beside the saved conversations: one file per server and window."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from wizard.chat.history import History
from wizard.kernel.errors import WizardError
from wizard.kernel.files import private_folder, write_whole
from wizard.kernel.values import from_json, to_json

LONGEST = 2_000_000
"""Bytes of a file that is read back."""
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class Draft:
    """What was not sent.

    Attributes:
        text: The text in the input field.
        waiting: The messages that waited for an answer's end.
    """

    text: str = ""
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drafts:
    """The draft for one server, in this process. Losing it does not disturb the chat: disk errors are ignored."""

    path: Path

    @classmethod
    def of(cls, history: History, server: str) -> Drafts:
        """The draft for ``server``; its name may be an address, so the file is named after its hash.

        Each process has its own file, so that two windows never overwrite each other's text.
        """
        name = hashlib.sha256(server.encode(errors="replace")).hexdigest()[:16]
        return cls(history.path.parent / "drafts" / f"{name}.{os.getpid()}.json")

    def _adopt(self) -> None:
        """Take over the oldest draft of a process that has exited; renaming lets only one window have it."""
        if self.path.exists():
            return
        name = self.path.name.partition(".")[0]
        for other in sorted(self.path.parent.glob(f"{name}.*.json"), key=lambda path: path.stat().st_mtime):
            if _gone(other.name.split(".")[1]):
                with contextlib.suppress(FileNotFoundError):
                    other.rename(self.path)
                    return

    def load(self) -> Draft:
        """The draft, or the one that another window left; an empty one if there is none, or it cannot be read."""
        try:
            self._adopt()
            with self.path.open("rb") as file:
                text = file.read(LONGEST + 1)
            return from_json(Draft, text.decode(), where=str(self.path)) if len(text) <= LONGEST else Draft()
        except (OSError, UnicodeError, WizardError):
            return Draft()

    def save(self, draft: Draft) -> None:
        """Replace the draft atomically; an empty one removes the file. Only its owner can read it."""
        with _ONE_AT_A_TIME, contextlib.suppress(OSError):
            if draft == Draft():
                self.path.unlink(missing_ok=True)
                return
            private_folder(self.path.parent)
            write_whole(self.path, to_json(draft).encode(errors="replace"), private=True)


def _gone(pid: str) -> bool:
    """Whether no process has this number."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError, ValueError):  # a process of another user, or not a file of ours
        return False
    return False
