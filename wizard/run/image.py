"""Which image a name stands for now: its ID, by which the run starts containers, and the digest in its registry.

Both engines print the fields ``Id``, ``RepoDigests`` and ``Size`` (docker's API, schema ImageInspect;
podman-image-inspect(1), whose ID has no ``sha256:`` before it).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from wizard.kernel.errors import StepError
from wizard.kernel.language import tr
from wizard.kernel.process import answered
from wizard.kernel.secrets import environment_for, redact
from wizard.kernel.text import plain
from wizard.plan.plan import Image

_ID = re.compile(r"(?:sha256:)?([0-9a-f]{64})")
_TAG = re.compile(r":[\w.-]+$")


@dataclass(frozen=True, slots=True)
class ExactImage:
    """An image that a container engine has.

    Attributes:
        name: What the plan calls it.
        id: ``sha256:…``; images with the same ID are the same.
        size: In bytes, as the engine counts them.
        reference: The name with the digest that its registry has for this image; without one if it is from none.
    """

    name: str
    id: str
    size: int
    reference: str

    @property
    def state(self) -> tuple[int, int]:
        """For the journal, like that of a file: the size, and a number that is another for another image."""
        return self.size, int(self.id.removeprefix("sha256:")[:12], 16)


async def exact(image: Image) -> ExactImage:
    """Look ``image`` up.

    Raises:
        StepError: TW-R110 if the engine does not have it, or cannot be asked.
    """
    status, lines = await answered((image.engine, "image", "inspect", image.name), environment_for())
    try:
        return _read(image.name, lines)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        last = next((line for line in reversed(lines) if line.strip()), tr("exit status {status}", status=status))
        raise StepError(
            "TW-R110",
            tr("cannot identify the image {image}: {why}", image=image.name, why=redact(plain(last))),
            tr("Check that {engine} runs, then run `up` again without skipping the image.", engine=image.engine),
        ) from error


def _read(name: str, lines: list[str]) -> ExactImage:
    """The image in the output of an engine: a JSON list, maybe after warnings and before errors."""
    first, last = lines.index("["), lines.index("]")
    data: dict[str, Any] = json.loads("\n".join(lines[first : last + 1]))[0]
    match = _ID.fullmatch(data["Id"])
    if match is None:
        raise ValueError
    return ExactImage(name, f"sha256:{match[1]}", int(data["Size"]), _reference(name, data["RepoDigests"] or []))


def _reference(name: str, digests: list[str]) -> str:
    """``name`` with the digest among ``digests`` (``REPOSITORY@sha256:…``) that is from the same repository."""
    name, _, asked = name.partition("@")
    of_repository = [each.partition("@")[2] for each in digests if each.startswith(f"{_TAG.sub('', name)}@")]
    if asked in of_repository:
        return f"{name}@{asked}"
    return f"{name}@{of_repository[0]}" if of_repository else name
