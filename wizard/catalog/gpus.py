"""Facts about a GPU that NVML does not report: ``profiles/gpus/*.toml``, a file per kind, with sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from wizard.catalog.profiles import files, folders, load
from wizard.kernel.values import STRICT

MOST = 8
"""Default maximum number of GPUs in a machine: that of NVIDIA's HGX boards and certified PCIe servers."""


MemoryKind: TypeAlias = Literal["hbm", "gddr", "lpddr"]
"""Stacked beside the chip, graphics memory, or shared with a processor: engines reach different shares of each."""


@dataclass(frozen=True, slots=True)
class Memory:
    """``bytes`` is the total that NVML reports; for a unified-memory device, the host's MemTotal."""

    bytes: int
    kind: MemoryKind
    source: str
    shared_with_host: bool = False


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Memory bandwidth in bytes per second."""

    bytes_per_second: float
    source: str


@dataclass(frozen=True, slots=True)
class Tensor:
    """Formats of the tensor cores and their dense rates in 10^12 operations per second; None without a source.

    ``fp16`` applies to bfloat16 too if ``formats`` has it. GeForce rates are those with fp32 accumulation.
    """

    formats: tuple[Literal["fp16", "bf16", "tf32", "fp8", "fp6", "fp4", "int8", "int4"], ...]
    source: str
    fp16: float
    fp8: float | None = None
    fp4: float | None = None
    int8: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """The link between GPUs of this kind in a typical server or workstation.

    Attributes:
        kind: ``nvlink`` (every pair, directly or through switches), ``nvlink-bridge`` (pairs, if a bridge is fitted),
            ``pcie``, or ``none`` (one per machine).
        nvlinks: Bonded links between any two GPUs; 0 if there are none without a bridge.
        bytes_per_second: Per GPU, both directions together as in datasheets; None for PCIe.
        pcie_generation: PCIe generation of the slot, 16 lanes; None if the GPU is not in a slot.
        most: Maximum number of GPUs of this kind in a machine.
    """

    kind: Literal["nvlink", "nvlink-bridge", "pcie", "none"]
    source: str
    nvlinks: int = 0
    bytes_per_second: float | None = None
    pcie_generation: int | None = None
    most: int = MOST


@dataclass(frozen=True, slots=True)
class GpuProfile:
    """A kind of GPU.

    Attributes:
        names: As ``nvmlDeviceGetName`` reports it; the first is used for shorthands.
        aliases: Names for shorthands (``--hardware 4xA6000``); case and punctuation are ignored.
        host_architecture: ``x86_64``, or ``aarch64`` if the GPU is attached to an Arm processor.
    """

    __pydantic_config__: ClassVar = STRICT
    names: tuple[str, ...]
    aliases: tuple[str, ...]
    compute_capability: tuple[int, int]
    memory: Memory
    bandwidth: Bandwidth
    tensor: Tensor
    link: Link
    host_architecture: Literal["x86_64", "aarch64"] = "x86_64"


def gpus() -> Mapping[str, GpuProfile]:
    """All profiles by file name, read once per process: the advice calls this thousands of times.

    Raises:
        UsageError: TW-D02 if a file is not TOML, TW-K01 if one does not fit, naming file and field.
    """
    return _gpus(folders())


@lru_cache(maxsize=16)
def _gpus(_folders: tuple[Path, ...]) -> Mapping[str, GpuProfile]:
    """The profiles; the folders are only the key of the cache."""
    return {name: load(GpuProfile, path) for name, path in files("gpus").items()}


def match(name: str) -> GpuProfile | None:
    """The profile of the GPU with the NVML name ``name`` (for a MIG slice, its GPU's), or None."""
    plain = plain_name(name.partition(" MIG ")[0])
    for profile in gpus().values():
        if plain in map(plain_name, profile.names):
            return profile
    return None


def plain_name(name: str) -> str:
    """``name`` in lowercase, letters and digits only, without the vendor's words: for comparing names."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    return "".join(word for word in words if word not in ("nvidia", "tesla", "geforce"))
