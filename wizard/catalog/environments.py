"""Server environments: what a stack's virtual environment holds and what it asks of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wizard.catalog import profiles


@dataclass(frozen=True, slots=True)
class Environment:
    """One file of ``profiles/environments``; sizes in bytes."""

    about: str
    pins: str
    """File with the pinned requirements, beside the TOML."""
    triton: str
    engine: str
    machine: str
    glibc: str
    python_min: str
    python_max: str
    cpu_flags: tuple[str, ...]
    download_bytes: int
    disk_bytes: int
    server_bytes: int
    check: str
    """Python code that must run in it once it is made."""


def environment(stack: str) -> Environment:
    """The native environment of ``stack``.

    Raises:
        UsageError: TW-D01 if there is none, TW-D02 or TW-K01 if its file is damaged.
    """
    return profiles.load(Environment, profiles.find(f"environments/{stack}.toml"))


def pins(environment: Environment) -> Path:
    """The environment's requirements file."""
    return profiles.find(f"environments/{environment.pins}")
