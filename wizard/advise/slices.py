"""MIG slices side by side: which of them an engine can be started on, each by its UUID. Pure.

Slices have no peer-to-peer access, neither over PCIe nor NVLink (NVIDIA's MIG User Guide, deployment considerations;
also NVIDIA/nccl issue 1716), so they serve replicas, never ranks of one model. A CUDA process uses the slice that
``CUDA_VISIBLE_DEVICES`` names (the guide, MIG device names).
"""

from __future__ import annotations

from wizard.advise.devices import Device
from wizard.advise.reasons import Obstacle, because, do
from wizard.advise.release import Resolved
from wizard.advise.rules import instead
from wizard.advise.setup import Setup
from wizard.catalog.releases import version
from wizard.catalog.stacks import facts, on_gpu
from wizard.probe.host import MigSlice


def of(device: Device, setup: Setup, release: Resolved) -> tuple[tuple[int, MigSlice], ...]:
    """The slices that replicas can be started on, each after the index of its GPU."""
    pairs = tuple(zip(device.indices, device.slices, strict=False))
    known = on_gpu(setup.stack).slices
    named = known is not None and version(release.engine_version) >= version(known.engine)
    if not named:
        return pairs[:1] if release.runtime != "native" else ()  # a container that has only this slice
    if known is None or not known.by_gpu_number:
        return pairs
    numbers = device.kin if release.runtime == "native" else (0,)  # containers number their GPUs from 0
    return tuple((gpu, part) for gpu, part in pairs if part.index in numbers)


def obstacle(device: Device, setup: Setup, release: Resolved) -> Obstacle | None:
    """Why the engine cannot be started on any slice of ``device``."""
    if not device.slices or of(device, setup, release):
        return None
    why = because("no-slice", stack=setup.stack, version=release.engine_version)
    return Obstacle("mig", why, (do("slice-in-container"),) if facts(setup.stack).image else instead(setup.stack))
