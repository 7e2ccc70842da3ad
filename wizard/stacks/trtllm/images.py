"""NVIDIA's images with TensorRT-LLM."""

from __future__ import annotations

from wizard.advise.advice import Choice
from wizard.catalog.releases import Release, images
from wizard.kernel.errors import InfeasibleError
from wizard.kernel.language import tr


def image(choice: Choice) -> Release:
    """The image of ``choice``; its `engine` is TensorRT-LLM's version.

    Raises:
        InfeasibleError: TW-L40 if no image with TensorRT-LLM has that tag.
    """
    known = images("trtllm")
    for release in known.releases:
        if choice.release == f"{release.tag}-{known.suffix}":
            return release
    raise InfeasibleError(
        "TW-L40",
        tr("no known TensorRT-LLM image has the tag {release!r}", release=choice.release),
        tr(
            "Use --release to choose one from {oldest} to {newest}.",
            oldest=known.releases[-1].tag,
            newest=known.releases[0].tag,
        ),
    )
