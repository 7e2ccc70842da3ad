"""The operating system, the container that the wizard may run in, and the disk at the workspace."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from wizard.probe.cgroups import read
from wizard.probe.host import Disk, System


def system(root: Path = Path("/")) -> System:
    """Describe the operating system."""
    kernel = os.uname().release
    return System(
        name=_pretty_name(root) or os.uname().sysname,
        kernel=kernel,
        libc=_libc(root),
        wsl2=is_wsl2(kernel),
        container=container(root),
    )


def is_wsl2(kernel: str) -> bool:
    """Whether a kernel release is WSL 2's (``5.15.90.1-microsoft-standard-WSL2``; WSL 1 has ``…-Microsoft``)."""
    return "microsoft-standard" in kernel or "wsl2" in kernel.lower()


def container(root: Path = Path("/")) -> str | None:
    """The kind of container that this process runs in, or None.

    Checks Kubernetes' and Apptainer's variables, Podman's and Docker's marker files, systemd's
    ``/run/systemd/container`` and the variable ``container`` (systemd.io/CONTAINER_INTERFACE), and last the names
    of the control groups.
    """
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if os.environ.get("APPTAINER_NAME") or os.environ.get("SINGULARITY_NAME"):
        return "apptainer"
    if (root / "run/.containerenv").exists():
        return "podman"
    if (root / ".dockerenv").exists():
        return "docker"
    named = (read(root / "run/systemd/container") or os.environ.get("container", "")).strip()  # noqa: SIM112
    if named and named != "wsl":
        return named
    groups = read(root / "proc/self/cgroup") or ""
    marks = (("kubepods", "kubernetes"), ("libpod", "podman"), ("/docker", "docker"), ("/lxc", "lxc"))
    return next((kind for mark, kind in marks if mark in groups), None)


def _pretty_name(root: Path) -> str | None:
    for line in (read(root / "etc/os-release") or read(root / "usr/lib/os-release") or "").splitlines():
        name, _, value = line.partition("=")
        if name == "PRETTY_NAME":
            return value.strip().strip("\"'") or None
    return None


def _libc(root: Path) -> str | None:
    try:
        version = os.confstr("CS_GNU_LIBC_VERSION")
    except (ValueError, OSError):
        version = None
    if version:
        return version
    return "musl" if any((root / "lib").glob("ld-musl-*.so.1")) else None


def disk(workspace: Path) -> Disk:
    """The file system at ``workspace``, measured at its nearest existing and accessible parent."""
    folder = next((each for each in (workspace, *workspace.parents) if os.access(each, os.F_OK)), Path("/"))
    usage = shutil.disk_usage(folder)
    return Disk(str(folder), usage.total, usage.free)
