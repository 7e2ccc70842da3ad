"""The hashes that the Hub publishes of a repository's files, and the file names to compare."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.model.cache import endpoint
from wizard.model.hub.access import EXCLUDED, REQUEST, within
from wizard.model.manifest import Published
from wizard.model.refs import parse_ref
from wizard.model.untrusted import label

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoSibling

SECONDS = 30.0
"""For the list of a repository's files; some have thousands."""
_HASH = {64: "sha256", 40: "git"}


@dataclass(frozen=True, slots=True)
class Listing:
    """A repository at a commit.

    Attributes:
        revision: The commit.
        names: The files that are downloaded.
        published: The hashes of those that have one.
    """

    revision: str | None
    names: tuple[str, ...]
    published: dict[str, Published]


def listing(repo: str, revision: str | None, files: Sequence[str] = ()) -> Listing:
    """The files of a repository that `wizard.model.hub.access.download_command` downloads, as the Hub publishes them.

    Files in LFS have their SHA-256, others the ID of their git blob (``model_info(files_metadata=True)``).

    Raises:
        ModelError: TW-M11, TW-M12 the repository cannot be read.
        NetworkError: TW-M13, TW-M14 the Hub does not answer.
    """
    return within(SECONDS, lambda: _listing(repo, revision, files), parse_ref(repo))


def _listing(repo: str, revision: str | None, files: Sequence[str]) -> Listing:
    from huggingface_hub import HfApi
    from huggingface_hub.utils import filter_repo_objects

    info = HfApi(endpoint=endpoint()).model_info(repo, revision=revision, files_metadata=True, timeout=REQUEST)
    siblings = {each.rfilename: each for each in info.siblings or ()}
    names = tuple(files) or tuple(filter_repo_objects([*siblings], ignore_patterns=[*EXCLUDED]))
    published = {name: hash_ for name in names if name in siblings and (hash_ := _published(siblings[name]))}
    return Listing(label(info.sha), names, published)


def _published(file: RepoSibling) -> Published | None:
    if file.lfs and _is_hash(file.lfs.sha256, 64):
        return Published("sha256", file.lfs.sha256, file.size)
    if not file.lfs and _is_hash(file.blob_id, 40):
        return Published("git", str(file.blob_id), file.size)
    return None


def cached(path: Path) -> Published | None:
    """The published hash of a file in the Hugging Face cache, whose blobs are named by it; None for other files."""
    place = path.resolve()
    kind = _HASH.get(len(place.name))
    if place.parent.name != "blobs" or kind is None or not _is_hash(place.name, len(place.name)):
        return None
    return Published("sha256" if kind == "sha256" else "git", place.name)


def _is_hash(text: object, length: int) -> bool:
    return isinstance(text, str) and re.fullmatch(rf"[0-9a-f]{{{length}}}", text) is not None


def downloaded_revision(folder: Path) -> str | None:
    """The commit that the last download into ``folder`` was of (huggingface_hub: ``.cache/huggingface``)."""
    notes = (folder / ".cache" / "huggingface" / "download").rglob("*.metadata")
    try:
        newest = max(notes, key=lambda path: path.stat().st_mtime, default=None)
        commit = newest.read_text(encoding="utf-8").split("\n", 1)[0] if newest else ""
    except (OSError, ValueError):
        return None
    return commit if _is_hash(commit, 40) else None
