"""Saved conversations on this machine: a SQLite file in a folder that only its owner can access.

Every call opens the file, does one transaction and closes it, so that threads and several wizards may use it at once
(write-ahead logging, sqlite.org/wal.html). What is deleted is overwritten in the file (``secure_delete``,
sqlite.org/pragma.html); copies on the disk or in a backup are out of reach.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wizard.chat.conversation import Conversation, Message, Sampling, Stats, Version
from wizard.chat.tools.called import Called
from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.files import private_folder
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.reasons import unreadable
from wizard.kernel.text import one_line
from wizard.kernel.values import from_json, to_json

VERSION = 1
"""Version of the tables, stored in the file (``user_version``)."""
BUSY_S = 10.0
"""Seconds to wait for another wizard."""
_TABLES = (
    "CREATE TABLE chat (id INTEGER PRIMARY KEY AUTOINCREMENT, revision INTEGER NOT NULL, title TEXT NOT NULL, "
    "model TEXT NOT NULL, endpoint TEXT NOT NULL, sampling TEXT NOT NULL, created REAL NOT NULL, "
    "updated REAL NOT NULL)",
    "CREATE INDEX chat_updated ON chat (updated)",
    "CREATE TABLE message (id INTEGER PRIMARY KEY, chat INTEGER NOT NULL REFERENCES chat ON DELETE CASCADE, "
    "place INTEGER NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL, at REAL NOT NULL, more TEXT NOT NULL, "
    "UNIQUE (chat, place))",
)
_ENTRIES = (
    "SELECT id, title, model, endpoint, created, updated, (SELECT count(*) FROM message WHERE chat = chat.id) FROM chat"
)
_MATCHES = (
    "WITH first AS (SELECT chat, min(id) AS message FROM message WHERE has(content, ?1) GROUP BY chat) "
    "SELECT chat.id, title, model, endpoint, created, updated, (SELECT count(*) FROM message WHERE chat = chat.id), "
    "(SELECT content FROM message WHERE id = first.message) FROM chat LEFT JOIN first ON first.chat = chat.id "
    "WHERE first.message IS NOT NULL OR has(title, ?1) ORDER BY updated DESC, chat.id DESC LIMIT ?2"
)
"""Search condition; ``has`` is Python's, because SQLite's LIKE ignores case for ASCII only. Searching 20 MB takes some
40 ms.

