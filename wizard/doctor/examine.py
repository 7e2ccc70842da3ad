"""All checks, and their findings on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from wizard.doctor.checks import containers, driver, gpus, hub, limits, machine, memory, network, storage
from wizard.doctor.facts import Facts
from wizard.doctor.finding import Finding
from wizard.kernel.paths import Workspace
from wizard.probe.host import Host

Group = Literal["gpu", "containers", "storage", "memory", "machine", "network", "hub"]


@dataclass(frozen=True, slots=True)
class Check:
    """A check.

    Attributes:
        name: Its name, with which the codes of its findings begin.
        group: What it is about.
        judge: Its finding for facts.
        quick: Whether it needs only the probe's host and files, so that the first screen can run it.
    """

    name: str
    group: Group
    judge: Callable[[Facts], Finding]
    quick: bool = True


CHECKS = (
    Check("driver", "gpu", driver.driver),
    Check("driver-versions", "gpu", driver.versions),
    Check("gpus", "gpu", driver.responding),
    Check("cuda-toolkit", "gpu", driver.toolkit),
    Check("mig", "gpu", gpus.mig),
    Check("ecc", "gpu", gpus.ecc, quick=False),
    Check("persistence", "gpu", gpus.persistence, quick=False),
    Check("throttling", "gpu", gpus.throttling, quick=False),
    Check("gpu-processes", "gpu", gpus.processes, quick=False),
    Check("docker", "containers", containers.docker),
    Check("podman", "containers", containers.podman),
    Check("gpu-containers", "containers", containers.gpus),
    Check("disk", "storage", storage.disk),
    Check("inodes", "storage", storage.inodes),
    Check("shm", "storage", storage.shared_memory),
    Check("memory", "memory", memory.memory),
    Check("swap", "memory", memory.swap),
    Check("cgroup-memory", "memory", memory.limited_memory),
    Check("cgroup-cpu", "memory", memory.limited_cpu),
    Check("cgroup-tasks", "memory", memory.limited_tasks),
    Check("nofile", "machine", limits.open_files, quick=False),
    Check("memlock", "machine", limits.locked_memory),
    Check("numa", "machine", machine.numa),
    Check("wsl2", "machine", machine.wsl),
    Check("ports", "network", network.ports, quick=False),
    Check("firewall", "network", network.firewall, quick=False),
    Check("proxy", "network", network.proxy),
    Check("dns", "hub", hub.names, quick=False),
    Check("certificates", "hub", hub.certificates, quick=False),
    Check("clock", "hub", hub.clock, quick=False),
    Check("hub", "hub", hub.hub, quick=False),
    Check("index", "hub", hub.index, quick=False),
    Check("token", "hub", hub.token, quick=False),
    Check("token-scope", "hub", hub.scope, quick=False),
    Check("gated", "hub", hub.gated, quick=False),
)
"""In the order in which they are shown."""


def examine(workspace: Workspace, host: Host, *, quick: bool = False, offline: bool = False) -> tuple[Finding, ...]:
    """The findings of all checks, or of the quick ones, which only read files."""
    from wizard.doctor.readers.kernel import kernel

    facts = Facts(host, kernel(workspace.root, os.environ), environment=dict(os.environ))
    return judged(facts if quick else _whole(facts, workspace, offline=offline), quick=quick)


def judged(facts: Facts, *, quick: bool = False) -> tuple[Finding, ...]:
    """The findings for ``facts``."""
    return tuple(check.judge(facts) for check in CHECKS if check.quick or not quick)


def _whole(facts: Facts, workspace: Workspace, *, offline: bool) -> Facts:
    from dataclasses import replace

    from wizard.doctor.readers.gpus import gpus as states
    from wizard.doctor.readers.internet import internet
    from wizard.doctor.readers.servers import servers
    from wizard.model.hub.access import offline_variable

    without = "--offline" if offline else offline_variable() or ""
    return replace(
        facts,
        gpus=states() if facts.host.gpus else (),
        servers=servers(workspace),
        offline=without,
        internet=None if without else internet(),
    )
