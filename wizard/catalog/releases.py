"""Triton's images: ``profiles/releases``: the engine of each, and the driver and GPU that it needs."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from functools import cache, lru_cache

from wizard.catalog import profiles, stacks
from wizard.kernel.language import join, tr

NONE = "none"
"""Version that marks a model that the engine's vendor does not list."""


@dataclass(frozen=True, slots=True)
class Release:
    """An image.

    Attributes:
        tag: Year and month, ``26.07``.
        triton: Version of Triton.
        engine: Version of vLLM or TensorRT-LLM in it.
        driver: Oldest driver branch that runs it as is.
        compute_capability: Oldest GPU that it has code for.
        llm_api: Whether it has TensorRT-LLM's Triton model for the LLM API.
        cuda: Its CUDA version, if known.
        image_bytes: Its size from NVIDIA's matrix, if stated.
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
    """All images with an engine, newest first, and the source of the facts.

    Attributes:
        backends: Names of their Triton backends.
    """

    about: str
    suffix: str
    backends: tuple[str, ...]
    source: str
    gpu_source: str
    releases: tuple[Release, ...]

    def named(self, requested: str) -> tuple[Release, ...]:
        """The releases that match ``requested``: a tag (``24.09``, or complete with the suffix), or a version of the
        engine.
        """
        names = (requested, requested.removeprefix("v"), requested.removesuffix(f"-{self.suffix}"))
        return tuple(release for release in self.releases if release.tag in names or release.engine == names[1])


@dataclass(frozen=True, slots=True)
class Floors:
    """First version of each engine that supports a feature.

    Attributes:
        name: The feature: an architecture, a type of rotary embeddings, a format.
        source: Source of the fact.
        first: `wizard.catalog.stack_facts.StackFacts.floors` → the version; unknown ones are missing.
        last: The same → the last version before a release that dropped it; missing: none did.
    """

    name: str
    source: str
    first: dict[str, str] = field(default_factory=dict)
    last: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GpuFloors:
    """Requirements of a compute capability: the first CUDA, the branch of its driver, the first engines.

    ``first`` is the engine's version by family of images; ``images`` is False if NVIDIA makes none for such GPUs.
    """

    name: str
    cuda: str
    driver: int
    source: str
    first: dict[str, str] = field(default_factory=dict)
    images: bool = True


@dataclass(frozen=True, slots=True)
class Architectures:
    """All of ``profiles/releases/architectures.toml``.

    Attributes:
        read: Column → newest release whose models were read; `NONE` says nothing about newer ones.
    """

    about: str
    read: dict[str, str]
    models: tuple[Floors, ...]
    methods: tuple[Floors, ...]
    ropes: tuple[Floors, ...]
    formats: tuple[Floors, ...]
    gpus: tuple[GpuFloors, ...]


@dataclass(frozen=True, slots=True)
class Forward:
    """Drivers that run some releases by forward compatibility: ``535.86`` is 535 from .86 on, ``550`` is all of 550."""

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
    """Compute capability from which on minor-version compatibility does not apply."""
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


@lru_cache(maxsize=4096)  # the advice compares the versions of every release a thousand times
def version(text: str) -> tuple[int, ...]:
    """The numbers of a version, for ordering: ``0.5.3.post1`` → (0, 5, 3, 1)."""
    return tuple(map(int, re.findall(r"\d+", text)))


@cache
def images(family: str) -> Images:
    """The images of ``family``, cached like `wizard.catalog.stacks.facts`; see `wizard.catalog.stack_facts.Image`.

    Raises:
        UsageError: TW-D01 if the profile is missing, TW-D02 or TW-K01 if it is damaged.
    """
    return profiles.load(Images, profiles.find(f"releases/{family}.toml"))


def families() -> tuple[str, ...]:
    """The families of images that serve a stack, in the order of the stacks.

    Raises:
        UsageError: See `wizard.catalog.stacks.facts`.
    """
    served = (stacks.facts(name).image for name in stacks.names())
    return tuple(dict.fromkeys(kind.family for kind in served if kind))


def image_bytes(tag: str) -> int | None:
    """Size of the image with the complete tag ``tag`` (``26.07-vllm-python-py3``); None if unknown."""
    stacks = map(images, families())
    known = {f"{release.tag}-{each.suffix}": release.image_bytes for each in stacks for release in each.releases}
    return known.get(tag)


@cache
def architectures() -> Architectures:
    """What each engine supports, and from which version on; cached like `wizard.catalog.stacks.facts`.

    Raises:
        UsageError: TW-D01 if the profile is missing, TW-D02 or TW-K01 if it is damaged.
    """
    return profiles.load(Architectures, profiles.find("releases/architectures.toml"))


def floor(table: tuple[Floors, ...], name: str | None, stack: str) -> str | None:
    """The first version of the engine of ``stack`` that serves ``name``; None if unknown.

    Args:
        table: One of `Architectures`, for stacks without first versions of their own.
        name: What is served.
        stack: Its name.

    Raises:
        UsageError: As `wizard.catalog.stacks.facts`.
    """
    known = stacks.facts(stack)
    if known.first and name:
        return known.first.versions.get(name)
    row = next((entry for entry in table if entry.name == name), None)
    return row.first.get(known.floors) if row else None


def ceiling(table: tuple[Floors, ...], name: str | None, stack: str) -> str | None:
    """The last version of the engine of ``stack`` that serves ``name``; None if no release dropped it. See `floor`."""
    row = next((entry for entry in table if entry.name == name), None)
    return row.last.get(stacks.facts(stack).floors) if row else None


@cache
def drivers() -> Drivers:
    """Which older drivers run which releases; cached like `wizard.catalog.stacks.facts`.

    Raises:
        UsageError: TW-D01 if the profile is missing, TW-D02 or TW-K01 if it is damaged.
    """
    return profiles.load(Drivers, profiles.find("releases/drivers.toml"))


def unknown(requested: str) -> str:
    """The error in ``requested`` as a release, with similar ones; empty if an image has that tag or engine."""
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
