"""The program of a plan's step that proves what was downloaded: ``python -m wizard.model.verify FOLDER …``.

It compares the files of a model with the hashes that the Hub publishes and writes their manifest
(`wizard.model.manifest`). It is also run for files that are the user's: they are hashed once, and again if they change.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from wizard.kernel import language
from wizard.kernel.errors import WizardError, WorkspaceError
from wizard.kernel.language import tr
from wizard.kernel.reasons import unwritten
from wizard.kernel.text import plain
from wizard.model import manifest
from wizard.model.manifest import Manifest, Published

_SUFFIXES = (".safetensors", ".gguf", ".json", ".model", ".jinja", ".txt", ".tiktoken", ".vocab")
"""Files of a folder of the user's that engines read: weights, configuration, tokenizer, chat template."""


def command(
    folder: Path, files: Sequence[str] = (), *, repo: str = "", revision: str | None = None, cached: bool = False
) -> tuple[str, ...]:
    """The argv that checks the model in ``folder``.

    Args:
        folder: The model's folder, or a link to it; its manifest is written beside it.
        files: The files in it; none: all that belong to the model.
        repo: The repository that they are from.
        revision: Its commit; None: the one that was downloaded.
        cached: Whether they are links into the Hugging Face cache: the Hub is not asked.
    """
    argv = [sys.executable, "-m", "wizard.model.verify", str(folder)]
    argv += ["--repo", repo] if repo else []
    argv += ["--revision", revision] if revision else []
    argv += ["--cached"] if cached else []
    return (*argv, *(["--", *files] if files else []))


def verify(
    folder: Path, files: Sequence[str], repo: str | None, revision: str | None, *, cached: bool, full: bool = False
) -> Manifest:
    """Check the files, write and return their manifest.

    Raises:
        ModelError: TW-M60 damaged, TW-M61 missing, TW-M17 unreadable, or the repository cannot be read.
        NetworkError: TW-M13, TW-M14 the Hub does not answer.
        WorkspaceError: TW-M62 the manifest cannot be written.
    """
    path = manifest.path_of(folder)
    before = manifest.read(path)
    if repo and not cached:
        from wizard.model.hub import published as hub

        listing = hub.listing(repo, revision or hub.downloaded_revision(folder), files)
        names, published, revision = listing.names, listing.published, listing.revision
    else:
        names = tuple(files) or _own(folder)
        published = _from_cache(folder, names) if cached else {}
    proofs = manifest.check(folder, names, published, before, full=full, progress=_show)
    for name in () if repo or not before else (name for name in proofs if _differs(before, proofs, name)):
        print(plain(tr("{name} has changed since it was last used.", name=name)), flush=True)
    made = Manifest(proofs, repo, revision)
    try:
        manifest.write(path, made)
    except OSError as error:
        raise WorkspaceError(
            "TW-M62",
            tr("cannot write {path}: {why}", path=path, why=unwritten(error, path)),
            tr("Remove files you do not need or fix the permissions, then run `up` again."),
        ) from error
    return made


def _own(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.name for path in folder.iterdir() if path.suffix in _SUFFIXES and path.is_file()))


def _from_cache(folder: Path, names: Sequence[str]) -> dict[str, Published]:
    from wizard.model.hub.published import cached

    return {name: hash_ for name in names if (hash_ := cached(folder / name))}


def _differs(before: Manifest, proofs: dict[str, manifest.FileProof], name: str) -> bool:
    old = before.files.get(name)
    return old is not None and old.sha256 != proofs[name].sha256


def _show(fraction: float) -> None:
    print(tr("Checking the files: {percent}%", percent=round(100 * fraction)), end="\r", flush=True)


def main() -> None:
    """Check one model; exit with the error's status."""
    parser = argparse.ArgumentParser(prog="wizard.model.verify")
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--repo")
    parser.add_argument("--revision")
    parser.add_argument("--cached", action="store_true")
    given = parser.parse_intermixed_args()  # options, then file names that may begin with a dash
    language.use(language.preferred())
    try:
        made = verify(given.folder, given.files, given.repo, given.revision, cached=given.cached)
    except WizardError as error:
        print(plain(str(error)), flush=True)
        sys.exit(error.exit_code)
    print(plain(made.summary()), flush=True)


if __name__ == "__main__":
    main()
