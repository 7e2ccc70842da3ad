"""Facts from files, of made-up /proc, /sys and /etc trees, and of this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.probe.test_processor import GIB, tree, v2
from wizard.doctor.facts import UNLIMITED, Kernel, Room
from wizard.doctor.readers.kernel import kernel, library_version
from wizard.probe import cgroups

PROPRIETARY = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n"
    "GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n"
)
OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder@U22)  Sun Jul 27\n"
    "GCC version:  gcc version 13.3.0\n"
)
LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max open files            1024                 1048576              files     \n"
    "Max locked memory         {locked:<20} {locked:<20} bytes     \n"
)
MOUNTS = (
    "22 1 8:2 / / rw,relatime - ext4 /dev/sda2 rw\n"
    "35 22 0:30 / /mnt/c rw,noatime - 9p drvfs rw\n"
    "36 22 0:31 / /srv/my\\040models rw - xfs /dev/sdb1 rw\n"
)


def read(root: Path, files: dict[str, str], workspace: str = "/home/ada/wizard", **environment: str) -> Kernel:
    return kernel(Path(workspace), environment, tree(root, files))


def test_a_machine_without_any_of_it(tmp_path: Path) -> None:
    facts = kernel(tmp_path / "not" / "yet", {}, tmp_path)
    disk = os.statvfs(tmp_path)
    assert facts.inodes is not None
    assert facts.inodes.total == disk.f_files
    assert facts.shared_memory == Room(0, 0)
    assert facts == Kernel(toolkit="", inodes=facts.inodes, shared_memory=Room(0, 0))


def test_this_machine() -> None:
    facts = kernel(Path.home(), os.environ)
    assert facts.has_cgroups
    assert facts.open_files is not None
    assert facts.swap is not None
    assert facts.shared_memory is not None
    assert facts.shared_memory.free <= facts.shared_memory.total
    assert facts.workspace_file_system


@pytest.mark.parametrize(("text", "version"), [(PROPRIETARY, "535.129.03"), (OPEN, "580.65.06")])
def test_the_version_of_the_kernel_module(tmp_path: Path, text: str, version: str) -> None:
    assert read(tmp_path, {"proc/driver/nvidia/version": text}).module_version == version


def test_the_version_of_the_kernel_module_without_its_proc_file(tmp_path: Path) -> None:
    assert read(tmp_path, {"sys/module/nvidia/version": "550.54.15\n"}).module_version == "550.54.15"


def test_the_version_of_the_library_is_in_its_files_name(tmp_path: Path) -> None:
    folder = tmp_path / "usr/lib/x86_64-linux-gnu"
    tree(tmp_path, {"usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.65.06": ""})
    (folder / "libnvidia-ml.so.1").symlink_to("libnvidia-ml.so.580.65.06")
    assert library_version(tmp_path) == "580.65.06"
    tree(tmp_path, {"usr/lib64/libnvidia-ml.so.535.1": ""})
    (tmp_path / "usr/lib64/libnvidia-ml.so.1").symlink_to("libnvidia-ml.so.535.1")
    assert library_version(tmp_path) is None, "which of them is loaded is not known"


def test_the_cuda_toolkit(tmp_path: Path) -> None:
    assert read(tmp_path, {"usr/local/cuda/bin/nvcc": ""}).toolkit is None
    version = json.dumps({"cuda": {"name": "CUDA SDK", "version": "12.4.1"}})
    assert read(tmp_path, {"usr/local/cuda/version.json": version}).toolkit == "12.4.1"
    assert read(tmp_path, {"usr/local/cuda/version.json": "[]"}).toolkit is None
    old = {"cuda-10.2/bin/nvcc": "", "cuda-10.2/version.txt": "CUDA Version 10.2.89\n"}
    assert read(tmp_path, old, CUDA_HOME=str(tmp_path / "cuda-10.2")).toolkit == "10.2"
    assert read(tmp_path, {"cuda-13.0/bin/nvcc": ""}, CUDA_PATH=str(tmp_path / "cuda-13.0")).toolkit == "13.0"


def test_limits_of_a_process(tmp_path: Path) -> None:
    facts = read(tmp_path, {"proc/self/limits": LIMITS.format(locked=65536), "sys/class/infiniband/mlx5_0/x": ""})
    assert (facts.open_files, facts.locked_bytes, facts.has_infiniband) == ((1024, 1_048_576), 65536, True)
    facts = read(tmp_path, {"proc/self/limits": LIMITS.format(locked="unlimited")})
    assert facts.locked_bytes == UNLIMITED


def test_swap(tmp_path: Path) -> None:
    assert read(tmp_path, {"proc/meminfo": "MemTotal: 100 kB\n"}).swap is None
    full = "MemTotal: 100 kB\nSwapTotal:     2048 kB\nSwapFree:      1024 kB\n"
    assert read(tmp_path, {"proc/meminfo": full}).swap == Room(2 << 20, 1 << 20)


def test_limits_of_control_groups_of_version_2(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/job"
    files = {
        f"{group}/memory.max": f"{8 * GIB}\n",
        f"{group}/memory.current": f"{2 * GIB}\n",
        f"{group}/cpu.max": "150000 100000\n",
        f"{group}/pids.max": "max\n",
        "sys/fs/cgroup/pids.max": "300\n",
        "sys/fs/cgroup/pids.current": "120\n",
    }
    facts = kernel(tmp_path, {}, v2(tmp_path, "/job", files))
    assert facts.has_cgroups
    assert (facts.cpu_quota, facts.tasks) == (1.5, Room(300, 180))
    assert facts.memory_limit == cgroups.MemoryLimit(8 * GIB, 6 * GIB)


def test_limits_of_control_groups_of_version_1(tmp_path: Path) -> None:
    mount = "40 31 0:40 /docker/abc /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    tree(
        tmp_path,
        {
            "proc/self/cgroup": "5:pids:/docker/abc\n",
            "proc/self/mountinfo": mount,
            "sys/fs/cgroup/pids/pids.max": "64\n",
            "sys/fs/cgroup/pids/pids.current": "70\n",
        },
    )
    assert cgroups.tasks(tmp_path) == (64, 0)


def test_numa(tmp_path: Path) -> None:
    nodes = {"sys/devices/system/node/node0/cpulist": "", "sys/devices/system/node/node1/cpulist": ""}
    facts = read(tmp_path, {**nodes, "sys/devices/system/node/online": "0-1\n"})
    assert (facts.numa_nodes, facts.numa_balancing) == (2, None)
    assert read(tmp_path, {"proc/sys/kernel/numa_balancing": "1\n"}).numa_balancing is True
    assert read(tmp_path, {"proc/sys/kernel/numa_balancing": "0\n"}).numa_balancing is False


@pytest.mark.parametrize(
    ("workspace", "kind"),
    [("/home/ada/wizard", "ext4"), ("/mnt/c/Users/ada", "9p"), ("/srv/my models/x", "xfs"), ("/mnt/copy", "ext4")],
)
def test_the_file_system_of_the_workspace(tmp_path: Path, workspace: str, kind: str) -> None:
    assert read(tmp_path, {"proc/self/mountinfo": MOUNTS}, workspace).workspace_file_system == kind


def test_a_driver_for_linux_in_wsl(tmp_path: Path) -> None:
    assert not read(tmp_path, {"usr/lib/wsl/lib/libnvidia-ml.so.1": ""}).has_linux_driver_in_wsl
    assert read(tmp_path, {"usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": ""}).has_linux_driver_in_wsl


def test_firewalls(tmp_path: Path) -> None:
    def firewall(files: dict[str, str]) -> tuple[str, bool | None]:
        facts = read(tmp_path, files)
        return facts.firewall, facts.is_firewall_active

    assert firewall({}) == ("", None)
    assert firewall({"etc/ufw/ufw.conf": "# ENABLED=yes\n"}) == ("ufw", None)
    assert firewall({"etc/ufw/ufw.conf": "ENABLED=no\nLOGLEVEL=low\n"}) == ("ufw", False)
    assert firewall({"etc/ufw/ufw.conf": "ENABLED=yes\n"}) == ("ufw", True)
    assert firewall({"run/firewalld.pid": "7\n"}) == ("firewalld", True)
