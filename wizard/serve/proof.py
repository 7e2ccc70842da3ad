"""What is known of what a server serves: the manifests of its models, and its image."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from wizard.kernel.language import join, tr
from wizard.kernel.paths import ServerFolder
from wizard.kernel.program import command
from wizard.model import manifest
from wizard.serve import find
from wizard.serve.endpoint import Endpoint


def manifests(server: ServerFolder) -> list[Path]:
    """The manifests of the server's last plan, of the model and of those beside it; empty without a plan."""
    try:
        steps = json.loads(server.plan.read_bytes())["steps"]
        names = [str(name) for step in steps for name in step["done"]["files"]]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return []  # read as a plan, with its errors, where it matters
    return [Path(name) for name in names if name.endswith(manifest.SUFFIX)]


def proof(server: ServerFolder) -> str:
    """What the manifests say, and which image the server was started from, a sentence without its period; empty if
    neither is known. Files are not read.
    """
    sentences = []
    for path in manifests(server):
        recorded = manifest.read(path)
        if recorded is None:
            continue
        if altered := manifest.changed(manifest.folder_of(path), recorded):
            again = command("up", server.name)
            sentences.append(tr("{name} has changed since it was checked: run {again}", name=altered[0], again=again))
        else:
            sentences.append(recorded.summary())
    if (endpoint := find.note(server)) and endpoint.image:
        sentences.append(_image(endpoint))
    return join("; ", *sentences) if sentences else ""


def _image(endpoint: Endpoint) -> str:
    name, _, digest = endpoint.image.partition("@")
    if digest:
        return tr("image {name} at digest {digest}", name=name, digest=short(digest))
    return tr("local image {name}, ID {id}", name=name, id=short(endpoint.image_id))


def short(digest: str) -> str:
    """A digest or an ID for people, as long as the engines show it."""
    kind, _, digits = digest.rpartition(":")
    return f"{kind}:{digits[:12]}"


def verify(server: ServerFolder, progress: Callable[[float], None]) -> str:
    """Read all files and compare them with the manifests; return what `proof` says then.

    Raises:
        ModelError: TW-M60 a file is damaged, TW-M61 it is missing, TW-M17 it is not readable.
    """
    for path in manifests(server):
        manifest.recheck(path, progress)
    return proof(server)
