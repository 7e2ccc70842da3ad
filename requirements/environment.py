"""Pin a server environment: every package with the hashes of the wheels that this platform can use, and their sizes.

    python requirements/environment.py FILE [--oldest=3.11] [--without=NAME] [--no-deps] REQUIREMENT...

`uv pip compile` resolves for CPython 3.10 (or another oldest version) to 3.12 on Linux x86_64 at once. Of the many
files of a release only those wheels are kept that pip could choose there. The sizes are those of the files themselves
for CPython 3.12: what the index says of their length (`download_bytes`), and what the wheels' own directories of
contents say that they unpack to (`disk_bytes`), which are read by ranged requests, so that nothing large is fetched.
Also printed: the newest glibc that a wheel's tag asks for. ``--without`` leaves out a dependency, such as one that has
no wheel and is not imported.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import Request, urlopen

INDEX = (os.environ.get("UV_INDEX_URL") or os.environ.get("PIP_INDEX_URL") or "").rstrip("/")
"""The package index that pip or uv is told to use; without one of the two variables nothing is found."""
PROJECT = """
[project]
name = "environment"
version = "0"
requires-python = ">={oldest},<3.13"
[tool.uv]
environments = ["sys_platform == 'linux' and platform_machine == 'x86_64' and python_version < '3.13'"]
override-dependencies = {without}
"""
EVERYWHERE = ("python_full_version < '3.13'", "platform_machine == 'x86_64'", "sys_platform == 'linux'")
PYTHONS = ("310", "311", "312")
LINK = re.compile(r'<a href="([^"#]+)#sha256=([0-9a-f]{64})"')
TAIL = 1 << 20
"""Bytes at a wheel's end that hold its directory, nearly always."""


@dataclass(frozen=True)
class Wheel:
    """One file of a release."""

    url: str
    sha256: str

    @property
    def name(self) -> str:
        """The file's name."""
        return self.url.rsplit("/", 1)[-1]

    @property
    def tags(self) -> tuple[str, str, str]:
        """Python, ABI and platform, as in its name."""
        python, abi, platform = self.name.removesuffix(".whl").split("-")[-3:]
        return python, abi, platform

    @property
    def glibc(self) -> tuple[int, int]:
        """The oldest glibc that one of its tags is content with."""
        aliases = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
        versions = [(2, int(minor)) for minor in re.findall(r"manylinux_2_(\d+)_x86_64", self.tags[2])]
        versions += [version for alias, version in aliases.items() if f"{alias}_x86_64" in self.tags[2]]
        return min(versions, default=(2, 5))

    def suits(self, python: str) -> bool:
        """Whether CPython ``python`` (``312``) on Linux x86_64 can use it."""
        pythons, abi, platform = self.tags
        if not (platform == "any" or ("manylinux" in platform and "x86_64" in platform) or platform == "linux_x86_64"):
            return False
        if abi == "abi3":
            return any(int(version) <= int(python) for version in re.findall(r"cp(\d{2,3})", pythons))
        if abi == "none":
            return any(re.fullmatch(rf"py3\d*|cp{python}", word) for word in pythons.split("."))
        return f"cp{python}" in pythons.split(".") and abi == f"cp{python}"


def fetch(url: str, start: str = "") -> bytes:
    """GET, or a part of it."""
    headers = {"Range": f"bytes={start}"} if start else {}
    with urlopen(Request(url, headers=headers), timeout=60) as answer:
        return bytes(answer.read())


def wheels(package: str, version: str) -> list[Wheel]:
    """Those of a release that one of the Pythons can use."""
    name = re.sub(r"[-_.]+", "-", package).lower()
    page = f"{INDEX}/{name}/"
    listed = [Wheel(urljoin(page, url), digest) for url, digest in LINK.findall(fetch(page).decode())]
    wanted = f"-{version}-"
    mine = [wheel for wheel in listed if wheel.name.endswith(".whl") and wanted in wheel.name.replace("%2B", "+")]
    return [wheel for wheel in mine if any(wheel.suits(python) for python in PYTHONS)]


