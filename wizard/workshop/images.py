"""The images of a bundle: those of the stacks that a container engine of this machine has, by ``ENGINE save``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wizard.catalog.releases import images
from wizard.catalog.stacks import facts
from wizard.kernel.errors import HostError
from wizard.kernel.language import tr
from wizard.kernel.secrets import redact
from wizard.kernel.text import plain
from wizard.plan.runtimes.select import IMAGE
from wizard.probe.ask import asking
from wizard.probe.engines import has_image
from wizard.workshop.bundle import IMAGES, BundledImage
from wizard.workshop.tools import quiet

ENGINES = ("docker", "podman")


@dataclass(frozen=True, slots=True)
class WantedImage:
    """An image, the engine that has it, and its size there in bytes, about that of the saved file; 0 if unknown."""

    image: BundledImage
    engine: str
    size: int


def wanted(stacks: Sequence[str]) -> list[WantedImage]:
    """The images of ``stacks`` that a container engine has (≤ 6 s)."""
    families = {kind.family for stack in stacks if (kind := facts(stack).image)}
    suffixes = tuple(f"-{images(family).suffix}" for family in sorted(families))
    by_name: dict[str, WantedImage] = {}
    for engine in ENGINES:
        for name, identity in _listed(engine):
            repository, _, tag = name.rpartition(":")
            if repository == IMAGE and suffixes and tag.endswith(suffixes):
                image = BundledImage(name, identity, f"{IMAGES}/{tag}.tar")
                by_name.setdefault(name, WantedImage(image, engine, _size(engine, name)))
    return list(by_name.values())


def _listed(engine: str) -> list[tuple[str, str]]:
    """(name, ID) of the images of ``engine``; none if it is not installed or does not respond."""
    lines = _asked((engine, "image", "ls", "--no-trunc", "--format", "{{.Repository}}:{{.Tag}} {{.ID}}")).splitlines()
    return [(name, identity) for name, _, identity in (line.partition(" ") for line in lines) if identity]


def _size(engine: str, name: str) -> int:
    text = _asked((engine, "image", "inspect", "--format", "{{.Size}}", name)).strip()
    return int(text) if text.isdecimal() else 0


def _asked(command: tuple[str, ...]) -> str:
    with asking({"it": command}) as running:
        answer = running["it"].answer()
    return answer.out if answer.status == 0 else ""


def save(each: WantedImage, bundle: Path) -> None:
    """Write an image to its file, through a temporary one.

    Raises:
        HostError: TW-B08 if the engine fails.
    """
    path = bundle / each.image.path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    _run((each.engine, "save", "-o", str(partial), each.image.name))
    partial.replace(path)


def load(image: BundledImage, bundle: Path) -> bool | None:
    """Load an image; False if it was there, None if this machine has no container engine that responds.

    Raises:
        HostError: TW-B08 if the engine fails.
    """
    engine = next((name for name in ENGINES if _asked((name, "info", "--format", "{{json .}}"))), None)
    if engine is None:
        return None
    if has_image(engine, image.name):
        return False
    _run((engine, "load", "-i", str(bundle / image.path)))
    return True


def _run(command: tuple[str, ...]) -> None:
    done = quiet(command)
    if done.returncode:
        line = redact(plain((done.stderr.strip().splitlines() or [""])[-1]))
        raise HostError(
            "TW-B08",
            tr("{command} failed: {line}", command=" ".join(command[:2]), line=line),
            tr("Check the free space and that the container engine runs. Then run the same command again."),
        )
