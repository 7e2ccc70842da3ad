"""All checks, and their findings on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from wizard.catalog.failures import failures
from wizard.doctor.checks import containers, driver, gpus, hub, limits, machine, memory, network, storage
from wizard.doctor.facts import Facts
from wizard.doctor.finding import Finding
from wizard.kernel.paths import Workspace
from wizard.probe.host import Host


@dataclass(frozen=True, slots=True)
class Check:
    """A check.

    Attributes:
        name: Its name, with which the codes of its findings begin.
        judge: Its finding for facts.
        quick: Whether it needs only the probe's host and files, so that the first screen can run it.
    """

    name: str
    judge: Callable[[Facts], Finding]
    quick: bool = True


CHECKS = (
    Check("driver", driver.driver),
    Check("driver-versions", driver.versions),
    Check("gpus", driver.responding),
    Check("cuda-toolkit", driver.toolkit),
    Check("mig", gpus.mig),
    Check("ecc", gpus.ecc, quick=False),
    Check("persistence", gpus.persistence, quick=False),
    Check("throttling", gpus.throttling, quick=False),
    Check("gpu-processes", gpus.processes, quick=False),
    Check("docker", containers.docker),
    Check("podman", containers.podman),
    Check("gpu-containers", containers.gpus),
    Check("disk", storage.disk),
    Check("inodes", storage.inodes),
    Check("shm", storage.shared_memory),
    Check("memory", memory.memory),
    Check("swap", memory.swap),
    Check("cgroup-memory", memory.limited_memory),
    Check("cgroup-cpu", memory.limited_cpu),
    Check("cgroup-tasks", memory.limited_tasks),
    Check("nofile", limits.open_files, quick=False),
    Check("memlock", limits.locked_memory),
    Check("numa", machine.numa),
    Check("wsl2", machine.wsl),
    Check("ports", network.ports, quick=False),
    Check("firewall", network.firewall, quick=False),
    Check("proxy", network.proxy),
    Check("dns", hub.names, quick=False),
    Check("certificates", hub.certificates, quick=False),
    Check("clock", hub.clock, quick=False),
    Check("hub", hub.hub, quick=False),
    Check("index", hub.index, quick=False),
    Check("token", hub.token, quick=False),
    Check("token-scope", hub.scope, quick=False),
    Check("gated", hub.gated, quick=False),
)
"""In the order of the report."""


def examine(workspace: Workspace, host: Host, *, quick: bool = False, offline: bool = False) -> tuple[Finding, ...]:
    """The findings of all checks, or of the quick ones, which only read files."""
    from wizard.doctor.readers.kernel import kernel

    facts = Facts(host, kernel(workspace.root, os.environ), environment=dict(os.environ))
    return judged(facts if quick else _whole(facts, workspace, offline=offline), quick=quick)


def judged(facts: Facts, *, quick: bool = False) -> tuple[Finding, ...]:
    """The findings for ``facts``."""
    return tuple(_with_command(check.judge(facts)) for check in CHECKS if check.quick or not quick)


def _with_command(finding: Finding) -> Finding:
    """With the command of the failure that it is, unless it has its own."""
    if not finding.known or finding.commands:
        return finding
    command = failures()[finding.known].command
    return replace(finding, commands=(command,) if command else ())


def _whole(facts: Facts, workspace: Workspace, *, offline: bool) -> Facts:
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
