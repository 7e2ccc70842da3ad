"""The value of the first stage: a machine, described. What is unknown is None with a reason in ``unknown``, never 0."""

from __future__ import annotations

from dataclasses import dataclass, field

from wizard.kernel.language import mark

HERE = mark("this machine")
"""What a host of the machine that the wizard runs on has as its source, and a plan as its host."""
NO_GPU = "TW-P14"
"""Code of the problem that is none: no driver, and no NVIDIA GPU that would need one."""


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process that holds GPU memory."""

    pid: int
    name: str | None
    used_bytes: int | None


@dataclass(frozen=True, slots=True)
class MigSlice:
    """One MIG instance of a GPU."""

    uuid: str
    profile: str
    memory_total_bytes: int | None


@dataclass(frozen=True, slots=True)
class Gpu:
    """One NVIDIA GPU as NVML describes it."""

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
    """How two GPUs (indices ``a`` < ``b``) are connected, in the words of ``nvidia-smi topo -m``."""

    a: int
    b: int
    kind: str
    """``NV18`` (bonded NVLinks), ``PIX``, ``PXB``, ``PHB``, ``NODE``, ``SYS``."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """The processor as this process may use it."""

    model: str | None
    architecture: str
    """``x86_64``, ``aarch64``."""
    cores: int
    """Logical processors that this process may use (affinity and cgroup quota count)."""
    flags: tuple[str, ...] = ()
    """Instruction sets that engines ask for, of those in /proc/cpuinfo: avx2, fma, f16c, bmi2, avx512f, amx_tile …"""


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
    """``docker``, ``podman``, ``kubernetes``, ``lxc`` … when the wizard itself runs in one."""


@dataclass(frozen=True, slots=True)
class ContainerEngine:
    """docker or podman, as far as this user can use it."""

    name: str
    client_version: str | None
    server_version: str | None
    """None when the engine does not answer; ``problem`` says why."""
    nvidia_runtime: bool | None
    problem: str | None = None
    """Why it starts no containers."""
    obstacle: str | None = None
    """What kind of problem that is, where it is known: ``init`` (podman's helper is missing), ``rights``."""

    @property
    def works(self) -> bool:
        """Whether it answers and starts containers."""
        return self.server_version is not None and self.problem is None


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python interpreter on this machine and whether Triton's Python-backend stub can use it."""

    path: str
    version: tuple[int, int, int]
    libpython: str | None
    """Folder that holds its shared library ``libpython3.X.so.1.0``; None if it has none."""
    has_venv: bool
    usable: bool
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class EnginePython:
    """A Python of the user's with its engines, as its packages' own files describe them; nothing is imported."""

    path: str
    """As it was given or found. Its links stay: the link is what makes a virtual environment's Python its own."""
    version: tuple[int, int, int]
    prefix: str
    """Its ``sys.prefix``: the virtual or conda environment, or the installation."""
    packages: dict[str, str] = field(default_factory=dict)
    """Name → version, of those in `wizard.probe.engine_python.PACKAGES` that it has."""
    cuda: str | None = None
    """CUDA that its PyTorch was built for (``13.0``); None if PyTorch is missing or was built without."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a whole part of the probe gave nothing."""

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
    """Set when NVML as a whole could not be used: no library, no driver, versions that do not match."""
    driver_version: str | None = None
    cuda_driver_version: str | None = None
    """Newest CUDA that the driver can run, ``13.0``."""
    engines: tuple[ContainerEngine, ...] = ()
    interpreters: tuple[Interpreter, ...] = ()
    engine_pythons: tuple[EnginePython, ...] = ()
    """Pythons that have an engine: of the active environment, of the container that the wizard runs in, or named."""
    busy_ports: tuple[int, ...] = ()
    """Of Triton's default ports 8000, 8001 and 8002, those that somebody holds on 127.0.0.1."""
    source: str = HERE
    """`HERE`, or the recording's file name, or the shorthand."""
    unknown: dict[str, str] = field(default_factory=dict)

    @property
    def is_here(self) -> bool:
        """Whether this is the machine that the wizard runs on, and not a recording or a shorthand of another one."""
        return self.source == HERE

    @property
    def runs_triton(self) -> bool:
        """Whether Triton's Python backend finds an interpreter; other machines are planned for, and lack nothing."""
        return not self.is_here or any(interpreter.usable for interpreter in self.interpreters)
