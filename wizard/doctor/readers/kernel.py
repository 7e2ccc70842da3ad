"""Facts from files and file systems: no process is started, nothing waits.

Sources: NVIDIA's README, "Using the /proc File System Interface" (/proc/driver/nvidia/version), and the kernel's
Documentation/ABI/stable/sysfs-module (/sys/module/nvidia/version); proc(5) for /proc/self/limits, /proc/meminfo and
/proc/self/mountinfo; Documentation/admin-guide/sysctl/kernel.rst (numa_balancing) and mm/numaperf.rst (node folders);
ufw-framework(8) for ufw.conf; firewalld(1) for its process ID file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePath

from wizard.doctor.facts import UNLIMITED, Kernel, Room
from wizard.probe import cgroups, nvml_library, processor
from wizard.probe.cgroups import read as text_of

_MODULE = re.compile(r"NVRM version:.*?Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?)")
"""In /proc/driver/nvidia/version: ``NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct …``, or ``…
Open Kernel Module for x86_64  570.86.15  Release Build …``.
"""
_LIBRARY = re.compile(re.escape(nvml_library.NAME.removesuffix("1")) + r"(\d+\.\d+(?:\.\d+)?)")
_FOLDER = re.compile(r"cuda-(\d+\.\d+)")
_CUDA = re.compile(r"CUDA Version (\d+\.\d+)")


def kernel(workspace: Path, environment: Mapping[str, str], root: Path = Path("/")) -> Kernel:
    """Read them; ``root`` is the parent of /proc, /sys, /etc, /dev and /usr."""
    tasks = cgroups.tasks(root)
    firewall, active = _firewall(root)
    limits = _limits(root)
    open_files, locked = limits.get("Max open files"), limits.get("Max locked memory")
    return Kernel(
        module_version=_module_version(root),
        library_version=library_version(root),
        toolkit=_toolkit(environment, root),
        inodes=_inodes(workspace),
        shared_memory=_shared_memory(root / "dev/shm"),
        swap=_swap(root),
        has_cgroups=text_of(root / "proc/self/cgroup") is not None,
        memory_limit=cgroups.memory_limit(root),
        cpu_quota=cgroups.cpu_quota(root),
        tasks=Room(*tasks) if tasks else None,
        open_files=open_files,
        locked_bytes=locked[0] if locked else None,
        has_infiniband=any((root / "sys/class/infiniband").glob("*")),
        numa_nodes=len([*(root / "sys/devices/system/node").glob("node[0-9]*")]) or None,
        numa_balancing=_balancing(root),
        workspace_file_system=_file_system(workspace, root),
        has_linux_driver_in_wsl=(root / "usr/lib/wsl/lib").is_dir() and bool(_libraries(root, wsl=False)),
        firewall=firewall,
        is_firewall_active=active,
    )


def _module_version(root: Path) -> str | None:
    match = _MODULE.search(text_of(root / "proc/driver/nvidia/version") or "")
    return match[1] if match else (text_of(root / "sys/module/nvidia/version") or "").strip() or None


def library_version(root: Path = Path("/")) -> str | None:
    """The version in the name of the driver library's file; None if it has none, or folders have different ones."""
    matches = (_LIBRARY.fullmatch(path.resolve().name) for path in _libraries(root))
    versions = {match[1] for match in matches if match}
    return versions.pop() if len(versions) == 1 else None


def _libraries(root: Path, *, wsl: bool = True) -> list[Path]:
    folders = [folder for folder in nvml_library.FOLDERS if wsl or "wsl" not in folder]
    return [path for folder in folders if (path := root / folder / nvml_library.NAME).exists()]


def _toolkit(environment: Mapping[str, str], root: Path) -> str | None:
    """From version.json (CUDA 11.1 and later) or version.txt in the toolkit's folder, else from the folder's name."""
    named = environment.get("CUDA_HOME") or environment.get("CUDA_PATH")
    folder = Path(named) if named else root / "usr/local/cuda"
    if not (folder / "bin").is_dir():
        return ""
    try:
        return str(json.loads(text_of(folder / "version.json") or "")["cuda"]["version"])
    except (ValueError, KeyError, TypeError, RecursionError):
        match = _CUDA.search(text_of(folder / "version.txt") or "") or _FOLDER.fullmatch(folder.resolve().name)
        return match[1] if match else None


def _nearest(path: Path) -> Path:
    return next((each for each in (path, *path.parents) if os.access(each, os.F_OK)), Path("/"))


def _inodes(workspace: Path) -> Room | None:
    try:
        disk = os.statvfs(_nearest(workspace))
    except OSError:
        return None
    return Room(disk.f_files, disk.f_favail)


def _shared_memory(folder: Path) -> Room | None:
    try:
        disk = os.statvfs(folder)
    except FileNotFoundError:
        return Room(0, 0)
    except OSError:
        return None
    return Room(disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize)


def _swap(root: Path) -> Room | None:
    values = processor.meminfo(root)
    if "SwapTotal" not in values or "SwapFree" not in values:
        return None
    return Room(values["SwapTotal"], values["SwapFree"])


def _limits(root: Path) -> dict[str, tuple[int, int]]:
    """Name → soft and hard limit, as /proc/self/limits prints them in columns."""
    limits = {}
    for line in (text_of(root / "proc/self/limits") or "").splitlines():
        if match := re.match(r"(Max [a-z ]+?) {2,}(\d+|unlimited) +(\d+|unlimited)\b", line):
            soft, hard = (UNLIMITED if word == "unlimited" else int(word) for word in match.groups()[1:])
            limits[match[1]] = soft, hard
    return limits


def _balancing(root: Path) -> bool | None:
    mode = (text_of(root / "proc/sys/kernel/numa_balancing") or "").strip()
    return mode != "0" if mode.isdigit() else None


def _file_system(workspace: Path, root: Path) -> str | None:
    """The type of the mount that ``workspace`` is in: the last of those with the longest path."""
    place, best, kind = workspace.absolute(), -1, None
    for line in (text_of(root / "proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields, tail = before.split(), after.split()
        if len(fields) < 5 or not tail:
            continue
        mount = PurePath(fields[4].encode().decode("unicode_escape", "replace"))
        if place.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), tail[0]
    return kind


def _firewall(root: Path) -> tuple[str, bool | None]:
    """The firewall program, and whether it is on; without root's rights its rules are not readable."""
    if any((root / folder / "firewalld.pid").exists() for folder in ("run", "var/run")):
        return "firewalld", True
    settings = root / "etc/ufw/ufw.conf"
    if settings.exists():
        match = re.search(r"^\s*ENABLED\s*=\s*(yes|no)\b", text_of(settings) or "", re.MULTILINE | re.IGNORECASE)
        return "ufw", match[1].lower() == "yes" if match else None
    return "", None
