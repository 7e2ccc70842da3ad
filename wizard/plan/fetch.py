"""The step that gets the model: from the Hub into the workspace, or from where it is on this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wizard.kernel.language import ntr, tr
from wizard.kernel.paths import Workspace, suggest_name
from wizard.kernel.values import fingerprint
from wizard.model import cache, manifest, verify
from wizard.model.facts import ModelFacts
from wizard.model.formats import disk_bytes
from wizard.plan.artefacts import DRAFT, MODEL
from wizard.plan.plan import LINK_BYTES_PER_S, Command, Done, Estimate, Step


@dataclass(frozen=True, slots=True)
class Fetched:
    """The step that gets a model.

    Attributes:
        step: The step.
        path: The model's path for the engine: a GGUF file, or a folder with weights, config and tokenizer.
        reads: Paths outside the workspace that must be readable because ``path`` is a link: a folder or file, and the
            folders that links in it point to (those of the Hub's cache point to ``../../blobs``).
    """

    step: Step
    path: Path
    reads: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class FetchedModels:
    """The served model, and the one that proposes tokens for it; None if there is none."""

    served: Fetched
    draft: Fetched | None = None

    @property
    def all(self) -> tuple[Fetched, ...]:
        """Both, or the served one."""
        return (self.served, self.draft) if self.draft else (self.served,)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that get them."""
        return tuple(each.step for each in self.all)

    @property
    def path(self) -> str:
        """The served model's path for the engine."""
        return str(self.served.path)

    @property
    def draft_path(self) -> str | None:
        """The draft model's."""
        return str(self.draft.path) if self.draft else None

    @property
    def reads(self) -> tuple[Path, ...]:
        """Paths outside the workspace that must be readable."""
        return tuple(path for each in self.all for path in each.reads)

    @property
    def needs(self) -> tuple[str, ...]:
        """Artifacts that the server reads."""
        return tuple(name for step in self.steps for name in step.writes)


def fetch(facts: ModelFacts, workspace: Workspace) -> Fetched:
    """How to get the model ``facts``."""
    files = tuple(file.name for file in facts.weights if file.format == "gguf")
    if not files and facts.quantization and facts.quantization.method == "gguf":
        files = (f"{suggest_name(facts.name)}.gguf",)
    mark = fingerprint([facts.location, facts.revision])[:8]  # two models may have the same short name
    folder = workspace.models / f"{suggest_name(facts.ref)}-{mark}"
    if facts.local and files:
        places = [Path(facts.location).with_name(Path(name).name) for name in files]
        return _links(places, folder, verify.command(folder, [place.name for place in places], **_origin(facts)))
    if facts.local:
        proof = verify.command(folder, **_origin(facts))
        return _links([Path(facts.location)], folder.parent, proof, name=folder.name)
    target = folder / files[0] if files else folder
    size = disk_bytes(facts) or 0
    # After an interrupted download there may be a config.json alone.
    whole = files or ("config.json", *(file.name for file in facts.weights))
    step = Step(
        "model",
        tr("Get the model"),
        tr("The weights are downloaded from the Hugging Face Hub: {what}.", what=_contents(files)),
        download(facts.location, facts.revision, folder, files),
        Done(files=(*(str(folder / name) for name in whole), str(manifest.path_of(folder)))),
        Estimate(5 + size / LINK_BYTES_PER_S, size, size),
        writes=(MODEL,),
    )
    return Fetched(step, target)


def download(repo: str, revision: str | None, folder: Path, files: Sequence[str] = ()) -> tuple[Command, Command]:
    """The commands that download ``files`` of a repository, or all that engines read, and compare their hashes."""
    from wizard.model.hub.access import download_command

    get = download_command(repo, files, revision, str(folder))
    proof = verify.command(folder, files, repo=repo, revision=revision)
    return (
        Command(get, env=(("HF_HUB_DISABLE_UPDATE_CHECK", "1"),), secrets=("HF_TOKEN",)),
        Command(proof, secrets=("HF_TOKEN",)),
    )


def _origin(facts: ModelFacts) -> dict[str, Any]:
    """The repository of files in the Hugging Face cache; empty for the user's own."""
    repo = cache.repository(Path(facts.location)) if facts.revision else None
    return {"repo": repo, "revision": facts.revision, "cached": True} if repo else {}


def _contents(gguf: Sequence[str]) -> str:
    if not gguf:
        return tr("safetensors, configuration and tokenizer, but no pickle files, which can run code when loaded")
    if len(gguf) > 1:
        return tr("{count} parts of a GGUF file that includes the tokenizer and chat template", count=len(gguf))
    return tr("one GGUF file that includes the tokenizer and chat template")


def fetch_models(facts: ModelFacts, draft: ModelFacts | None, workspace: Workspace) -> FetchedModels:
    """How to get the model ``facts``, and the ``draft`` model that proposes tokens for it."""
    served = fetch(facts, workspace)
    if draft is None:
        return FetchedModels(served)
    got = fetch(draft, workspace)
    why = tr("This small model proposes tokens, which the served model verifies (speculative decoding).")
    step = replace(got.step, id="draft", title=tr("Get the draft model"), why=why, writes=(DRAFT,))
    return FetchedModels(served, replace(got, step=step))


def _links(places: Sequence[Path], folder: Path, proof: tuple[str, ...], *, name: str | None = None) -> Fetched:
    """Links in ``folder`` to what is at ``places``, under the same names or, of a folder, as ``name``; ``proof`` is
    the command that hashes the files.
    """
    # A link, not a copy: the weights may be many GiB, and the files are the user's. Without links in its own path, a
    # relative link in a folder resolves the same here and in a container.
    sources = {folder / (name or place.name): place.resolve() for place in places}
    source, *_ = sources.values()
    step = Step(
        "model",
        tr("Get the model"),
        tr("The weights are already on this machine; the server uses a link to them.")
        if source.is_dir()
        else ntr(
            "The weights are already on this machine; the server uses a link to the file.",
            "The weights are already on this machine; the server uses links to their {count} files.",
            len(sources),
            count=len(sources),
        ),
        (
            Command(("mkdir", "-p", str(folder))),
            Command(("ls", "-d", *map(str, sources.values()))),  # a link would also be created to a missing file
            *(Command(("ln", "-sfn", str(file), str(link))) for link, file in sources.items()),
            Command(proof),
        ),
        Done(files=(*map(str, sources), str(manifest.path_of(folder / name if name else folder)))),
        Estimate(0.1),
        reads=tuple(map(str, sources.values())),
        writes=(MODEL,),
    )
    return Fetched(step, next(iter(sources)), (*sources.values(), *_elsewhere(source)))


def _elsewhere(source: Path) -> tuple[Path, ...]:
    """Folders outside ``source`` that links in it point to, also indirectly; broken links are ignored."""
    waiting = [path for path in source.rglob("*") if path.is_symlink() and path.exists()]
    folders: dict[Path, None] = {}
    while waiting:
        link = waiting.pop()
        target = Path(os.path.normpath(link.parent / link.readlink()))
        if target.is_symlink():
            waiting.append(target)
        if not target.is_relative_to(source):
            folders[target if target.is_dir() else target.parent] = None
    return tuple(sorted(folders))
