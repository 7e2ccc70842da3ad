"""Machines described by a shorthand: ``4xA6000``, ``8xh200``, ``A100``, ``cpu``, derived from ``profiles/gpus``."""

from __future__ import annotations

import difflib
import re
from itertools import combinations

from wizard.catalog.gpus import GpuProfile, gpus, plain_name
from wizard.kernel.errors import UsageError
from wizard.kernel.language import join, mark, tr
from wizard.kernel.units import GIB, MIB
from wizard.probe.host import ContainerEngine, Cpu, Disk, Gpu, GpuLink, Host, Interpreter, System

MOST_GPUS = 16
"""Maximum number of GPUs in a host (HGX and DGX-2)."""
RESERVED_BYTES = 615 * MIB
"""Memory that the driver reserves on an idle GPU (measured with NVML on an H200, driver 580.159.04)."""
HOST_BYTES = 2 * GIB
"""Approximate memory of an idle server without a desktop."""
_COUNT_FIRST = re.compile(r"(?P<count>\d+)(?:\s*[x×*]\s*|(?<!\d\d\d)\s+)(?P<name>.+)", re.IGNORECASE)
"""``4xA6000`` or ``4 A6000``, but not ``4070 laptop``."""
_COUNT_LAST = re.compile(r"(?P<name>.+?)\s*[x×*]\s*(?P<count>\d+)", re.IGNORECASE)
_SIZED = re.compile(r"(?P<name>.+?)\s*(?P<size>\d+)\s*gi?b", re.IGNORECASE)
_MEMORY = re.compile(r"\d+\s*gi?b", re.IGNORECASE)
_SHARE = (0.9, 1.02)
"""NVML reports between these shares of the size that a GPU is sold with (A10: 92.5%), and GiB."""
_OTHERS = {
    "AMD": re.compile(r"amd|instinct|radeon|rx ?\d{4}|mi ?\d{2,3}[ax]?\b|\d{4} ?xtx?", re.IGNORECASE),
    "Apple": re.compile(r"apple|mac|m[1-9]( ?(pro|max|ultra))?$", re.IGNORECASE),
    "Intel": re.compile(r"intel|arc|gaudi", re.IGNORECASE),
}
"""How the names of other vendors' GPUs begin."""
_WITHOUT = ("cpu", "cpuonly", "nogpu")


def host(text: str) -> Host:
    """The machine described by ``text``, with a plain server around the GPUs.

    Raises:
        UsageError: TW-P05 if no profile has that name, TW-P10 if the number of GPUs is impossible.
    """
    if plain_name(text) in _WITHOUT:
        return _around((), (), cores=8, memory=32 * GIB, architecture="x86_64", source=text)
    count, profile = _parse(text)
    if not 1 <= count <= MOST_GPUS:
        message = tr("{text!r} requests {count} GPUs in one machine", text=text[:60], count=count)
        raise UsageError("TW-P10", message, tr("Use 1 to {most}.", most=MOST_GPUS))
    devices = tuple(_gpu(index, profile) for index in range(count))
    links = tuple(GpuLink(a, b, _kind(profile, a, b)) for a, b in combinations(range(count), 2))
    shared = profile.memory.shared_with_host
    memory = profile.memory.bytes if shared else max(64 * GIB, 2 * count * profile.memory.bytes)
    return _around(devices, links, 16 * count, memory, profile.host_architecture, text)


def _parse(text: str) -> tuple[int, GpuProfile]:
    text = text.strip()
    first, last = _COUNT_FIRST.fullmatch(text), _COUNT_LAST.fullmatch(text)
    if (profile := _profile(text)) is not None:
        return 1, profile
    for match in filter(None, (first, last)):
        if (profile := _profile(match["name"])) is not None:
            return int(match["count"][:9]), profile
    if re.search(r"[,+]", text):
        raise UsageError(
            "TW-P05",
            tr("{text!r} names GPUs of several kinds; a short name is for one kind", text=text[:60]),
            tr("Use the path of a recorded host: `triton-wizard probe --save host.json` on that machine writes it."),
        )
    raise _unknown(first["name"] if first else text)


