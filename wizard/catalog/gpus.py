"""What NVML cannot tell about a GPU: ``profiles/gpus/*.toml``, one file for each kind, its facts with their sources."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from wizard.catalog.profiles import files, load
from wizard.kernel.values import STRICT

MOST = 8
"""GPUs of one machine, where nothing else is known: NVIDIA's HGX boards and certified PCIe servers end here."""


@dataclass(frozen=True, slots=True)
class Memory:
    """``bytes`` is the total that NVML reports; of a unified-memory device, the host's MemTotal."""

    bytes: int
    source: str
    shared_with_host: bool = False


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Memory bandwidth in bytes per second."""

    bytes_per_second: float
    source: str


@dataclass(frozen=True, slots=True)
class Tensor:
    """Formats of the tensor cores and their dense rates in 10^12 operations per second; None where there is no source.

    ``fp16`` counts for bfloat16 too where ``formats`` has it. GeForce rates are those with fp32 accumulation.
    """

    formats: tuple[Literal["fp16", "bf16", "tf32", "fp8", "fp6", "fp4", "int8", "int4"], ...]
    source: str
    fp16: float
    fp8: float | None = None
    fp4: float | None = None
    int8: float | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """How GPUs of this kind reach one another in the usual server or workstation.

    Attributes:
        kind: ``nvlink`` (every pair, directly or through switches), ``nvlink-bridge`` (pairs, if a bridge is fitted),
            ``pcie``, or ``none`` (one to a machine).
        nvlinks: Bonded links between any two GPUs; 0 where there are none without a bridge.
        bytes_per_second: Of one GPU, both directions together as datasheets count; None for PCIe.
        pcie_generation: Of the slot, 16 lanes; None if the GPU sits in none.
        most: GPUs of this kind that one machine holds.
    """

    kind: Literal["nvlink", "nvlink-bridge", "pcie", "none"]
    source: str
    nvlinks: int = 0
    bytes_per_second: float | None = None
    pcie_generation: int | None = None
    most: int = MOST


@dataclass(frozen=True, slots=True)
class GpuProfile:
    """One kind of GPU.

    Attributes:
        names: As ``nvmlDeviceGetName`` reports it; the first is used for shorthands.
        aliases: What a shorthand (``--hardware 4xA6000``) may call it; letters' case and punctuation do not count.
        host_architecture: ``x86_64``, or ``aarch64`` where the GPU is joined to an Arm processor.
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


def gpus() -> dict[str, GpuProfile]:
    """All profiles by their file's name.

    Raises:
        UsageError: TW-D02 if a file is not TOML, TW-K01 if one does not fit, naming file and field.
    """
    return {name: load(GpuProfile, path) for name, path in files("gpus").items()}


def match(name: str) -> GpuProfile | None:
    """The profile of the GPU that NVML calls ``name`` (a MIG slice's name counts as its GPU's), or None."""
    plain = plain_name(name.partition(" MIG ")[0])
    for profile in gpus().values():
        if plain in map(plain_name, profile.names):
            return profile
    return None


def plain_name(name: str) -> str:
    """``name`` in lower case, letters and digits only, without the maker's words: what names are compared by."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    return "".join(word for word in words if word not in ("nvidia", "tesla", "geforce"))
