"""The value of the first stage: a machine, described. What is unknown is None with a reason in ``unknown``, never 0."""

from __future__ import annotations

from dataclasses import dataclass, field

from wizard.kernel.language import mark

HERE = mark("this machine")
"""Source of a host that describes this machine, also in a plan."""
NO_GPU = "TW-P14"
"""Code of a problem that is harmless: no driver, and no NVIDIA GPU that would need one."""


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process that uses GPU memory."""

    pid: int
    name: str | None
    used_bytes: int | None


@dataclass(frozen=True, slots=True)
class MigSlice:
    """A MIG instance of a GPU."""

    uuid: str
    profile: str
    memory_total_bytes: int | None
    index: int | None = None
    """Its number on its GPU, as NVML and the names of CDI devices count; None in recordings from before it was read."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """An NVIDIA GPU as described by NVML."""

    index: int
    name: str
    uuid: str | None = None
    memory_total_bytes: int | None = None
    memory_free_bytes: int | None = None
    memory_is_shared_with_host: bool = False
    """True for unified-memory devices, whose figures above are the host's memory."""
    compute_capability: tuple[int, int] | None = None
    memory_bus_bits: int | None = None
    memory_clock_mhz: int | None = None
    sm_clock_mhz: int | None = None
    cuda_cores: int | None = None
    power_limit_watts: float | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    mig_enabled: bool | None = None
    mig_slices: tuple[MigSlice, ...] = ()
    processes: tuple[GpuProcess, ...] = ()
    unknown: dict[str, str] = field(default_factory=dict)
    """Field name → why it is None."""


@dataclass(frozen=True, slots=True)
class GpuLink:
    """The link between two GPUs (indices ``a`` < ``b``), in the words of ``nvidia-smi topo -m``."""

    a: int
    b: int
    kind: str
    """``NV18`` (bonded NVLinks), ``PIX``, ``PXB``, ``PHB``, ``NODE``, ``SYS``."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """The processor, with the limits of this process."""

    model: str | None
    architecture: str
    """``x86_64``, ``aarch64``."""
    cores: int
    """Logical processors available to this process (with affinity and cgroup quota)."""
    flags: tuple[str, ...] = ()
    """Instruction sets in /proc/cpuinfo that engines need: avx2, fma, f16c, bmi2, avx512f, amx_tile …"""


@dataclass(frozen=True, slots=True)
class Disk:
    """The file system at the workspace."""

    path: str
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class System:
    """The operating system."""

    name: str
    """Pretty name, ``Debian GNU/Linux 12 (bookworm)``."""
    kernel: str
    libc: str | None
    """``glibc 2.36``, ``musl``; None if unknown."""
    wsl2: bool = False
    container: str | None = None
    """``docker``, ``podman``, ``kubernetes``, ``lxc`` … if the wizard itself runs in one."""


@dataclass(frozen=True, slots=True)
class ContainerEngine:
    """docker or podman, with this user's access to it."""

    name: str
    client_version: str | None
    server_version: str | None
    """None if the engine does not respond; ``problem`` has the reason."""
    nvidia_runtime: bool | None
    problem: str | None = None
    """Why it cannot start containers."""
    obstacle: str | None = None
    """The kind of problem, if known: ``init`` (podman's helper is missing), ``rights``."""

    @property
    def works(self) -> bool:
        """Whether it responds and can start containers."""
        return self.server_version is not None and self.problem is None


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python interpreter on this machine and whether Triton's Python-backend stub can use it."""

    path: str
    version: tuple[int, int, int]
    libpython: str | None
    """Folder of its shared library ``libpython3.X.so.1.0``; None if it has none."""
    has_venv: bool
    usable: bool
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class EnginePython:
    """A user's Python with its engines, from its packages' metadata; nothing is imported."""

    path: str
    """As given or found, with unresolved links: the link identifies a virtual environment's Python."""
    version: tuple[int, int, int]
    prefix: str
    """Its ``sys.prefix``: the virtual or conda environment, or the installation."""
    packages: dict[str, str] = field(default_factory=dict)
    """Its packages among `wizard.probe.engine_python.PACKAGES`, name → version."""
    cuda: str | None = None
    """CUDA that its PyTorch was built for (``13.0``); None if PyTorch is missing or was built without."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a part of the probe failed as a whole."""

    code: str
    what: str
    todo: str


@dataclass(frozen=True, slots=True)
class Host:
    """A machine: this one, a recorded one (``--hardware host.json``) or a shorthand (``--hardware 4xA6000``)."""

    cpu: Cpu
    memory_total_bytes: int | None
    memory_available_bytes: int | None
    disk: Disk
    system: System
    gpus: tuple[Gpu, ...] = ()
    gpu_links: tuple[GpuLink, ...] = ()
    gpu_problem: Problem | None = None
    """Set if NVML as a whole is not usable: no library, no driver, mismatched versions."""
    other_gpus: tuple[str, ...] = ()
    """Vendors of GPUs that are not NVIDIA's, which are not used: ``AMD``, ``Intel``, ``Apple``."""
    driver_version: str | None = None
    cuda_driver_version: str | None = None
    """Newest CUDA that the driver supports, ``13.0``."""
    engines: tuple[ContainerEngine, ...] = ()
    interpreters: tuple[Interpreter, ...] = ()
    engine_pythons: tuple[EnginePython, ...] = ()
    """Pythons with an engine: of the active environment, of the container that the wizard runs in, or named."""
    busy_ports: tuple[int, ...] = ()
    """The ports among Triton's default ports 8000, 8001 and 8002 that are in use on 127.0.0.1."""
    source: str = HERE
    """`HERE`, or the recording's file name, or the shorthand."""
    unknown: dict[str, str] = field(default_factory=dict)

    @property
    def is_here(self) -> bool:
        """Whether this is the machine that the wizard runs on, not a recording or a shorthand of another one."""
        return self.source == HERE

    @property
    def runs_triton(self) -> bool:
        """Whether Triton's Python backend has a usable interpreter; always true for other machines, which are only
        planned for.
        """
        return not self.is_here or any(interpreter.usable for interpreter in self.interpreters)
