"""Processor, memory and the limits of control groups, from made-up /proc and /sys trees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wizard.probe import cgroups
from wizard.probe.cgroups import MemoryLimit
from wizard.probe.processor import cpu, memory

GIB = 1024**3
V2_MOUNT = "35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
V1_MOUNTS = (
    "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def v2(root: Path, group: str, files: dict[str, str]) -> Path:
    return tree(root, {"proc/self/cgroup": f"0::{group}\n", "proc/self/mountinfo": V2_MOUNT, **files})


def test_no_limits(tmp_path: Path) -> None:
    v2(tmp_path, "/", {"sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/memory.max": "max\n"})
    assert cgroups.cpu_quota(tmp_path) is None
    assert cgroups.memory_limit(tmp_path) is None


def test_nothing_to_read(tmp_path: Path) -> None:
    assert cgroups.cpu_quota(tmp_path) is None
    assert cgroups.memory_limit(tmp_path) is None
    assert memory(tmp_path) == (None, None)
    assert cpu(tmp_path).model is None


def test_an_outer_group_binds_an_inner_one(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/user.slice/job"
    v2(
        tmp_path,
        "/user.slice/job",
        {
            f"{group}/cpu.max": "400000 100000\n",
            "sys/fs/cgroup/user.slice/cpu.max": "150000 100000\n",
            f"{group}/memory.max": f"{8 * GIB}\n",
            f"{group}/memory.current": f"{3 * GIB}\n",
            f"{group}/memory.stat": f"anon 5\ninactive_file {1 * GIB}\n",
            "sys/fs/cgroup/user.slice/memory.max": f"{16 * GIB}\n",
            "sys/fs/cgroup/user.slice/memory.current": f"{15 * GIB}\n",
        },
    )
    assert cgroups.cpu_quota(tmp_path) == 1.5
    assert cgroups.memory_limit(tmp_path) == MemoryLimit(8 * GIB, 1 * GIB)


def test_version_1_in_a_container(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n",
            "proc/self/mountinfo": V1_MOUNTS,
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{4 * GIB}\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{2 * GIB}\n",
            "sys/fs/cgroup/memory/memory.stat": f"inactive_file 1\ntotal_inactive_file {1 * GIB}\n",
        },
    )
    assert cgroups.cpu_quota(tmp_path) == 0.5
    assert cgroups.memory_limit(tmp_path) == MemoryLimit(4 * GIB, 3 * GIB)


@pytest.mark.parametrize(("quota", "limit"), [("-1", "9223372036854771712"), ("junk", "junk"), ("", "")])
def test_version_1_without_limits(tmp_path: Path, quota: str, limit: str) -> None:
    tree(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/elsewhere\n3:cpu,cpuacct:/elsewhere\n",
            "proc/self/mountinfo": V1_MOUNTS + "garbage\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": quota,
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": limit,
        },
    )
    assert cgroups.cpu_quota(tmp_path) is None
    assert cgroups.memory_limit(tmp_path) is None


def test_memory_is_the_machines_or_the_limit_whichever_is_less(tmp_path: Path) -> None:
    meminfo = (
        f"MemTotal: {64 * GIB // 1024} kB\nMemFree: 1 kB\nMemAvailable: {60 * GIB // 1024} kB\nHugePages_Total: 0\n"
    )
    tree(tmp_path, {"proc/meminfo": meminfo})
    assert memory(tmp_path) == (64 * GIB, 60 * GIB)
    v2(tmp_path, "/", {"sys/fs/cgroup/memory.max": f"{8 * GIB}", "sys/fs/cgroup/memory.current": f"{GIB}"})
    assert memory(tmp_path) == (8 * GIB, 7 * GIB)


def test_processor_of_a_pc(tmp_path: Path) -> None:
    core = "model name\t: Some CPU @ 3 GHz\nflags\t\t: fpu sse4_2 avx2 fma made_up\n\n"
    tree(tmp_path, {"proc/cpuinfo": core + core.replace("Some", "Another")})
    processor = cpu(tmp_path)
    assert processor.model == "Some CPU @ 3 GHz"
    assert processor.flags == ("sse4_2", "avx2", "fma")
    assert processor.architecture == os.uname().machine
    assert processor.cores == len(os.sched_getaffinity(0))


def test_processor_of_an_arm_board(tmp_path: Path) -> None:
    tree(tmp_path, {"proc/cpuinfo": "processor: 0\nFeatures: fp asimd asimddp sve\n\nModel: Board 5\n"})
    assert cpu(tmp_path).model == "Board 5"
    assert cpu(tmp_path).flags == ("asimd", "asimddp", "sve")


def test_a_quota_below_one_core_leaves_one(tmp_path: Path) -> None:
    v2(tmp_path, "/", {"sys/fs/cgroup/cpu.max": "20000 100000"})
    assert cpu(tmp_path).cores == 1


def test_affinity_counts() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert cpu(Path("/")).cores == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_this_machine_has_memory() -> None:
    total, available = memory()
    assert total is not None
    assert available is not None
    assert 0 < available <= total