def sizes(wheel: Wheel) -> tuple[int, int]:
    """Bytes of the file, and of what it unpacks to."""
    with urlopen(Request(wheel.url, method="HEAD"), timeout=60) as answer:
        length = int(answer.headers["Content-Length"])
    tail = min(TAIL, length)
    while True:
        data = fetch(wheel.url, f"{length - tail}-{length - 1}")
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return length, sum(entry.file_size for entry in archive.infolist())
        except zipfile.BadZipFile:  # its directory is longer
            if tail == length:
                raise
            tail = min(8 * tail, length)


def compiled(requirements: list[str], oldest: str, without: list[str]) -> list[tuple[str, str, str]]:
    """(package, version, marker) of everything that the requirements need, ``without`` some."""
    flags = f"--universal --python-version {oldest} --only-binary :all: --no-annotate --no-header --no-emit-index-url"
    never = [f"{name} ; python_version < '3'" for name in without]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pyproject.toml").write_text(PROJECT.format(oldest=oldest, without=never))
        Path(folder, "in").write_text(
            "\n".join(requirement for requirement in requirements if not requirement.startswith("--"))
        )
        more = [requirement for requirement in requirements if requirement.startswith("--")]
        argv = ["uv", "pip", "compile", "--quiet", *flags.split(), *more, "in"]
        lines = subprocess.run(argv, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    rows = []
    for line in lines:
        if match := re.match(r"([\w.-]+)(?:\[[^]]*\])?==(\S+)(?: ; (.*))?", line):
            parts = [part for part in (match[3] or "").split(" and ") if part not in ("", *EVERYWHERE)]
            rows.append((match[1], match[2], " and ".join(parts)))
    return rows


def newest_python(marker: str) -> bool:
    """Whether a marker holds for Python 3.12; uv writes only comparisons of ``python_full_version``."""
    environment = {"python_full_version": (3, 12)}
    for sign, version in re.findall(r"python_full_version (<|>=|==) '([\d.]+)", marker):
        wanted = tuple(int(part) for part in version.strip(".").split("."))
        have = environment["python_full_version"]
        if not {"<": have < wanted, ">=": have >= wanted, "==": have == wanted[:2]}[sign]:
            return False
    return True


def main(file: Path, requirements: list[str]) -> None:
    """Write the pins after the comment that the file begins with, and print the sizes."""
    if not INDEX:
        raise SystemExit("Set UV_INDEX_URL to the package index: its files' lengths and hashes are read there.")
    if shutil.which("uv") is None:
        raise SystemExit(
            "uv is not on PATH: `pip install uv` in a virtual environment, and put its bin folder on PATH."
        )
    oldest_python = next((each.partition("=")[2] for each in requirements if each.startswith("--oldest=")), "3.10")
    without = [each.partition("=")[2] for each in requirements if each.startswith("--without=")]
    wanted = [each for each in requirements if not each.startswith(("--oldest=", "--without="))]
    packages = compiled(wanted, oldest_python, without)
    with ThreadPoolExecutor(8) as pool:
        listings = list(pool.map(lambda package: wheels(package[0], package[1]), packages))
        text = [line for line in file.read_text().splitlines() if line.startswith("#")] if file.exists() else []
        chosen: list[Wheel] = []
        oldest = (2, 5)
        for (package, version, marker), files in zip(packages, listings, strict=True):
            if not files:
                raise SystemExit(f"{package} {version} has no wheel for this platform")
            text.append(f"{package}=={version}" + (f" ; {marker}" if marker else "") + " \\")
            hashes = sorted({weight_file.sha256 for weight_file in files})
            text += [f"    --hash=sha256:{digest}" + " \\" * (digest != hashes[-1]) for digest in hashes]
            if newest_python(marker):
                mine = [weight_file for weight_file in files if weight_file.suits("312")]
                oldest = max(oldest, min(wheel.glibc for wheel in mine))
                chosen.append(max(mine, key=lambda wheel: ("cp312" in wheel.tags[0], wheel.glibc)))
        file.write_text("\n".join(text) + "\n")
        measured = list(pool.map(sizes, chosen))
    print(f"download_bytes = {sum(length for length, _ in measured):_}")
    print(f"disk_bytes = {sum(unpacked for _, unpacked in measured):_}")
    print(f'glibc = "{oldest[0]}.{oldest[1]}"')


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
