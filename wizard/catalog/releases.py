"""Triton's images: ``profiles/releases``, which engine is in which, and what driver and GPU it needs."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from functools import lru_cache

from wizard.catalog import profiles, stacks
from wizard.kernel.language import join, tr

NONE = "none"
"""Said of a version where the engine's maker does not list a model at all."""


@dataclass(frozen=True, slots=True)
class Release:
    """One image.

    Attributes:
        tag: Year and month, ``26.07``.
        triton: Version of Triton.
        engine: Version of vLLM or TensorRT-LLM in it.
        driver: Smallest driver branch that runs it as it is.
        compute_capability: Oldest GPU that it has code for.
        llm_api: TensorRT-LLM's Triton model for the LLM API is in it.
        cuda: CUDA in it, where it is known.
        image_bytes: Its size as NVIDIA's matrix states it, where it does.
    """

    tag: str
    triton: str
    engine: str
    driver: int
    compute_capability: tuple[int, int]
    llm_api: bool = False
    cuda: str | None = None
    image_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Images:
    """All images with one engine, newest first, and where the facts are from.

    Attributes:
        backends: Names of Triton's backends in them.
    """

    about: str
    suffix: str
    backends: tuple[str, ...]
    source: str
    gpu_source: str
    releases: tuple[Release, ...]

    def named(self, requested: str) -> tuple[Release, ...]:
        """Those that ``requested`` means: a tag (``24.09``, or whole with the suffix), or a version of the engine."""
        names = (requested, requested.removeprefix("v"), requested.removesuffix(f"-{self.suffix}"))
        return tuple(release for release in self.releases if release.tag in names or release.engine == names[1])


@dataclass(frozen=True, slots=True)
class Floors:
    """First version of each engine that serves something.

    Attributes:
        name: What is served: an architecture, a type of rotary embeddings, a format.
        source: Who says so.
        first: `wizard.catalog.stack_facts.StackFacts.floors` → the version; what is not known is not in it.
    """

    name: str
    source: str
    first: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GpuFloors:
    """What GPUs of one compute capability need: the first CUDA, the branch of its driver, the first engines.

    ``first`` is the engine's version by the family of the images that have it.
    """

    name: str
    cuda: str
    driver: int
    source: str
    first: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Architectures:
    """All of ``profiles/releases/architectures.toml``."""

    about: str
    models: tuple[Floors, ...]
    ropes: tuple[Floors, ...]
    formats: tuple[Floors, ...]
    gpus: tuple[GpuFloors, ...]


@dataclass(frozen=True, slots=True)
class Forward:
    """Drivers that run some releases by forward compatibility: ``535.86`` is 535 from .86 on, ``550`` all of it."""

    releases: tuple[str, ...]
    drivers: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Drivers:
    """All of ``profiles/releases/drivers.toml``."""

    about: str
    source: str
    other_gpus: tuple[str, ...]
    minor_below: tuple[int, int]
    """Compute capability from which on minor-version compatibility does not count."""
    forward: tuple[Forward, ...]
    branches: dict[str, int]
    """Major version of CUDA → oldest branch of the driver that runs any of its minor versions."""

    def runs(self, tag: str, driver: str, gpu: str) -> bool:
        """Whether ``driver`` runs the release ``tag`` on the GPU named ``gpu`` by documented forward compatibility."""
        words = gpu.lower().split()
        if any(word.lower() in words for word in self.other_gpus):
            return False
        have = version(driver)
        rows = (version(driver) for row in self.forward if tag in row.releases for driver in row.drivers)
        return any(have[:1] == first[:1] and have[1:2] >= first[1:] for first in rows)


@lru_cache(maxsize=4096)  # an advice compares the versions of every release a thousand times
def version(text: str) -> tuple[int, ...]:
    """The numbers of a version, by which versions are ordered: ``0.5.3.post1`` → (0, 5, 3, 1)."""
    return tuple(map(int, re.findall(r"\d+", text)))


def images(family: str) -> Images:
    """The images of ``family``, see `wizard.catalog.stack_facts.Image`.

    Raises:
        UsageError: TW-D01 if there is no such profile, TW-D02 or TW-K01 if it is damaged.
    """
    return profiles.load(Images, profiles.find(f"releases/{family}.toml"))


def families() -> tuple[str, ...]:
    """The families of images that serve some stack, in the order of the stacks.

    Raises:
        UsageError: As `wizard.catalog.stacks.facts`.
    """
    served = (stacks.facts(name).image for name in stacks.names())
    return tuple(dict.fromkeys(kind.family for kind in served if kind))


def image_bytes(tag: str) -> int | None:
    """Size of the image with the whole tag ``tag`` (``26.07-vllm-python-py3``); None if it is not known."""
    stacks = map(images, families())
    known = {f"{release.tag}-{each.suffix}": release.image_bytes for each in stacks for release in each.releases}
    return known.get(tag)


def architectures() -> Architectures:
    """What each engine serves from which version on.

    Raises:
        UsageError: TW-D01 if there is no such profile, TW-D02 or TW-K01 if it is damaged.
    """
    return profiles.load(Architectures, profiles.find("releases/architectures.toml"))


def drivers() -> Drivers:
    """Which older drivers run which releases.

    Raises:
        UsageError: TW-D01 if there is no such profile, TW-D02 or TW-K01 if it is damaged.
    """
    return profiles.load(Drivers, profiles.find("releases/drivers.toml"))


def unknown(requested: str) -> str:
    """What is wrong with ``requested`` as a release, with similar ones; empty if an image has that tag or engine."""
    stacks = [images(family) for family in families()]
    if any(stack.named(requested) for stack in stacks):
        return ""
    names = list(
        dict.fromkeys(name for stack in stacks for release in stack.releases for name in (release.tag, release.engine))
    )
    near = difflib.get_close_matches(requested.removeprefix("v"), names, 3, 0.5)
    if not near:
        return tr("unknown release")
    return tr("unknown release; did you mean {names}?", names=join(tr(" or "), *near))
