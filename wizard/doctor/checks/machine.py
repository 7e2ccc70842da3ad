"""NUMA and WSL 2."""

from __future__ import annotations

from wizard.doctor.facts import Facts
from wizard.doctor.finding import Finding, failed, inapplicable, passed, unknown, warned

_WINDOWS_DRIVES = ("9p", "drvfs")
"""Types of file systems by which WSL shows Windows' drives (learn.microsoft.com/windows/wsl/filesystems)."""


def numa(facts: Facts) -> Finding:
    """Memory that the kernel moves between nodes while GPUs copy from it (sysctl/kernel.rst, numa_balancing; NVIDIA's
    CUDA C++ best practices guide, "NUMA best practices").
    """
    kernel = facts.kernel
    if kernel.numa_nodes is None:
        return unknown("numa.unknown")
    if kernel.numa_nodes == 1:
        return inapplicable("numa.single")
    if kernel.numa_balancing is None:
        return unknown("numa.unreadable", nodes=kernel.numa_nodes)
    if kernel.numa_balancing and facts.host.gpus:
        command = "echo 0 | sudo tee /proc/sys/kernel/numa_balancing"
        return warned("numa.balancing", command, nodes=kernel.numa_nodes)
    return passed("numa.good", nodes=kernel.numa_nodes)


def wsl(facts: Facts) -> Finding:
    """WSL 2 uses Windows' driver: one for Linux hides it (docs.nvidia.com/cuda/wsl-user-guide)."""
    if not facts.host.system.wsl2:
        return inapplicable("wsl2.no")
    if facts.kernel.has_linux_driver_in_wsl:
        return failed("wsl2.linux-driver", "sudo apt-get purge 'nvidia-driver-*' 'libnvidia-*'")
    kind = facts.kernel.workspace_file_system
    if kind is None:
        return unknown("wsl2.unknown", path=facts.host.disk.path)
    if kind in _WINDOWS_DRIVES:
        return warned("wsl2.windows-drive", path=facts.host.disk.path)
    return passed("wsl2.good")
