"""Every check with facts that pass, that do not, and that could not be read: the findings and their words."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.values import CPU_HOST, GIB
from wizard.doctor.examine import CHECKS, judged
from wizard.doctor.facts import UNLIMITED, Facts, GpuState, Internet, Kernel, OwnServers, Response, Room
from wizard.doctor.finding import Finding
from wizard.kernel.errors import HostError
from wizard.model.hub.account import Account
from wizard.probe import nvml_library
from wizard.probe.cgroups import MemoryLimit
from wizard.probe.host import HERE, ContainerEngine, GpuProcess, Host, MigSlice, Problem
from wizard.probe.shorthand import host as described
from wizard.texts.doctor.checks import GROUPS, TITLES, WHY
from wizard.texts.doctor.report import fix, text
from wizard.texts.doctor.sentences import TEXTS

GPU_HOST = replace(described("2xH100"), source=HERE)
SLICE = MigSlice("MIG-1", "1g.10gb", 10 * GIB)
DOCKER = GPU_HOST.engines[0]
PODMAN = ContainerEngine("podman", "5.0", "5.0", True)
BROKEN = ContainerEngine("docker", "28.0", None, None, "no permission to access the Docker socket", "rights")
CATATONIT = ContainerEngine("podman", "4.3.1", "4.3.1", False, "catatonit is missing", "init")
STATE = GpuState(
    0, (True, True), 0, (False, False), (False, False), persistence=True, reduced=("SwPowerCap",), unsupported=()
)
HUB = "https://huggingface.co"
GOOD = Response(True)
ONLINE = Internet(HUB, names=GOOD, hub=Response(True, clock_ahead_s=0.4), index=GOOD)
OWNER = Account("ada", "read")
LOGGED_IN = replace(ONLINE, has_token=True, token=GOOD, account=OWNER, gated={"a/b": True})
KERNEL = Kernel(has_cgroups=True, numa_nodes=1, toolkit="")


def problem(error: HostError) -> Problem:
    return Problem(error.code, error.what, error.todo)


MISMATCH = problem(nvml_library.unusable(nvml_library.VERSION_MISMATCH, ""))
NOT_LOADED = problem(nvml_library.unusable(nvml_library.DRIVER_NOT_LOADED, ""))
MISSING = Problem("TW-P01", "no driver library", "Install it.")
NONE = Problem("TW-P14", "no driver, no GPU", "No action needed.")


def cpu(**changes: Any) -> Facts:
    return Facts(replace(CPU_HOST, gpu_problem=NONE, **changes), KERNEL)


def gpu(**changes: Any) -> Facts:
    return Facts(replace(GPU_HOST, **changes), KERNEL, gpus=(STATE, replace(STATE, index=1)))


def lost(error: Problem, **kernel: Any) -> Facts:
    """A machine whose driver does not work."""
    host = replace(GPU_HOST, gpus=(), gpu_links=(), driver_version=None, cuda_driver_version=None, gpu_problem=error)
    return Facts(host, replace(KERNEL, **kernel), gpus=())


def kernel(facts: Facts | None = None, **changes: Any) -> Facts:
    facts = facts or cpu()
    return replace(facts, kernel=replace(facts.kernel, **changes))


def states(**changes: Any) -> Facts:
    """Two GPUs, of which the second has another state."""
    return replace(gpu(), gpus=(STATE, replace(STATE, index=1, **changes)))


def first_gpu(**changes: Any) -> Facts:
    return gpu(gpus=(replace(GPU_HOST.gpus[0], **changes), GPU_HOST.gpus[1]))


def net(internet: Internet = ONLINE, **changes: Any) -> Facts:
    return replace(cpu(), internet=replace(internet, **changes))


def container(kind: str, **changes: Any) -> Facts:
    return kernel(cpu(system=replace(CPU_HOST.system, container=kind)), **changes)


def wsl(**changes: Any) -> Facts:
    return kernel(cpu(system=replace(CPU_HOST.system, wsl2=True)), **changes)


HELD = (GpuProcess(77, "/usr/bin/python3", 3 * GIB),)
MINE = OwnServers({8000: "demo", 8001: "demo", 8002: "demo"}, frozenset({77}))
CASES: list[tuple[str, str, Facts]] = [
    ("pass", "driver.works", gpu()),
    ("fail", "driver.broken", lost(MISMATCH)),
    ("fail", "driver.broken", lost(NOT_LOADED)),
    ("fail", "driver.broken", lost(MISSING)),
    ("unknown", "driver.unknown", gpu(driver_version=None, unknown={"driver_version": "not supported"})),
    ("not_applicable", "driver.no-gpu", cpu()),
    ("pass", "driver-versions.same", gpu()),
    ("pass", "driver-versions.same", lost(MISSING, module_version="580.95.05", library_version="580.95.05")),
    ("fail", "driver-versions.differ", lost(MISMATCH, module_version="570.1", library_version="580.95.05")),
    ("fail", "driver-versions.differ", lost(NOT_LOADED, module_version="570.1", library_version="580.95.05")),
    ("unknown", "driver-versions.unknown", lost(NOT_LOADED, library_version="580.95.05")),
    ("not_applicable", "driver-versions.none", cpu()),
    ("pass", "gpus.respond", gpu()),
    ("fail", "gpus.silent", first_gpu(memory_total_bytes=None, unknown={"memory_total_bytes": "GPU is lost"})),
    ("warn", "gpus.none", gpu(gpus=())),
    ("unknown", "gpus.unreachable", lost(NOT_LOADED)),
    ("not_applicable", "gpus.no-gpu", cpu()),
    ("pass", "cuda-toolkit.fits", kernel(gpu(), toolkit="12.4.1")),
    ("warn", "cuda-toolkit.newer", kernel(gpu(cuda_driver_version="12.8"), toolkit="13.0")),
    ("unknown", "cuda-toolkit.unreadable", kernel(gpu(), toolkit=None)),
    ("unknown", "cuda-toolkit.no-driver", lost(NOT_LOADED, toolkit="12.4")),
    ("not_applicable", "cuda-toolkit.none", gpu()),
    ("not_applicable", "cuda-toolkit.no-gpu", kernel(toolkit="13.0")),
    ("pass", "mig.off", gpu()),
    ("pass", "mig.on", first_gpu(mig_enabled=True, mig_slices=(SLICE,))),
    ("fail", "mig.empty", first_gpu(mig_enabled=True)),
    ("warn", "mig.pending", states(mig=(False, True))),
    ("unknown", "mig.unknown", first_gpu(mig_enabled=None)),
    ("unknown", "mig.unreachable", lost(NOT_LOADED)),
    ("not_applicable", "mig.no-gpu", cpu()),
    ("pass", "ecc.on", gpu()),
    ("pass", "ecc.off", states(ecc=(False, False))),
    ("fail", "ecc.broken", states(remapping=(True, True))),
    ("fail", "ecc.errors", states(uncorrected_errors=2)),
    ("warn", "ecc.pending", states(remapping=(True, False))),
    ("warn", "ecc.pending", states(ecc=(True, False))),
    ("unknown", "ecc.unknown", states(ecc=None, unknown={"ecc": "GPU is lost"})),
    ("unknown", "ecc.unknown", states(uncorrected_errors=None)),
    ("unknown", "ecc.unknown", states(remapping=None, unknown={"remapping": "no permission"})),
    ("pass", "ecc.on", states(remapping=None, unsupported=("remapping",))),
    ("unknown", "ecc.unreachable", lost(NOT_LOADED)),
    ("not_applicable", "ecc.unsupported", replace(gpu(), gpus=(replace(STATE, ecc=None, unsupported=("ecc",)),))),
    ("pass", "persistence.on", gpu()),
    ("warn", "persistence.off", states(persistence=False)),
    ("unknown", "persistence.unknown", states(persistence=None)),
    ("pass", "throttling.none", gpu()),
    ("warn", "throttling.slow", states(reduced=("SwPowerCap", "HwThermalSlowdown"))),
    ("unknown", "throttling.unknown", states(reduced=None, unknown={"reduced": "no permission"})),
    ("pass", "gpu-processes.none", gpu()),
    ("pass", "gpu-processes.none", replace(first_gpu(processes=HELD), servers=MINE)),
    ("warn", "gpu-processes.others", first_gpu(processes=HELD)),
    ("warn", "gpu-processes.unsized", first_gpu(processes=(*HELD, GpuProcess(78, None, None)))),
    (
        "unknown",
        "gpu-processes.unclear",
        replace(first_gpu(processes=HELD), servers=OwnServers(in_containers=("demo",))),
    ),
    ("unknown", "gpu-processes.unknown", first_gpu(unknown={"processes": "not supported"})),
    ("pass", "docker.works", gpu()),
    ("fail", "docker.broken", gpu(engines=(BROKEN,))),
    ("fail", "docker.broken", gpu(engines=(CATATONIT, BROKEN))),
    ("warn", "docker.other-works", gpu(engines=(BROKEN, PODMAN))),
    ("warn", "docker.missing", gpu(engines=())),
    ("not_applicable", "docker.not-installed", gpu(engines=(PODMAN,))),
    ("not_applicable", "docker.no-gpu", cpu(engines=(BROKEN,))),
    ("pass", "podman.works", gpu(engines=(PODMAN,))),
    ("fail", "podman.broken", gpu(engines=(CATATONIT,))),
    ("warn", "podman.other-works", gpu(engines=(DOCKER, CATATONIT))),
    ("not_applicable", "podman.not-installed", gpu()),
    ("pass", "gpu-containers.work", gpu()),
    ("fail", "gpu-containers.none", gpu(engines=(replace(DOCKER, nvidia_runtime=False),))),
    ("unknown", "gpu-containers.unknown", gpu(engines=(replace(DOCKER, nvidia_runtime=None),))),
    ("not_applicable", "gpu-containers.no-engine", gpu(engines=(BROKEN,))),
    ("pass", "disk.enough", cpu()),
    ("warn", "disk.low", cpu(disk=replace(CPU_HOST.disk, free_bytes=9 * GIB))),
    ("fail", "disk.full", cpu(disk=replace(CPU_HOST.disk, free_bytes=GIB))),
    ("pass", "inodes.enough", kernel(inodes=Room(10**7, 10**6))),
    ("warn", "inodes.low", kernel(inodes=Room(10**7, 50_000))),
    ("fail", "inodes.none", kernel(inodes=Room(10**7, 0))),
    ("unknown", "inodes.unknown", cpu()),
    ("not_applicable", "inodes.dynamic", kernel(inodes=Room(0, 0))),
    ("pass", "shm.enough", kernel(shared_memory=Room(8 * GIB, 8 * GIB))),
    ("warn", "shm.low-host", kernel(shared_memory=Room(8 * GIB, GIB // 2))),
    ("fail", "shm.full-host", kernel(shared_memory=Room(8 * GIB, 0))),
    ("warn", "shm.low-container", container("docker", shared_memory=Room(GIB, GIB // 2))),
    ("fail", "shm.full-container", container("docker", shared_memory=Room(GIB // 16, GIB // 32))),
    ("fail", "shm.missing", kernel(shared_memory=Room(0, 0))),
    ("unknown", "shm.unknown", cpu()),
    ("pass", "memory.enough", cpu()),
    ("warn", "memory.low", cpu(memory_available_bytes=3 * GIB)),
    ("fail", "memory.none", cpu(memory_available_bytes=GIB // 2)),
    ("unknown", "memory.unknown", cpu(memory_available_bytes=None)),
    ("pass", "swap.none", kernel(swap=Room(0, 0))),
    ("pass", "swap.free", kernel(swap=Room(GIB, GIB))),
    ("warn", "swap.used", kernel(swap=Room(8 * GIB, 2 * GIB))),
    ("unknown", "swap.unknown", cpu()),
    ("pass", "cgroup-memory.enough", kernel(memory_limit=MemoryLimit(16 * GIB, 8 * GIB))),
    ("warn", "cgroup-memory.low", kernel(memory_limit=MemoryLimit(16 * GIB, 2 * GIB))),
    ("fail", "cgroup-memory.full", kernel(memory_limit=MemoryLimit(16 * GIB, 0))),
    ("unknown", "cgroup-memory.unknown", kernel(has_cgroups=False)),
    ("not_applicable", "cgroup-memory.none", cpu()),
    ("pass", "cgroup-cpu.enough", kernel(cpu_quota=8.0)),
    ("warn", "cgroup-cpu.low", kernel(cpu_quota=0.5)),
    ("unknown", "cgroup-cpu.unknown", kernel(has_cgroups=False)),
    ("not_applicable", "cgroup-cpu.none", cpu()),
    ("pass", "cgroup-tasks.enough", kernel(tasks=Room(4096, 4000))),
    ("warn", "cgroup-tasks.low", kernel(tasks=Room(256, 200))),
    ("unknown", "cgroup-tasks.unknown", kernel(has_cgroups=False)),
    ("not_applicable", "cgroup-tasks.none", cpu()),
    ("pass", "nofile.enough", kernel(open_files=(1024, 1_048_576))),
    ("pass", "nofile.unlimited", kernel(open_files=(1024, UNLIMITED))),
    ("warn", "nofile.low", kernel(open_files=(1024, 4096))),
    ("unknown", "nofile.unknown", cpu()),
    ("pass", "memlock.unlimited", kernel(has_infiniband=True, locked_bytes=UNLIMITED)),
    ("warn", "memlock.low", kernel(has_infiniband=True, locked_bytes=64 * 1024)),
    ("unknown", "memlock.unknown", kernel(has_infiniband=True)),
    ("not_applicable", "memlock.no-infiniband", kernel(locked_bytes=64 * 1024)),
    ("pass", "numa.good", kernel(gpu(), numa_nodes=2, numa_balancing=False)),
    ("pass", "numa.good", kernel(numa_nodes=2, numa_balancing=True)),
    ("warn", "numa.balancing", kernel(gpu(), numa_nodes=2, numa_balancing=True)),
    ("unknown", "numa.unknown", kernel(numa_nodes=None)),
    ("unknown", "numa.unreadable", kernel(numa_nodes=2)),
    ("not_applicable", "numa.single", cpu()),
    ("pass", "wsl2.good", wsl(workspace_file_system="ext4")),
    ("fail", "wsl2.linux-driver", wsl(workspace_file_system="ext4", has_linux_driver_in_wsl=True)),
    ("warn", "wsl2.windows-drive", wsl(workspace_file_system="9p")),
    ("unknown", "wsl2.unknown", wsl()),
    ("not_applicable", "wsl2.no", kernel(has_linux_driver_in_wsl=True)),
    ("pass", "ports.free", cpu()),
    ("pass", "ports.own", replace(cpu(busy_ports=(8000, 8001, 8002)), servers=MINE)),
    ("warn", "ports.busy", replace(cpu(busy_ports=(8000, 8001)), servers=OwnServers({8001: "demo"}))),
    ("pass", "firewall.off", kernel(firewall="ufw", is_firewall_active=False)),
    ("pass", "firewall.local", kernel(firewall="firewalld", is_firewall_active=True)),
    (
        "warn",
        "firewall.on",
        replace(
            kernel(firewall="ufw", is_firewall_active=True),
            servers=OwnServers(exposed=("0.0.0.0:8000", "https://10.0.0.1:9000/v1")),
        ),
    ),
    ("unknown", "firewall.unknown", replace(cpu(), servers=OwnServers(exposed=("0.0.0.0:8000",)))),
    ("not_applicable", "firewall.only-local", cpu()),
    (
        "pass",
        "proxy.set",
        replace(cpu(), environment={"https_proxy": "http://p:80", "no_proxy": "localhost,127.0.0.1"}),
    ),
    ("pass", "proxy.set", replace(cpu(), environment={"ALL_PROXY": "socks5h://p:1080", "NO_PROXY": "*"})),
    ("warn", "proxy.local", replace(cpu(), environment={"HTTPS_PROXY": "p:80", "NO_PROXY": "localhost"})),
    ("fail", "proxy.invalid", replace(cpu(), environment={"HTTPS_PROXY": "http://p:port"})),
    ("not_applicable", "proxy.none", cpu()),
    ("pass", "dns.responds", net()),
    ("fail", "dns.fails", net(names=Response(False, "Name or service not known"))),
    ("unknown", "dns.unknown", net(names=Response(None, "no response within 8 s"))),
    ("not_applicable", "dns.proxied", net(proxied=True)),
    ("pass", "certificates.trusted", net()),
    ("fail", "certificates.untrusted", net(hub=Response(False, "self-signed certificate", untrusted=True))),
    ("unknown", "certificates.unknown", net(hub=Response(None, "no response within 8 s"))),
    ("not_applicable", "certificates.no-tls", net(endpoint="http://mirror.example")),
    ("pass", "clock.right", net()),
    ("warn", "clock.ahead", net(hub=Response(True, clock_ahead_s=90))),
    ("fail", "clock.behind", net(hub=Response(True, clock_ahead_s=-4000))),
    ("unknown", "clock.unknown", net(hub=Response(True))),
    ("pass", "hub.responds", net()),
    ("fail", "hub.fails", net(hub=Response(False, "not the Hub's API (HTTP 200)"))),
    ("unknown", "hub.untrusted", net(hub=Response(False, "self-signed certificate", untrusted=True))),
    ("unknown", "hub.unknown", net(hub=Response(None, "no response within 8 s"))),
    ("unknown", "hub.not-found", net(names=Response(False, "x"), hub=Response(False, "Name or service not known"))),
    ("pass", "index.responds", net()),
    ("fail", "index.fails", net(index=Response(False, "No matching distribution found for pip"))),
    ("unknown", "index.unknown", net(index=Response(None, "No module named pip"))),
    ("pass", "token.valid", net(LOGGED_IN)),
    ("fail", "token.fails", net(LOGGED_IN, token=Response(False), account=None)),
    ("unknown", "token.unknown", net(LOGGED_IN, token=Response(None, "no response"), account=None)),
    ("not_applicable", "token.none", net()),
    ("pass", "token-scope.reads", net(LOGGED_IN)),
    ("pass", "token-scope.reads", net(LOGGED_IN, account=Account("ada", "fineGrained", True))),
    ("warn", "token-scope.write", net(LOGGED_IN, account=Account("ada", "write"))),
    ("warn", "token-scope.not-gated", net(LOGGED_IN, account=Account("ada", "fineGrained", False))),
    ("unknown", "token-scope.unknown", net(LOGGED_IN, account=Account("ada", ""))),
    ("not_applicable", "token-scope.none", net()),
    ("pass", "gated.all", net(LOGGED_IN)),
    ("pass", "gated.some", net(LOGGED_IN, gated={"a/b": True, "c/d": False})),
    ("warn", "gated.closed", net(LOGGED_IN, gated={"a/b": False, "c/d": False})),
    ("unknown", "gated.unknown", net(LOGGED_IN, gated={"a/b": True, "c/d": None})),
    ("not_applicable", "gated.none", net()),
]
"""Status, code, and facts for which the check has this finding."""
ALWAYS_KNOWN = {"docker", "podman", "disk", "ports", "proxy"}
"""Checks of facts that can always be read."""


def finding(check: str, facts: Facts) -> Finding:
    (judge,) = (each.judge for each in CHECKS if each.name == check)
    return judge(facts)


@pytest.mark.parametrize(("status", "code", "facts"), CASES, ids=[f"{code}-{status}" for status, code, _ in CASES])
def test_a_check(status: str, code: str, facts: Facts) -> None:
    check = code.partition(".")[0]
    (full,) = (each for each in judged(facts) if each.check == check)
    assert (full.code, full.status) == (code, status)
    assert text(full)
    assert not re.search(r"[{}]|None", text(full) + fix(full)), "a field that the finding lacks"
    assert bool(fix(full)) == (status in ("warn", "fail"))


def test_every_check_has_a_pass_a_problem_and_an_unknown_case() -> None:
    statuses = {
        check.name: {status for status, code, _ in CASES if code.startswith(f"{check.name}.")} for check in CHECKS
    }
    for name, seen in statuses.items():
        assert "pass" in seen, name
        assert seen & {"warn", "fail"}, name
        assert ("unknown" in seen) == (name not in ALWAYS_KNOWN), name


def test_every_text_is_of_a_finding_and_every_check_has_its_words() -> None:
    assert {*TEXTS} <= {code for _, code, _ in CASES}
    names = [check.name for check in CHECKS]
    assert [*TITLES] == [*WHY] == [name for group in GROUPS.values() for name in group] == names


def test_the_quick_part_needs_neither_gpus_nor_servers_nor_network() -> None:
    assert [each.code for each in judged(cpu(), quick=True)] == [
        each.code for each in judged(cpu()) if next(check for check in CHECKS if check.name == each.check).quick
    ]
    assert all(
        each.status != "unknown" for each in judged(cpu(), quick=True) if each.check in ("driver", "mig", "docker")
    )


def test_the_reason_is_that_of_the_gpu_that_does_not_report_it() -> None:
    assert text(finding("ecc", states(ecc=None, unknown={"ecc": "GPU is lost"}))) == "unknown: GPU is lost"


def test_offline_nothing_is_checked_on_the_network_and_the_reason_is_shown() -> None:
    facts = replace(cpu(), offline="HF_HUB_OFFLINE")
    network = [each for each in judged(facts) if each.code.endswith(".offline")]
    assert [each.check for each in network] == [*GROUPS["Hub and packages"]]
    assert {each.status for each in network} == {"not_applicable"}
    assert "HF_HUB_OFFLINE" in text(network[0])


def test_what_was_not_asked_is_unknown() -> None:
    assert {each.status for each in judged(cpu()) if each.check in GROUPS["Hub and packages"]} == {"unknown"}


@pytest.mark.parametrize(
    ("code", "facts", "commands"),
    [
        ("driver.broken", lost(MISMATCH), ("sudo reboot",)),
        ("driver.broken", lost(NOT_LOADED), ("sudo modprobe nvidia",)),
        ("driver-versions.differ", lost(MISMATCH, module_version="1.2", library_version="1.3"), ("sudo reboot",)),
        ("mig.empty", first_gpu(mig_enabled=True), ("sudo nvidia-smi -i 0 -mig 0",)),
        ("persistence.off", states(persistence=False), ("sudo nvidia-smi -pm 1",)),
        ("ports.busy", cpu(busy_ports=(8001,)), ("ss -ltnp 'sport = :8001'",)),
        (
            "proxy.local",
            replace(cpu(), environment={"HTTP_PROXY": "http://p:80", "NO_PROXY": "example.org"}),
            ("export NO_PROXY=example.org,127.0.0.1,localhost no_proxy=example.org,127.0.0.1,localhost",),
        ),
        ("token.fails", net(LOGGED_IN, token=Response(False), account=None), ("hf auth login",)),
        (
            "firewall.on",
            replace(
                kernel(firewall="firewalld", is_firewall_active=True),
                servers=OwnServers(exposed=("10.0.0.1:8000", "http://10.0.0.1:9000/v1")),
            ),
            ("sudo firewall-cmd --add-port=8000/tcp", "sudo firewall-cmd --add-port=9000/tcp"),
        ),
    ],
)
def test_the_commands_that_fix_it(code: str, facts: Facts, commands: tuple[str, ...]) -> None:
    (problem,) = (each for each in judged(facts) if each.code == code)
    assert problem.commands == commands


def test_the_commands_for_docker_podman_and_the_toolkit_are_those_of_prerequisites() -> None:
    debian = replace(GPU_HOST.system, name="Debian GNU/Linux 12 (bookworm)")
    assert finding("docker", gpu(engines=(BROKEN,))).commands[0].startswith("sudo usermod -aG docker")
    assert (
        finding("podman", gpu(engines=(CATATONIT,), system=debian)).commands[-1] == "sudo apt-get install -y catatonit"
    )
    toolkit = finding("gpu-containers", gpu(engines=(replace(DOCKER, nvidia_runtime=False),), system=debian))
    assert "sudo nvidia-ctk runtime configure --runtime=docker" in toolkit.commands


def test_a_container_gets_no_commands_that_would_change_its_host() -> None:
    assert (
        finding("docker", gpu(engines=(), system=replace(GPU_HOST.system, container="docker"))).status
        == "not_applicable"
    )
    missing = lost(MISSING)
    inside = replace(missing, host=replace(missing.host, system=replace(missing.host.system, container="docker")))
    assert finding("driver", missing).commands
    assert not finding("driver", inside).commands


def test_credentials_of_a_proxy_are_not_shown() -> None:
    for value in ("http://ada:secret@p:80", "http://ada:secret@p:port"):
        shown = finding("proxy", replace(cpu(), environment={"HTTPS_PROXY": value, "NO_PROXY": "*"}))
        assert "secret" not in f"{shown} {text(shown)}"


def test_every_host_has_a_finding_of_every_check() -> None:
    """Recorded machines and shorthands of all kinds."""
    hosts: list[Host] = [described(name) for name in ("1xL4", "8xB200", "1xGB10", "cpu")]
    for host in hosts:
        assert [each.check for each in judged(Facts(host))] == [check.name for check in CHECKS]
