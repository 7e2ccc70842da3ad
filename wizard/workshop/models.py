"""The models of a bundle, in the layout of the Hugging Face cache, without its links, which USB sticks cannot have.

``models--ORG--NAME/snapshots/REVISION/FILE`` are the files themselves, as huggingface_hub writes them on systems
without links (its documentation, "Understand caching"), and ``refs/BRANCH`` names the revision.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wizard.kernel.errors import NetworkError
from wizard.kernel.language import tr
from wizard.kernel.paths import suggest_name
from wizard.kernel.secrets import environment_for, redact
from wizard.kernel.text import plain
from wizard.kernel.values import fingerprint
from wizard.model.cache import hub_cache
from wizard.model.facts import ModelFacts
from wizard.model.formats import disk_bytes
from wizard.model.hub.access import EXCLUDED, download_command
from wizard.model.refs import parse_ref
from wizard.workshop.bundle import MODELS, BundledModel

SNAPSHOT = re.compile(rf"{MODELS}/(models--[\w.-]+)/snapshots/([\w.-]+)")
"""The folder of a model of the Hub in a bundle."""


@dataclass(frozen=True, slots=True)
class WantedModel:
    """A model to bundle.

    Attributes:
        model: Its entry in the manifest.
        source: Its folder on this disk, with `files`; None: it is downloaded from the Hub.
        files: Relative paths; empty for a download: all but pickle files.
        size: Bytes; 0 if unknown.
    """

    model: BundledModel
    source: Path | None
    files: tuple[str, ...]
    size: int


def wanted(facts: ModelFacts) -> WantedModel | None:
    """How ``facts`` is bundled; None for a model that comes with the wizard."""
    if facts.source == "recipe":
        return None
    names = [file.name for file in facts.weights if file.format == "gguf"]
    if not facts.local:
        folder, branch = _place(facts, facts.revision or "main")
        model = BundledModel(facts.ref, folder, facts.revision or "main", branch)
        return WantedModel(model, None, tuple(names), disk_bytes(facts) or 0)
    location = Path(facts.location)
    if facts.source == "hub":
        return _cached(facts, location, names)
    source = location if location.is_dir() else location.parent
    files = _files(source) if location.is_dir() else [Path(name).name for name in names]
    # Two may have the same name. The path on this machine is no one's business.
    folder = f"{MODELS}/files/{suggest_name(location.name)}-{fingerprint(str(location))[:4]}"
    return WantedModel(BundledModel(location.name, folder), source, tuple(files), _bytes(source, files))


def _place(facts: ModelFacts, revision: str) -> tuple[str, str]:
    """The snapshot's folder, and the branch that it was asked by; empty if it was asked by the revision."""
    ref = parse_ref(facts.ref)
    asked = ref.revision or "main"
    folder = f"{MODELS}/models--{ref.repo.replace('/', '--')}/snapshots/{revision}"
    return folder, "" if asked == revision else asked


def _cached(facts: ModelFacts, location: Path, names: list[str]) -> WantedModel:
    """A snapshot of the Hugging Face cache: only its weights if it is a GGUF file."""
    root = next(parent for parent in (location, *location.parents) if parent.parent.name == "snapshots")
    files = [(location.parent / Path(name).name).relative_to(root).as_posix() for name in names] or _files(root)
    folder, branch = _place(facts, root.name)
    return WantedModel(BundledModel(facts.ref, folder, root.name, branch), root, tuple(files), _bytes(root, files))


def _files(root: Path) -> list[str]:
    """All files but hidden ones and pickle files, which can run code when loaded."""
    paths = (path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file())
    return [path.as_posix() for path in paths if not path.name.startswith(".") and not _pickle(path)]


def _pickle(path: Path) -> bool:
    return any(path.match(pattern) for pattern in EXCLUDED)


def _bytes(root: Path, files: list[str]) -> int:
    return sum((root / name).stat().st_size for name in files)


def fetch(each: WantedModel, bundle: Path) -> None:
    """Copy or download a model into ``bundle``; files that are there with their size stay.

    Raises:
        NetworkError: TW-B07 if the download fails.
        OSError: A file cannot be read or written.
    """
    folder = bundle / each.model.folder
    folder.mkdir(parents=True, exist_ok=True)
    if each.source is None:
        _download(each, folder)
    else:
        for name in each.files:
            copy(each.source / name, folder / name)
    if each.model.branch:
        ref = folder.parent.parent / "refs" / each.model.branch
        ref.parent.mkdir(parents=True, exist_ok=True)
        ref.write_text(each.model.revision, encoding="utf-8")


def copy(source: Path, target: Path) -> None:
    """Copy a file, through a temporary one; one with the same size and time of change is not copied again."""
    there, new = target.stat() if target.exists() else None, source.stat()
    if there and (there.st_size, int(there.st_mtime)) == (new.st_size, int(new.st_mtime)):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.partial")
    shutil.copy2(source, temporary, follow_symlinks=True)
    temporary.replace(target)


def _download(each: WantedModel, folder: Path) -> None:
    repo = parse_ref(each.model.ref).repo
    command = download_command(repo, each.files, each.model.revision, str(folder))
    env = {**environment_for(("HF_TOKEN",)), "HF_HUB_DISABLE_UPDATE_CHECK": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("Hint")]
        line = redact(plain((lines or [""])[-1]))
        raise NetworkError(
            "TW-B07",
            tr("{model} could not be downloaded: {line}", model=each.model.ref, line=line),
            tr("Check the network, free space and your access. Run the same command again to resume the download."),
        )
    shutil.rmtree(folder / ".cache", ignore_errors=True)  # where the download resumes


def put(model: BundledModel, files: list[str], bundle: Path, own: Path) -> Iterator[str]:
    """Copy a model of ``bundle`` to this machine: into the Hugging Face cache, or the facilitator's own to ``own``.

    Yields what of the user's was kept instead.
    """
    named = SNAPSHOT.fullmatch(model.folder)
    target = hub_cache() / named[1] / "snapshots" / named[2] if named else own / Path(model.folder).name
    for path in files:
        copied = target / Path(path).relative_to(model.folder)
        if copied.exists() and copied.stat().st_size == (bundle / path).stat().st_size:
            continue
        if copied.exists():
            yield str(copied)
            continue
        copy(bundle / path, copied)
    if named and model.branch:
        ref = hub_cache() / named[1] / "refs" / model.branch
        if not ref.exists():
            ref.parent.mkdir(parents=True, exist_ok=True)
            ref.write_text(model.revision, encoding="utf-8")
        elif ref.read_text(encoding="utf-8").strip() != model.revision:
            yield str(ref)
