"""Environments: the contents and requirements of a stack's virtual environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from wizard.catalog import profiles, stacks


@dataclass(frozen=True, slots=True)
class Ptx:
    """GPUs without machine code in an engine, and the oldest driver that compiles its PTX for them."""

    compute_capability: tuple[int, int]
    driver: int


@dataclass(frozen=True, slots=True)
class Environment:
    """A file of ``profiles/environments``; sizes in bytes.

    A server environment has Triton, and the engine if both can be installed together. An engine environment has an
    engine and no Triton.
    """

    about: str
    pins: str
    """File with the pinned requirements, beside the TOML."""
    machine: str
    """The processor architecture that it was tested on, as the kernel names it."""
    glibc: str
    python_min: str
    python_max: str
    cpu_flags: tuple[str, ...]
    download_bytes: int
    """0 if unknown, also for the next field."""
    disk_bytes: int
    check: str
    """Python code that must run in it after creation."""
    triton: str = ""
    """Version of Triton; empty in an engine environment."""
    engine: str = ""
    """Name and version of the engine; empty if the engine has its own environment."""
    server_bytes: int = 0
    """Memory of the server without a model, if the CPU's memory breakdown counts it."""
    before: str = ""
    """Python code for the interpreter to run before any download; on failure it ends with a sentence about what is
    missing.
    """
    driver: int | None = None
    """Oldest branch of the NVIDIA driver that runs its CUDA; None if it has no CUDA."""
    needs: dict[str, str] = field(default_factory=dict)
    """Package → oldest version with which the engine program works in the user's Python, the engine first.

    Empty if the stack does not support a user's Python.
    """
    pythons: tuple[str, ...] = ()
    """The only Python versions that its wheels support; empty: all from `python_min` to `python_max`."""
    hashes: bool = True
    """Whether the pins list every package with its hashes; otherwise pip resolves the dependencies of the pinned
    ones.
    """
    untried: tuple[str, ...] = ()
    """Other architectures that the pins have wheels for, not tested."""
    compute_capability: tuple[int, int] = (0, 0)
    """Oldest GPU that it has code for."""
    ptx: Ptx | None = None
    """GPUs from which on it needs a newer driver; None if there are none."""
    older: str = ""
    """Name of the environment with an older engine, for drivers or GPUs that this one does not support."""
    index: str = ""
    """The publisher's own package index with `from_index`; empty if all packages are pinned."""
    from_index: tuple[str, ...] = ()
    """Requirements that are installed from `index` alone, without dependencies."""
    libraries: tuple[str, ...] = ()
    """Folders of its packages with libraries that its engine loads."""

    @property
    def name(self) -> str:
        """Its file's name without the suffix, which its pins have too."""
        return Path(self.pins).stem

    @property
    def machines(self) -> tuple[str, ...]:
        """All architectures that it can be installed on."""
        return (self.machine, *self.untried)

    @property
    def engine_name(self) -> str:
        """Name and version of the engine without the part in parentheses: ``vLLM 0.31.0``."""
        return self.engine.partition(" (")[0]

    @property
    def engine_version(self) -> str:
        """Version of the engine, or of the wheel that contains it: ``0.31.0`` of ``vLLM 0.31.0 (PyTorch …)``."""
        words = [word.strip("(),") for word in self.engine.split()]
        return next((word for word in words if word[:1].isdigit()), "")

    def oldest_driver(self, capability: tuple[int, int]) -> int | None:
        """Oldest branch of the driver for a GPU of ``capability``; None if any driver works."""
        return self.ptx.driver if self.ptx and capability >= self.ptx.compute_capability else self.driver


def environment(name: str) -> Environment:
    """The environment ``name``; ``"front"`` is the server environment for engines with their own environment.

    Raises:
        UsageError: TW-D01 if it is unknown, TW-D02 or TW-K01 if its file is damaged.
    """
    return profiles.load(Environment, profiles.find(f"environments/{name}.toml"))


def environment_of(stack: str) -> Environment:
    """The environment that serves ``stack`` natively, the one with the newest engine.

    Raises:
        ValueError: The stack is served from images only.
        UsageError: See `environment` and `wizard.catalog.stacks.facts`.
    """
    native = stacks.facts(stack).native
    if native is None:
        raise ValueError(f"{stack} is served from images only")
    return environment(native.environment)


def engines(stack: str) -> tuple[Environment, ...]:
    """The environments with the engine of ``stack``, the newest engine first.

    Raises:
        UsageError: TW-D01 if there is none, TW-D02 or TW-K01 if a file is damaged.
    """
    chain = [environment_of(stack)]
    while chain[-1].older:
        chain.append(environment(chain[-1].older))
    return tuple(chain)


def pins(environment: Environment) -> Path:
    """The environment's requirements file."""
    return profiles.find(f"environments/{environment.pins}")


def pinned(environment: Environment, package: str) -> str:
    """The version of ``package`` in the environment's requirements; empty if they do not name it."""
    path = pins(environment)
    return _requirements(path, path.stat().st_mtime_ns).get(package, "")


@lru_cache(maxsize=16)  # the advice asks for each setup
def _requirements(path: Path, _changed: int) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = (line.split()[0].partition("==") for line in lines if line[:1].isalnum())
    return {name: number for name, _, number in rows if number}
