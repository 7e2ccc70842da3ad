"""How the driver runs the CUDA of an image or of an environment, and which image it gets. Pure.

An image runs *as is* if the driver is no older than its CUDA's own driver, else by *minor-version compatibility* if
the driver has the same major version of CUDA, else by *forward compatibility* where NVIDIA documents it. A newer
driver never gets an older engine:

1. The newest image that runs as is, or has CUDA 12: every driver from 525 on runs each of those.
2. By minor-version compatibility with a newer CUDA, the oldest image that supports the model: a newer driver runs
   that image, or a newer one, as is.
3. By forward compatibility, likewise, and only images that the first driver of their CUDA runs as is. A driver that
   runs nothing without it gets the newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from wizard.advise.devices import Device
from wizard.advise.needs import dots
from wizard.advise.reasons import Obstacle, Reason, because, do
from wizard.catalog.environments import Environment, engines
from wizard.catalog.releases import Drivers, GpuFloors, Release, architectures, drivers, version
from wizard.probe.host import Host

Mode = Literal["as-is", "minor", "forward"]
EVERYWHERE = "12"
"""The CUDA whose minor versions all run on every supported driver."""


def branch(host: Host) -> int | None:
    """The driver's branch; None if it is unknown, which is assumed to be new."""
    match = re.match(r"\d+", host.driver_version or "")
    return int(match.group()) if match else None


def mode(host: Host, device: Device, release: Release, known: Drivers) -> Mode | None:
    """How the driver runs ``release`` according to the ``known`` table; None if it does not."""
    have = branch(host)
    if have is None or release.driver <= have:
        return "as-is"
    if oldest(device, release, known) <= have:
        return "minor"
    return "forward" if _forward(have, host, device, release, known) else None


def oldest(device: Device, release: Release, known: Drivers) -> int:
    """The oldest branch that runs ``release`` without forward compatibility."""
    if device.compute_capability >= known.minor_below:
        return release.driver
    return min(release.driver, known.branches.get(cuda(release), release.driver))


def cuda(release: Release) -> str:
    """Major version of the release's CUDA; empty if unknown."""
    return (release.cuda or "").partition(".")[0]


def runs(host: Host, device: Device, release: Release) -> bool:
    """Whether the driver runs ``release`` as it is, or as a minor version of the CUDA that every driver has."""
    how = mode(host, device, release, drivers())
    return how == "as-is" or (how == "minor" and cuda(release) == EVERYWHERE)


def chosen(host: Host, device: Device, suiting: Sequence[Release]) -> Release | None:
    """The image of ``suiting``, newest first, that the driver gets if it `runs` none of them; None if it cannot."""
    have, known = branch(host), drivers()
    modes = [(release, mode(host, device, release, known)) for release in suiting]
    if further := [release for release, how in modes if how == "minor"]:
        return further[-1]
    forward = [release for release, how in modes if how == "forward"]
    if len(suiting) > 1:  # a single one was requested
        newest = max(known.branches.values())
        forward = [release for release in forward if release.driver <= newest]
    bare = have is not None and have < known.branches[EVERYWHERE]
    return forward[0 if bare else -1] if forward else None


def _forward(have: int, host: Host, device: Device, release: Release, known: Drivers) -> bool:
    """Whether forward compatibility is documented; the driver itself must support the GPU."""
    if not known.runs(release.tag, host.driver_version or "", device.name):
        return False
    first = next((gpu.driver for gpu in architectures().gpus if gpu.name == dots(device.compute_capability)), 0)
    return have >= first


def engine_environment(host: Host, stack: str, capability: tuple[int, int]) -> Environment | None:
    """The newest environment with the engine of ``stack`` that driver and GPU can run; None if there is none."""
    return next((engine for engine in engines(stack) if environment_obstacle(host, capability, engine) is None), None)


def environment_obstacle(host: Host, capability: tuple[int, int], env: Environment) -> Obstacle | None:
    """What prevents GPU and driver from running the CUDA of ``env``."""
    if capability < env.compute_capability:
        why = because("engine-capability", engine=env.engine, wanted=env.compute_capability, capability=capability)
        return Obstacle("image", why, (do("newer-gpu"),))
    have, oldest = branch(host), env.oldest_driver(capability)
    if have is None or oldest is None or have >= oldest:
        return None
    return too_old(because("engine", engine=env.engine), oldest, host)


def too_old(subject: Reason, oldest: int, host: Host) -> Obstacle:
    """The driver is older than the branch ``oldest``, which ``subject`` needs."""
    why = because("old-driver", what=subject, branch=oldest, driver=host.driver_version)
    return Obstacle("driver", why, (do("newer-driver", branch=oldest),))


def gpu_obstacles(device: Device, release: Release, first: GpuFloors | None) -> Iterator[Obstacle]:
    """What prevents the GPU from running ``release``; ``first`` is the row of its compute capability."""
    if release.compute_capability > device.compute_capability:
        why = because(
            "release-capability",
            release=release.tag,
            wanted=release.compute_capability,
            gpu=device.name,
            capability=device.compute_capability,
        )
        yield Obstacle("image", why, (do("older-release"), do("newer-gpu")))
    if first and release.cuda and version(release.cuda)[:2] < version(first.cuda):
        why = because(
            "release-cuda",
            capability=device.compute_capability,
            gpu=device.name,
            cuda=first.cuda,
            release=release.tag,
            has=version(release.cuda)[:2],
        )
        yield Obstacle("image", why, (do("newer-release"),))
