"""Whether a machine can run a server environment at all. Every "no" comes with its smallest remedy; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wizard.catalog.environments import Environment
from wizard.probe.host import Host
from wizard.probe.interpreters import usable_interpreter


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why something cannot run here, and the smallest change that would let it."""

    code: str
    text: str
    remedy: str


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def obstacles(host: Host, environment: Environment) -> list[Obstacle]:
    """Everything that keeps ``environment`` from running on ``host``; empty if it can."""
    found: list[Obstacle] = []
    if host.cpu.architecture != environment.machine:
        found.append(
            Obstacle(
                "machine",
                f"The server environment is for {environment.machine}; this machine is {host.cpu.architecture}.",
                f"Use a {environment.machine} Linux machine.",
            )
        )
    libc = host.system.libc
    if libc is not None and not (libc.startswith("glibc") and _version(libc) >= _version(environment.glibc)):
        found.append(
            Obstacle(
                "libc",
                f"Triton's wheel needs glibc {environment.glibc} or newer; this system has {libc}.",
                "Use a newer distribution (Ubuntu 22.04, Debian 12 or later), or a container of one.",
            )
        )
    missing = [flag for flag in environment.cpu_flags if host.cpu.flags and flag not in host.cpu.flags]
    if missing and host.cpu.architecture == environment.machine:
        found.append(
            Obstacle(
                "cpu",
                f"The engine needs a processor with {', '.join(missing)}; this one has not.",
                "Use a machine with an Intel processor from 2013 (Haswell) or an AMD processor from 2017 (Zen) on.",
            )
        )
    if usable_interpreter(host) is None:
        found.append(Obstacle("python", *_no_interpreter(host, environment)))
    return found


def _no_interpreter(host: Host, environment: Environment) -> tuple[str, str]:
    reasons = [
        f"{one.path} ({'.'.join(map(str, one.version))}): {one.why_not}" for one in host.interpreters if one.why_not
    ]
    seen = " Found: " + "; ".join(reasons) + "." if reasons else ""
    low, high = environment.python_min, environment.python_max
    return (
        f"Triton's Python backend needs a Python {low} to {high} with its shared library.{seen}",
        f"Install one, e.g. `apt-get install libpython3.11 python3.11-venv` or `uv python install {high}`.",
    )
