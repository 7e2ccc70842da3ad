"""Whether a machine can run a server environment at all. Every "no" comes with its smallest remedy; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wizard.catalog.environments import Environment
from wizard.catalog.pythons import installed_by
from wizard.kernel.language import mark, tr
from wizard.probe.host import Host
from wizard.probe.interpreters import short, usable_interpreter


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why something cannot run here, and the smallest change that would let it."""

    code: str
    text: str
    remedy: str


OR = mark(", or ")
"""Stands between the ways of a remedy."""


def either(*ways: str) -> str:
    """A remedy of several ways, the easiest first: `wizard.advise.refusals.remedy_wishes` reads that one."""
    return tr(OR).join(ways)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def obstacles(host: Host, environment: Environment) -> list[Obstacle]:
    """Everything that keeps ``environment`` from running on ``host``; empty if it can."""
    found: list[Obstacle] = []
    if host.cpu.architecture not in environment.machines:
        wanted = ", ".join(environment.machines)
        found.append(
            Obstacle(
                "machine",
                tr(
                    "The server environment is for {wanted}; this machine is {machine}.",
                    wanted=wanted,
                    machine=host.cpu.architecture,
                ),
                tr("Use a Linux machine with such a processor: {machines}.", machines=wanted),
            )
        )
    libc = host.system.libc
    if libc is not None and not (libc.startswith("glibc") and _version(libc) >= _version(environment.glibc)):
        found.append(
            Obstacle(
                "libc",
                tr(
                    "Triton's wheel needs glibc {glibc} or newer; this system has {libc}.",
                    glibc=environment.glibc,
                    libc=libc,
                ),
                tr("Use a newer distribution (Ubuntu 22.04, Debian 12 or later), or a container of one."),
            )
        )
    missing = [flag for flag in environment.cpu_flags if host.cpu.flags and flag not in host.cpu.flags]
    if missing and host.cpu.architecture == environment.machine:
        found.append(
            Obstacle(
                "cpu",
                tr("The engine needs a processor with {flags}; this one has not.", flags=", ".join(missing)),
                tr("Use a machine with an Intel processor from 2013 (Haswell) or an AMD processor from 2017 (Zen) on."),
            )
        )
    if usable_interpreter(host) is None:
        found.append(Obstacle("python", *_no_interpreter(host, environment)))
    elif usable_interpreter(host, environment.pythons) is None:
        found.append(Obstacle("python", *_other_python(host, environment)))
    return found


def _other_python(host: Host, environment: Environment) -> tuple[str, str]:
    have = ", ".join(dict.fromkeys(short(one) for one in host.interpreters if one.usable))
    wanted = tr(" or ").join(environment.pythons)
    text = tr(
        "{engine} supports Python {wanted} only; here is {have}.",
        engine=environment.engine,
        wanted=wanted,
        have=have,
    )
    return text, tr("Install one: `uv python install {version}`.", version=environment.pythons[-1])


def _no_interpreter(host: Host, environment: Environment) -> tuple[str, str]:
    reasons = [
        f"{one.path} ({'.'.join(map(str, one.version))}): {one.why_not}" for one in host.interpreters if one.why_not
    ]
    low, high = environment.python_min, environment.python_max
    text = tr("Triton's Python backend needs a Python {low} to {high} with its shared library.", low=low, high=high)
    if reasons:
        text += " " + tr("Found: {reasons}.", reasons="; ".join(reasons))
    ways = [f"`{way}`" for way in (installed_by(host.system.name), f"uv python install {high}") if way]
    return text, tr("Install one: {ways}.", ways=either(*ways))
