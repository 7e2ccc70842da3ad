"""Whether a machine can run a server environment at all. Every "no" has its smallest remedy. Pure."""

from __future__ import annotations

import re

from wizard.advise.reasons import Obstacle, because, do
from wizard.catalog.environments import Environment
from wizard.catalog.pythons import installed_by
from wizard.probe.host import Host
from wizard.probe.interpreters import short, usable_interpreter


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:2])


def obstacles(host: Host, environment: Environment) -> list[Obstacle]:
    """Everything that prevents ``environment`` from running on ``host``; empty if it can."""
    barriers: list[Obstacle] = []
    if host.cpu.architecture not in environment.machines:
        why = because("processor", wanted=environment.machines, machine=host.cpu.architecture)
        barriers.append(Obstacle("machine", why, (do("other-processor", machines=environment.machines),)))
    libc = host.system.libc
    if libc is not None and not (libc.startswith("glibc") and _version(libc) >= _version(environment.glibc)):
        why = because("libc", glibc=environment.glibc, libc=libc)
        barriers.append(Obstacle("libc", why, (do("newer-distribution"),)))
    missing = tuple(flag for flag in environment.cpu_flags if host.cpu.flags and flag not in host.cpu.flags)
    if missing and host.cpu.architecture == environment.machine:
        barriers.append(Obstacle("cpu", because("cpu-flags", flags=missing), (do("newer-processor"),)))
    if usable_interpreter(host) is None:
        barriers.append(_no_interpreter(host, environment))
    elif usable_interpreter(host, environment.pythons) is None:
        barriers.append(_other_python(host, environment))
    return barriers


def _other_python(host: Host, environment: Environment) -> Obstacle:
    have = tuple(dict.fromkeys(short(interpreter) for interpreter in host.interpreters if interpreter.usable))
    why = because("other-python", engine=environment.engine, wanted=environment.pythons, have=have)
    return Obstacle("python", why, (do("install-python", version=environment.pythons[-1]),))


def _no_interpreter(host: Host, environment: Environment) -> Obstacle:
    unusable = tuple(
        because("python-why-not", path=interpreter.path, version=interpreter.version, why=interpreter.why_not)
        for interpreter in host.interpreters
        if interpreter.why_not
    )
    low, high = environment.python_min, environment.python_max
    commands = tuple(command for command in (installed_by(host.system.name), f"uv python install {high}") if command)
    why = because("no-python", low=low, high=high, unusable=unusable)
    return Obstacle("python", why, (do("install-python-by", ways=commands),))
