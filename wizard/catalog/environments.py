"""Environments: what a stack's virtual environment holds and what it asks of the machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from wizard.catalog import profiles, stacks


@dataclass(frozen=True, slots=True)
class Ptx:
    """GPUs that an engine has no machine code for, and the oldest driver that compiles its PTX for them."""

    compute_capability: tuple[int, int]
    driver: int


@dataclass(frozen=True, slots=True)
class Environment:
    """One file of ``profiles/environments``; sizes in bytes.

    A server environment holds Triton, and the engine where both can live together. An engine environment holds an
    engine and no Triton.
    """

    about: str
    pins: str
    """File with the pinned requirements, beside the TOML."""
    machine: str
    """The processor's architecture that it was tried on, as the kernel names it."""
    glibc: str
    python_min: str
    python_max: str
    cpu_flags: tuple[str, ...]
    download_bytes: int
    """0 if it is not known, and so for the next."""
    disk_bytes: int
    check: str
    """Python code that must run in it once it is made."""
    triton: str = ""
    """Version of Triton; empty in an engine environment."""
    engine: str = ""
    """Name and version of the engine; empty where it has an environment of its own."""
    server_bytes: int = 0
    """Memory of the server without a model, where the CPU's bill counts it."""
    before: str = ""
    """Python code that the interpreter must run before anything is fetched; it ends with a sentence on what lacks."""
    driver: int | None = None
    """Oldest branch of the NVIDIA driver that its CUDA runs on; None if it has none."""
    needs: dict[str, str] = field(default_factory=dict)
    """Package → oldest version with which the engine's program works in a Python of the user's, the engine first.

    Without any, the stack takes no Python of the user's.
    """
    pythons: tuple[str, ...] = ()
    """The only versions of Python that its wheels are for; empty: all from `python_min` to `python_max`."""
    hashes: bool = True
    """Whether the pins name every package with its hashes; otherwise pip resolves what the pinned ones need."""
    untried: tuple[str, ...] = ()
    """Further architectures that the pins have wheels for, and on which it was never measured."""
    compute_capability: tuple[int, int] = (0, 0)
    """Oldest GPU that it has code for."""
    ptx: Ptx | None = None
    """GPUs from which on it takes a newer driver; None if there are none."""
    older: str = ""
    """Name of the environment with an older engine for drivers or GPUs that this one does not run on."""

    @property
    def name(self) -> str:
        """Its file's name without the ending, which its pins have too."""
        return Path(self.pins).stem

    @property
    def machines(self) -> tuple[str, ...]:
        """Every architecture that it can be installed on."""
        return (self.machine, *self.untried)

    @property
    def engine_name(self) -> str:
        """Name and version of the engine without what is in brackets: ``vLLM 0.31.0``."""
        return self.engine.partition(" (")[0]

    def oldest_driver(self, capability: tuple[int, int]) -> int | None:
        """Oldest branch of the driver for a GPU of ``capability``; None if any will do."""
        return self.ptx.driver if self.ptx and capability >= self.ptx.compute_capability else self.driver


def environment(name: str) -> Environment:
    """The environment ``name``: ``front`` is the server's where the engine has its own.

    Raises:
        UsageError: TW-D01 if there is none, TW-D02 or TW-K01 if its file is damaged.
    """
    return profiles.load(Environment, profiles.find(f"environments/{name}.toml"))


def environment_of(stack: str) -> Environment:
    """The environment that serves ``stack`` natively, the one with the newest engine.

    Raises:
        ValueError: It is served from images only.
        UsageError: As `environment` and `wizard.catalog.stacks.facts`.
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
