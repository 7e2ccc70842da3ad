"""The facts that the checks judge. What could not be read is None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wizard.probe.cgroups import MemoryLimit
from wizard.probe.host import Host

if TYPE_CHECKING:
    from wizard.model.hub.account import Account

UNLIMITED = -1
"""A limit that is none (getrlimit(2), RLIM_INFINITY)."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much there is in all, and how much of it is left."""

    total: int
    free: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """From files under /proc, /sys and /etc, and the file systems."""

    module_version: str | None = None
    """Of the loaded NVIDIA kernel module."""
    library_version: str | None = None
    """Of the driver library on disk."""
    toolkit: str | None = None
    """Version of the CUDA toolkit; empty if none is installed, None if its version is not readable."""
    inodes: Room | None = None
    """Of the workspace's file system; a total of 0 if it has no fixed number of them."""
    shared_memory: Room | None = None
    """Bytes of /dev/shm; a total of 0 if there is none."""
    swap: Room | None = None
    """Bytes."""
    has_cgroups: bool = False
    """Whether this process's control groups are readable."""
    memory_limit: MemoryLimit | None = None
    cpu_quota: float | None = None
    tasks: Room | None = None
    """Processes and threads that the control group allows; None without a limit."""
    open_files: tuple[int, int] | None = None
    """Soft and hard limit of this process, or `UNLIMITED`."""
    locked_bytes: int | None = None
    """Memory that a process may lock, or `UNLIMITED`."""
    has_infiniband: bool = False
    numa_nodes: int | None = None
    numa_balancing: bool | None = None
    """Whether the kernel moves memory between nodes; None if that is not readable."""
    workspace_file_system: str | None = None
    """Its type, ``ext4``, ``9p``."""
    has_linux_driver_in_wsl: bool = False
    firewall: str = ""
    """``ufw`` or ``firewalld`` if one is installed."""
    is_firewall_active: bool | None = None


@dataclass(frozen=True, slots=True)
class GpuState:
    """What a `Host` does not describe of a GPU. A field that the GPU does not support is in ``unsupported``."""

    index: int
    ecc: tuple[bool, bool] | None = None
    """Whether ECC is on, and after the next reset."""
    uncorrected_errors: int | None = None
    """Since the driver was loaded."""
    remapping: tuple[bool, bool] | None = None
    """Whether a memory row is to be remapped at the next reset, and whether a remapping has failed."""
    mig: tuple[bool, bool] | None = None
    """Whether MIG is on, and after the next reset."""
    persistence: bool | None = None
    reduced: tuple[str, ...] | None = None
    """Why its clocks are lower than they can be, as `wizard.probe.live.REDUCED` names the reasons."""
    unsupported: tuple[str, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Field → why it is None."""


@dataclass(frozen=True, slots=True)
class OwnServers:
    """The servers that run in this workspace."""

    ports: Mapping[int, str] = field(default_factory=dict, hash=False)
    """Port → the server's name."""
    processes: frozenset[int] = frozenset()
    """IDs of their processes."""
    in_containers: tuple[str, ...] = ()
    """Names of those in containers, whose processes are not among these."""
    exposed: tuple[str, ...] = ()
    """Addresses at which other machines may reach them."""


@dataclass(frozen=True, slots=True)
class Response:
    """What an address on the network returned."""

    ok: bool | None = None
    """None if that could not be found out."""
    problem: str = ""
    """Why not, without secrets."""
    untrusted: bool = False
    """Whether its certificate was rejected."""
    clock_ahead_s: float | None = None
    """Seconds by which this machine's clock is ahead of the server's; None if it did not send its time."""


@dataclass(frozen=True, slots=True)
class Internet:
    """What was found out over the network.

    Attributes:
        endpoint: The Hub's address.
        proxied: Whether requests to the Hub use a proxy.
        names: The Hub's name was resolved.
        hub: The Hub's response.
        index: The package index's response to pip.
        has_token: Whether there is a token for the Hub.
        token: Whether the Hub accepts it.
        account: Its account, if so.
        gated: Gated model → whether the token may read it.
    """

    endpoint: str
    proxied: bool = False
    names: Response = Response()
    hub: Response = Response()
    index: Response = Response()
    has_token: bool = False
    token: Response = Response()
    account: Account | None = None
    gated: Mapping[str, bool | None] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that the checks judge.

    Attributes:
        host: The machine.
        kernel: Files and file systems.
        gpus: The GPUs' states; None in the quick part.
        servers: The wizard's own servers.
        environment: Variables of this process.
        offline: What turns the network off, ``HF_HUB_OFFLINE`` or ``--offline``; empty if nothing does.
        internet: What the network returned; None if it was not used.
    """

    host: Host
    kernel: Kernel = Kernel()
    gpus: tuple[GpuState, ...] | None = None
    servers: OwnServers = OwnServers()
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    offline: str = ""
    internet: Internet | None = None
