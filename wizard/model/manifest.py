"""Manifests: sizes and hashes of a model's files, and which of them are those that the Hub publishes.

A manifest is beside the model's folder in the workspace, as ``NAME.manifest.json``. A file whose size, modification
time and inode are as recorded is taken as unchanged; anything else is hashed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias

from wizard.kernel.errors import ModelError
from wizard.kernel.language import mark, ntr, tr
from wizard.model.untrusted import unreadable

SUFFIX = ".manifest.json"
AT_ONCE = 4
"""Files that are hashed at the same time: hashing one takes a core, and one reader rarely uses all of a disk."""
CHUNK = 4 << 20
State: TypeAlias = tuple[int, int, int]
"""Size in bytes, modification time in ns, inode."""
_REPAIR = mark("Remove it with `rm {path}`, then run `triton-wizard up` again to download it.")
_REPLACE = mark("Copy or download it again.")


@dataclass(frozen=True, slots=True)
class Published:
    """What the Hub publishes of a file; ``git`` is the ID of a blob, ``sha256`` that of a file in LFS."""

    kind: Literal["sha256", "git"]
    hash: str
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class FileProof:
    """A file when it was hashed; ``published`` is what it was compared with, None if there was nothing."""

    bytes: int
    modified_ns: int
    inode: int
    sha256: str
    published: Published | None = None

    @property
    def state(self) -> State:
        """As `state_of` returns it for an unchanged file."""
        return self.bytes, self.modified_ns, self.inode


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of a model.

    Attributes:
        files: Path in the model's folder → what is known of it.
        repo: The repository on the Hub; None for files that are the user's own.
        revision: Its commit.
        checked_at: When all files were last compared or hashed, in seconds since 1970.
    """

    files: Mapping[str, FileProof]
    repo: str | None = None
    revision: str | None = None
    checked_at: float = field(default_factory=time.time)

    def summary(self) -> str:
        """What is proven, a sentence without its period."""
        if self.repo is None:
            count = len(self.files)
            return ntr(
                "hash of {count} local file recorded", "hashes of {count} local files recorded", count, count=count
            )
        lacking = [name for name, file in self.files.items() if file.published is None]
        where = {"repo": self.repo, "revision": (self.revision or "?")[:12]}
        if len(lacking) == len(self.files):
            return tr("not verified: no published hashes of {repo} at revision {revision}", **where)
        count = len(self.files) - len(lacking)
        proven = ntr(
            "{count} file verified against {repo} at revision {revision}",
            "{count} files verified against {repo} at revision {revision}",
            count,
            count=count,
            **where,
        )
        names = ", ".join(lacking[:3])
        return tr("{proven}; no published hash for {names}", proven=proven, names=names) if lacking else proven


def path_of(folder: Path) -> Path:
    """Where the manifest of the model in ``folder`` is."""
    return folder.with_name(folder.name + SUFFIX)


def folder_of(manifest: Path) -> Path:
    """The reverse of `path_of`."""
    return manifest.with_name(manifest.name.removesuffix(SUFFIX))


def read(path: Path) -> Manifest | None:
    """The manifest in ``path``; None if there is none, or it is damaged: then the files are hashed again."""
    try:
        data = json.loads(path.read_bytes())
        files = {str(name): _file(**file) for name, file in data.pop("files").items()}
        return Manifest(files, **data)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _file(*, published: dict[str, Any] | None, **rest: Any) -> FileProof:
    return FileProof(**rest, published=Published(**published) if published else None)