An index over parts of words, which languages without spaces need (FTS5's trigrams), used five times as much space as
the text, and deleting took a second with it.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A saved conversation in a list. Times are seconds since 1970 (UTC).

    Attributes:
        id: Never reused.
        found: For a search: the text around the first match.
    """

    id: int
    title: str
    model: str
    endpoint: str
    created: float
    updated: float
    messages: int
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """A saved conversation; without an ``id`` it is not saved yet.

    Attributes:
        title: Empty: the conversation's own, its first question.
        model: The model of the last answer.
        endpoint: Name of the server.
        revision: Number of saves, so that two wizards do not overwrite each other's changes.
    """

    conversation: Conversation
    model: str = ""
    endpoint: str = ""
    title: str = ""
    id: int | None = None
    revision: int = 0
    created: float = 0.0
    updated: float = 0.0


@dataclass(frozen=True, slots=True)
class History:
    """All saved conversations of a workspace, in a single file.

    Every method may raise `WorkspaceError`: TW-C20 the file is damaged or not a history, TW-C21 it was written by a
    newer wizard, TW-C22 it is not readable or writable. Nothing is overwritten then.
    """

    path: Path

    @classmethod
    def of(cls, workspace: Workspace) -> History:
        """The history of ``workspace``; no file is created before a conversation is saved."""
        return cls(workspace.chats / "chats.sqlite3")

    def save(self, kept: Kept) -> Kept:
        """Save the conversation atomically; an earlier save of it is updated.

        If another wizard has continued the same conversation in the meantime, this becomes a separate one.
        """
        now = time.time()
        with self._open(write=True) as store:
            row = store.execute("SELECT revision FROM chat WHERE id = ?", (kept.id,)).fetchone() if kept.id else None
            title = kept.title or _utf8(kept.conversation.title)
            values = (title, kept.model, kept.endpoint, to_json(kept.conversation.sampling), now)
            if row and row[0] == kept.revision:
                store.execute(
                    "UPDATE chat SET title=?, model=?, endpoint=?, sampling=?, updated=?, revision=revision+1 "
                    "WHERE id=?",
                    (*values, kept.id),
                )
                saved = replace(kept, revision=kept.revision + 1, updated=now)
            else:
                made = store.execute(
                    "INSERT INTO chat (title, model, endpoint, sampling, updated, created, revision) "
                    "VALUES (?, ?, ?, ?, ?, ?, 1)",
                    (*values, now),
                )
                saved = replace(kept, id=made.lastrowid, revision=1, created=now, updated=now)
            _write_messages(store, saved.id or 0, kept.conversation.messages)
        return replace(saved, title=title)

    def load(self, number: int) -> Kept:
        """The conversation ``number``.

        Raises:
            UsageError: TW-C23 if it is unknown.
        """
        with self._open() as store:
            row = store.execute(
                "SELECT title, model, endpoint, sampling, created, updated, revision FROM chat WHERE id = ?", (number,)
            ).fetchone()
            if row is None:
                raise _unknown(number)
            messages = store.execute(
                "SELECT role, content, at, more FROM message WHERE chat = ? ORDER BY place", (number,)
            ).fetchall()
        where = f"{self.path} ({number})"
        conversation = Conversation(
            tuple(_message(each, where) for each in messages), from_json(Sampling, row[3], where=where)
        )
        return Kept(conversation, row[1], row[2], row[0], number, row[6], row[4], row[5])

    def newest(self) -> Kept | None:
        """The most recently continued conversation."""
        entries = self.entries(limit=1)
        return self.load(entries[0].id) if entries else None

    def entries(self, *, limit: int = 50, offset: int = 0) -> list[Entry]:
        """Conversations, most recent first."""
        with self._open() as store:
            rows = store.execute(
                f"{_ENTRIES} ORDER BY updated DESC, id DESC LIMIT ? OFFSET ?", (limit, offset)
            ).fetchall()
        return [Entry(*row) for row in rows]

    def search(self, text: str, *, limit: int = 50) -> list[Entry]:
        """Conversations with ``text`` in a message or in the title, most recent first; case-insensitive."""
        text = _utf8(text).replace("\0", "").strip()
        if not text:
            return self.entries(limit=limit)
        with self._open() as store:
            store.create_function("has", 2, lambda text, part: part in text.casefold(), deterministic=True)
            rows = store.execute(_MATCHES, (text.casefold(), limit)).fetchall()
        return [replace(Entry(*row[:7]), excerpt=_around(row[7] or "", text)) for row in rows]

    def rename(self, number: int, title: str) -> None:
        """Change a conversation's title.

        Raises:
            UsageError: TW-C23 if it is unknown, TW-C24 if the title is empty.
        """
        title = one_line(_utf8(title))
        if not title:
            raise UsageError("TW-C24", tr("the title is empty"), tr("Enter a title of one or more words."))
        with self._open(write=True) as store:
            if not store.execute("UPDATE chat SET title = ? WHERE id = ?", (title, number)).rowcount:
                raise _unknown(number)

    def delete(self, number: int) -> None:
        """Remove a conversation; its text is overwritten in the file.

        Raises:
            UsageError: TW-C23 if it is unknown.
        """
        with self._open(write=True) as store:
            if not store.execute("DELETE FROM chat WHERE id = ?", (number,)).rowcount:
                raise _unknown(number)
        with self._open() as store:
            store.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the write-ahead log has the text, too

    @contextlib.contextmanager
    def _open(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """Open the file for a single transaction."""
        try:
            if write:
                private_folder(self.path.parent)
                with contextlib.suppress(FileExistsError):  # SQLite gives the files beside it the same permissions
                    os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            kept = self.path.exists()  # otherwise nothing was saved yet, and an empty in-memory store is used
            store = sqlite3.connect(self.path if kept else ":memory:", timeout=BUSY_S, isolation_level=None)
            with contextlib.closing(store):
                self._prepare(store, write=write)
                store.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                yield store
                store.execute("COMMIT")  # closing without a commit rolls back
        except (OSError, sqlite3.Error, UnicodeError) as error:
            raise _failure(self.path, error) from error

    def _prepare(self, store: sqlite3.Connection, *, write: bool) -> None:
        """Configure the connection; create the tables if the file is new."""
        store.execute("PRAGMA secure_delete = ON")
        store.execute("PRAGMA foreign_keys = ON")
        (version,) = store.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise WorkspaceError(
                "TW-C21",
                tr("the conversations in {path} were saved by a newer triton-wizard", path=self.path),
                tr("Use that version, or chat with --private, which keeps no history."),
            )
        if version == 0:
            _make(store, self.path)
        if write:
            with contextlib.suppress(sqlite3.OperationalError):  # another wizard has it open: it works next time
                store.execute("PRAGMA journal_mode = WAL")


def _make(store: sqlite3.Connection, path: Path) -> None:
    """Create the tables in an empty file."""
    store.execute("BEGIN IMMEDIATE")
    if store.execute("PRAGMA user_version").fetchone() == (0,):  # no other wizard was faster
        if store.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise _damaged(path, tr("the file is not a conversation history"))
        for statement in _TABLES:
            store.execute(statement)
        store.execute(f"PRAGMA user_version = {VERSION}")
    store.execute("COMMIT")


@dataclass(frozen=True, slots=True)
class _More:
    """A message's data besides its text."""

    stats: Stats | None = None
    versions: tuple[Version, ...] = ()
    thought: str = ""
    model: str = ""
    calls: tuple[Called, ...] = ()


def _write_messages(store: sqlite3.Connection, chat: int, messages: tuple[Message, ...]) -> None:
    """Write only new and changed messages: usually the last two of many."""
    rows = [_row(each) for each in messages]
    there = store.execute(
        "SELECT role, content, at, more FROM message WHERE chat = ? ORDER BY place", (chat,)
    ).fetchall()
    same = next((i for i, (old, new) in enumerate(zip(there, rows, strict=False)) if old != new), None)
    same = min(len(there), len(rows)) if same is None else same
    store.execute("DELETE FROM message WHERE chat = ? AND place >= ?", (chat, same))
    store.executemany(
        "INSERT INTO message (chat, place, role, content, at, more) VALUES (?, ?, ?, ?, ?, ?)",
        [(chat, same + index, *row) for index, row in enumerate(rows[same:])],
    )


def _row(message: Message) -> tuple[str, str, float, str]:
    more = to_json(_More(message.stats, message.versions, message.thought, message.model, message.calls))
    return message.role, _utf8(message.content), message.at, _utf8(more)


def _utf8(text: str) -> str:
    """``text`` without lone surrogates, which terminal input may contain."""
    return text.encode(errors="replace").decode()


def _message(row: Any, where: str) -> Message:
    role, content, at, more = row
    known = from_json(_More, more, where=where)
    return Message(role, content, known.stats, at, known.versions, known.thought, known.model, known.calls)


def _around(content: str, text: str, *, width: int = 80) -> str:
    """The part of ``content`` around ``text``, on a single line."""
    place = content.lower().find(text.lower())
    if place < 0:
        return ""
    start = max(0, place - width // 2)
    end = place + len(text) + width // 2
    part = " ".join(content[start:end].split())
    return f"{'…' if start else ''}{part}{'…' if end < len(content) else ''}"


def _unknown(number: int) -> UsageError:
    return UsageError(
        "TW-C23", tr("no saved conversation {number}", number=number), tr("Check the list of conversations.")
    )


def _damaged(path: Path, why: object) -> WorkspaceError:
    return WorkspaceError(
        "TW-C20",
        tr("cannot read the saved conversations in {path}: {why}", path=path, why=why),
        tr("Nothing was changed. Move the file elsewhere to start a new one, or restore it from a backup."),
    )


def _failure(path: Path, error: Exception) -> WorkspaceError:
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        return _damaged(path, error)
    return WorkspaceError(
        "TW-C22",
        tr("cannot read or write the saved conversations in {path}: {why}", path=path, why=unreadable(error)),
        tr("Free some space or fix the permissions, or chat with --private, which keeps no history."),
    )