def _profile(name: str) -> GpuProfile | None:
    """The profile with the name or alias ``name``, which may end with its memory: ``RTX 3060 12GB``."""
    by_name = {_plain(each): profile for profile in gpus().values() for each in (*profile.names, *profile.aliases)}
    if (exact := by_name.get(_plain(name))) is not None or (sized := _SIZED.fullmatch(name)) is None:
        return exact
    profile = by_name.get(_plain(sized["name"]))
    low, high = (share * int(sized["size"][:9]) * GIB for share in _SHARE)
    return profile if profile and low <= profile.memory.bytes <= high else None


def _plain(name: str) -> str:
    """``name`` as `plain_name` has it, with the words for laptops as in NVML's names, and without ``GPU``."""
    return re.sub(r"mobile$", "laptop", plain_name(re.sub(r"\bGPU\b", "", name, flags=re.IGNORECASE)))


def _unknown(name: str) -> UsageError:
    """The error about a GPU without a profile."""
    if vendor := next((vendor for vendor, begin in _OTHERS.items() if begin.match(name)), None):
        return UsageError(
            "TW-P05",
            tr("{name!r} is a GPU of {vendor}; the servers run on NVIDIA GPUs only", name=name[:60], vendor=vendor),
            tr("Use `cpu` for a machine without an NVIDIA GPU, or the path of a recorded host (host.json)."),
        )
    todo = tr(
        "Use a count and a GPU name (4xA6000), `cpu`, or the path of a recorded host, which `triton-wizard probe "
        "--save host.json` writes on that machine."
    )
    if _MEMORY.fullmatch(name):
        return UsageError("TW-P05", tr("{name!r} is an amount of memory, not a GPU", name=name[:60]), todo)
    sized = _SIZED.fullmatch(name)
    shown = {_plain(alias): alias for each in gpus().values() for alias in each.aliases}
    alike = difflib.get_close_matches(_plain(sized["name"] if sized else name), shown, n=4, cutoff=0.4)
    if alike:
        todo = join(" ", tr("Did you mean {names}?", names=", ".join(shown[each] for each in alike)), todo)
    return UsageError("TW-P05", tr("unknown GPU: {name!r}", name=name[:60]), todo)


def _gpu(index: int, profile: GpuProfile) -> Gpu:
    shared = profile.memory.shared_with_host
    return Gpu(
        index=index,
        name=profile.names[0],
        memory_total_bytes=profile.memory.bytes,
        memory_free_bytes=profile.memory.bytes - (HOST_BYTES if shared else RESERVED_BYTES),
        memory_is_shared_with_host=shared,
        compute_capability=profile.compute_capability,
        pcie_generation=profile.link.pcie_generation,
        pcie_width=16 if profile.link.pcie_generation else None,
        mig_enabled=False,
    )


def _kind(profile: GpuProfile, a: int, b: int) -> str:
    """The link of a pair: bridges are not assumed; on PCIe four GPUs share a processor, as in two-socket servers."""
    if profile.link.nvlinks:
        return f"NV{profile.link.nvlinks}"
    return "NODE" if a // 4 == b // 4 else "SYS"


def python(architecture: str) -> Interpreter:
    """Ubuntu 22.04's Python with its shared library, which a described machine is assumed to have."""
    folder = f"/usr/lib/{architecture}-linux-gnu"
    return Interpreter("/usr/bin/python3.10", (3, 10, 12), folder, has_venv=True, usable=True)


def _around(
    devices: tuple[Gpu, ...], links: tuple[GpuLink, ...], cores: int, memory: int, architecture: str, source: str
) -> Host:
    """An idle server with Ubuntu 22.04, Docker with NVIDIA's runtime and a current driver."""
    return Host(
        cpu=Cpu(None, architecture, cores, ("avx2", "bmi2", "f16c", "fma") if architecture == "x86_64" else ("asimd",)),
        memory_total_bytes=memory,
        memory_available_bytes=memory - HOST_BYTES,
        disk=Disk("/", 2048 * GIB, 1024 * GIB),
        system=System("Ubuntu 22.04 LTS", "5.15.0", "glibc 2.35"),
        gpus=devices,
        gpu_links=links,
        driver_version="580.95.05" if devices else None,
        cuda_driver_version="13.0" if devices else None,
        engines=(ContainerEngine("docker", "28.2.2", "28.2.2", nvidia_runtime=bool(devices)),),
        interpreters=(python(architecture),),
        source=source,
        unknown={
            mark("everything except the GPUs"): tr(
                "assumed from a typical server, because the machine was given as {name!r}", name=source
            )
        },
    )
