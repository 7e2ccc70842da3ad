"""Text that was typed and not sent, one file per server beside the saved conversations."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from wizard.chat.history import History
from wizard.kernel.errors import WizardError
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
    """The draft for one server. Losing it must not disturb the chat: errors of the disk are ignored."""

    path: Path

    @classmethod
    def of(cls, history: History, server: str) -> Drafts:
        """The draft for ``server``; its name may be an address, so the file is named after its hash."""
        name = hashlib.sha256(server.encode(errors="replace")).hexdigest()[:16]
        return cls(history.path.parent / "drafts" / f"{name}.json")

    def load(self) -> Draft:
        """The draft; an empty one if there is none, or it cannot be read."""
        try:
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
            for folder in (self.path.parent.parent, self.path.parent):  # the mode is only the last folder's
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
            with open(os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:  # noqa: PTH123
                file.write(to_json(draft).encode(errors="replace"))
            temporary.replace(self.path)
