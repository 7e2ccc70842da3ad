"""Wheels of an environment's pins: which packages a Python on a machine needs, and which files suit it.

The rules are PyPA's: environment markers and platform compatibility tags, evaluated by ``packaging`` for the target
and not for the running Python (as ``pip download --python-version`` does with markers).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.catalog.environments import Environment, pins

if TYPE_CHECKING:
    from packaging.tags import Tag

_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_ALIASES = {5: "manylinux1", 12: "manylinux2010", 17: "manylinux2014"}
"""Minor version of glibc 2 → the older name of its tag (PEP 600)."""


@dataclass(frozen=True, slots=True)
class Target:
    """CPython ``python`` (``3.12``) on Linux with the processor ``machine``."""

    python: str
    machine: str

    def __str__(self) -> str:
        return f"Python {self.python} ({self.machine})"

    @property
    def tag(self) -> str:
        """The interpreter's tag: ``cp312``."""
        return "cp" + self.python.replace(".", "")

    def platforms(self, glibc: str) -> list[str]:
        """Tags of the platforms whose wheels it can use, for a ``glibc`` (``2.35``), the newest first."""
        newest = int(glibc.partition(".")[2])
        names = [
            name for minor in range(newest, 4, -1) for name in (f"manylinux_2_{minor}", _ALIASES.get(minor)) if name
        ]
        return [f"{name}_{self.machine}" for name in (*names, "linux")]

    def markers(self) -> dict[str, str]:
        """Values of environment markers that the pins may have."""
        return {
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "implementation_name": "cpython",
            "implementation_version": f"{self.python}.0",
            "platform_python_implementation": "CPython",
            "os_name": "posix",
            "sys_platform": "linux",
            "platform_system": "Linux",
            "platform_machine": self.machine,
        }


@dataclass(frozen=True, slots=True)
class Pin:
    """A package of an environment: ``text`` is its requirement with hashes and without a marker, in one line."""

    name: str
    version: str
    hashes: frozenset[str]
    text: str


def supports(environment: Environment, target: Target) -> bool:
    """Whether the environment can be installed with that Python on such a machine."""
    numbers = [
        tuple(map(int, text.split("."))) for text in (environment.python_min, target.python, environment.python_max)
    ]
    fits = numbers[0] <= numbers[1] <= numbers[2] and target.python in (environment.pythons or (target.python,))
    return fits and target.machine in environment.machines


def needed(environment: Environment, target: Target) -> tuple[Pin, ...]:
    """The packages that ``target`` needs, in the order of the pins.

    Raises:
        UsageError: TW-D01 if the pins are not installed.
    """
    path = pins(environment)
    return _needed(path, path.stat().st_mtime_ns, target)


@lru_cache(maxsize=32)
def _needed(path: Path, _changed: int, target: Target) -> tuple[Pin, ...]:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    text = re.sub(r"(?m)^#.*\n", "", path.read_text(encoding="utf-8")).replace("\\\n", " ")
    packages = []
    for line in filter(str.strip, text.splitlines()):
        requirement = Requirement(line.partition(" --hash")[0].strip())
        if requirement.marker is None or requirement.marker.evaluate(target.markers()):
            version = next(iter(requirement.specifier)).version
            hashes = _HASH.findall(line)
            bare = f"{requirement.name}=={version} " + " ".join(f"--hash=sha256:{digest}" for digest in hashes)
            packages.append(Pin(canonicalize_name(requirement.name), version, frozenset(hashes), bare))
    return tuple(packages)


@lru_cache(maxsize=32)
def _tags(target: Target, glibc: str) -> frozenset[Tag]:
    from packaging.tags import compatible_tags, cpython_tags

    major, minor = map(int, target.python.split("."))
    version, platforms = (major, minor), target.platforms(glibc)
    more = compatible_tags(version, target.tag, platforms)
    return frozenset([*cpython_tags(version, [target.tag], platforms), *more])


def suiting(pin: Pin, files: Iterable[Path], environment: Environment, target: Target) -> list[Path]:
    """The wheels among ``files`` of that version whose tags suit ``target``; their contents are not read."""
    return [path for path in files if _fits(path.name, pin.name, pin.version, target, environment.glibc)]


@lru_cache(maxsize=1 << 16)
def _fits(file: str, name: str, version: str, target: Target, glibc: str) -> bool:
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename
    from packaging.version import Version

    if not file.endswith(".whl"):
        return False
    try:
        its_name, its_version, _, tags = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return False
    return its_name == name and its_version == Version(version) and not tags.isdisjoint(_tags(target, glibc))


def complete(environment: Environment, target: Target, folder: Path) -> bool:
    """Whether ``folder`` has a wheel for every pin, judged by names: the installer compares the hashes."""
    if not environment.hashes or environment.from_index:
        return False
    files: dict[str, list[Path]] = {}
    for path in folder.glob("*.whl"):
        files.setdefault(path.name.partition("-")[0].lower().replace("_", "-").replace(".", "-"), []).append(path)
    return all(suiting(pin, files.get(pin.name, ()), environment, target) for pin in needed(environment, target))