def write(path: Path, manifest: Manifest) -> None:
    """Write it atomically, and bring it to the disk.

    Raises:
        OSError: It cannot be written.
    """
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with fresh.open("w", encoding="utf-8") as file:
            json.dump(asdict(manifest), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def state_of(path: Path) -> State | None:
    """The current state of a file, or of what a link points to; None if it is missing."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns, stat.st_ino


def changed(folder: Path, manifest: Manifest) -> list[str]:
    """The files whose size, modification time or inode is not as recorded, or that are missing."""
    return [name for name, file in manifest.files.items() if state_of(folder / name) != file.state]


def states(path: Path) -> tuple[int, int] | None:
    """Total size of the files that the manifest in ``path`` lists, and a number that differs if any of them, or what
    was recorded of it, is another; None if there is no manifest, or a file has changed since.
    """
    recorded = read(path)
    if recorded is None or changed(folder_of(path), recorded):
        return None
    files = [[name, *file.state, file.sha256] for name, file in sorted(recorded.files.items())]
    digest = hashlib.sha256(json.dumps(files).encode()).hexdigest()
    return sum(file.bytes for file in recorded.files.values()), int(digest[:12], 16)


def check(
    folder: Path,
    names: Iterable[str],
    published: Mapping[str, Published],
    before: Manifest | None = None,
    *,
    full: bool = False,
    progress: Callable[[float], None] = lambda _: None,
) -> dict[str, FileProof]:
    """Compare files with what is ``published``, and hash those without it.

    Args:
        folder: The model's folder.
        names: Paths in it.
        published: What the Hub publishes of each.
        before: An earlier manifest; files that are unchanged since then are not read.
        full: Read all files.
        progress: Gets the fraction of the bytes that were read.

    Raises:
        ModelError: TW-M60 a file is damaged, TW-M61 it is missing, TW-M17 it is not readable.
    """
    known = before.files if before else {}
    proofs: dict[str, FileProof] = {}
    to_read: dict[str, State] = {}
    for name in names:
        state, wanted = state_of(folder / name), published.get(name)
        if state is None:
            raise _missing(folder / name)
        if wanted and wanted.bytes not in (None, state[0]):
            raise damaged(folder / name, f"{wanted.bytes:,} bytes", f"{state[0]:,} bytes", published=True)
        old = known.get(name)
        if old and old.state == state and not full and (wanted is None or old.published == wanted):
            proofs[name] = old
        else:
            to_read[name] = state
    meter = _Meter(sum(size for size, _, _ in to_read.values()), progress)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        work = {
            name: threads.submit(_read, folder / name, state, published.get(name), known.get(name), meter)
            for name, state in to_read.items()
        }
        try:
            proofs |= {name: each.result() for name, each in work.items()}
        finally:
            meter.stopped = True  # the others need not be read any more
    return proofs


def recheck(path: Path, progress: Callable[[float], None] = lambda _: None) -> None:
    """Read all files of the manifest in ``path``, if there is one, and record that they are what they were.

    Raises:
        ModelError: As `check`.
    """
    recorded = read(path)
    if recorded is None:
        return
    published = {name: file.published for name, file in recorded.files.items() if file.published}
    files = check(folder_of(path), recorded.files, published, recorded, full=True, progress=progress)
    with contextlib.suppress(OSError):  # a manifest that cannot be written says the same, with an older date
        write(path, Manifest(files, recorded.repo, recorded.revision))


def _read(path: Path, state: State, wanted: Published | None, old: FileProof | None, meter: _Meter) -> FileProof:
    """Hash a file and compare it.

    A file of the user's that is not published may change, but not without a new modification time: then its disk or
    memory is defective.
    """
    hashes = {"sha256": hashlib.sha256()}
    if wanted and wanted.kind == "git":
        hashes["git"] = hashlib.sha1(b"blob %d\0" % state[0], usedforsecurity=False)
    buffer = memoryview(bytearray(CHUNK))
    try:
        with path.open("rb", buffering=0) as file:
            while (count := file.readinto(buffer)) and not meter.stopped:
                for each in hashes.values():
                    each.update(buffer[:count])
                meter.add(count)
    except OSError as error:
        raise unreadable(path, error) from error
    digests = {kind: each.hexdigest() for kind, each in hashes.items()}
    if wanted and digests[wanted.kind] != wanted.hash:
        kind = "SHA-256" if wanted.kind == "sha256" else "git blob ID"
        raise damaged(path, f"{kind} {wanted.hash}", digests[wanted.kind], published=True)
    if not wanted and old and old.state == state and old.sha256 != digests["sha256"]:
        raise damaged(path, f"SHA-256 {old.sha256}", digests["sha256"], published=False)
    return FileProof(*state, digests["sha256"], wanted)


class _Meter:
    def __init__(self, total: int, progress: Callable[[float], None]) -> None:
        self._total, self._progress = total, progress
        self._done, self._reported = 0, -1
        self._lock = Lock()
        self.stopped = False

    def add(self, count: int) -> None:
        """Report every further percent."""
        with self._lock:
            self._done += count
            percent = 100 * self._done // max(1, self._total)
            if percent > self._reported:
                self._reported = percent
                self._progress(percent / 100)


def damaged(path: Path, expected: str, actual: str, *, published: bool) -> ModelError:
    """A file's content is not what it should be."""
    if published:
        text = tr(
            "{path} is damaged: expected {expected}, as the Hub publishes; found {actual}",
            path=path,
            expected=expected,
            actual=actual,
        )
    else:
        text = tr(
            "{path} is damaged: it had {expected} when it was first used, now {actual}, with the same date",
            path=path,
            expected=expected,
            actual=actual,
        )
    return ModelError("TW-M60", text, tr(_REPAIR, path=path) if published else tr(_REPLACE))


def _missing(path: Path) -> ModelError:
    return ModelError(
        "TW-M61",
        tr("{path} is missing: the model is incomplete", path=path),
        tr("Run `triton-wizard up` again; the other files are kept."),
    )
