"""The step that gets the model: from the Hub into the workspace, or from where it is on this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace, suggest_name
from wizard.kernel.values import fingerprint
from wizard.model.facts import ModelFacts
from wizard.model.formats import disk_bytes
from wizard.plan.artefacts import MODEL
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


def fetch(facts: ModelFacts, workspace: Workspace) -> Fetched:
    """How to get the model ``facts``."""
    gguf = next((file.name for file in facts.weights if file.format == "gguf"), None)
    if gguf is None and facts.quantization and facts.quantization.method == "gguf":
        gguf = f"{suggest_name(facts.name)}.gguf"
    mark = fingerprint([facts.location, facts.revision])[:8]  # two models may have the same short name
    folder = workspace.models / f"{suggest_name(facts.ref)}-{mark}"
    if facts.local:
        # Without links in its own path, a relative link in it resolves the same here and in a container.
        return _link(Path(facts.location).resolve(), folder / Path(gguf).name if gguf else folder)
    from wizard.model.hub import download_command

    argv = download_command(facts.location, gguf, facts.revision, str(folder))
    target = folder / gguf if gguf else folder
    size = disk_bytes(facts) or 0
    # After an interrupted download there may be a config.json alone.
    whole = (gguf,) if gguf else ("config.json", *(file.name for file in facts.weights))
    contents = (
        tr("one GGUF file that includes the tokenizer and chat template")
        if gguf
        else tr("safetensors, configuration and tokenizer, but no pickle files, which can run code when loaded")
    )
    step = Step(
        "model",
        tr("Get the model"),
        tr("The weights are downloaded from the Hugging Face Hub: {what}.", what=contents),
        (Command(argv, env=(("HF_HUB_DISABLE_UPDATE_CHECK", "1"),), secrets=("HF_TOKEN",)),),
        Done(files=tuple(str(folder / name) for name in whole)),
        Estimate(5 + size / LINK_BYTES_PER_S, size, size),
        writes=(MODEL,),
    )
    return Fetched(step, target)


def _link(source: Path, target: Path) -> Fetched:
    # A link, not a copy: the weights may be many GiB, and the files are the user's.
    step = Step(
        "model",
        tr("Get the model"),
        tr("The weights are already on this machine; the server uses a link to them.")
        if source.is_dir()
        else tr("The weights are already on this machine; the server uses a link to the file."),
        (
            Command(("mkdir", "-p", str(target.parent))),
            Command(("ls", "-d", str(source))),  # a link would also be created to a missing file
            Command(("ln", "-sfn", str(source), str(target))),
        ),
        Done(files=(str(target),)),
        Estimate(0.1),
        reads=(str(source),),
        writes=(MODEL,),
    )
    return Fetched(step, target, (source, *_elsewhere(source)))


def _elsewhere(source: Path) -> tuple[Path, ...]:
    """Folders outside ``source`` that links in it point to, also indirectly; broken links are ignored."""
    waiting = [path for path in source.rglob("*") if path.is_symlink() and path.exists()] if source.is_dir() else []
    folders: dict[Path, None] = {}
    while waiting:
        link = waiting.pop()
        target = Path(os.path.normpath(link.parent / link.readlink()))
        if target.is_symlink():
            waiting.append(target)
        if not target.is_relative_to(source):
            folders[target if target.is_dir() else target.parent] = None
    return tuple(sorted(folders))
