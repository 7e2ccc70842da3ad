"""A package index of a few tiny wheels, and environments made of them; pip and its own wheel are the real ones."""

from __future__ import annotations

import ensurepip
import hashlib
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from wizard.catalog.profiles import PROFILES_VARIABLE
from wizard.workshop import gather, packages

PYTHON = "3.11"
ENVIRONMENT = """
about = "a test's"
pins = "{name}.txt"
machine = "x86_64"
glibc = "2.28"
python_min = "3.10"
python_max = "3.12"
cpu_flags = []
download_bytes = {size}
disk_bytes = {size}
check = "import {name}"
"""


def wheel(folder: Path, name: str, version: str = "1.0", tag: str = "py3-none-any", code: str = "") -> Path:
    """A wheel (PyPA, binary distribution format 1.0) of one module; with code, it has the script ``triton-wizard``."""
    folder.mkdir(parents=True, exist_ok=True)
    path, about = folder / f"{name}-{version}-{tag}.whl", f"{name}-{version}.dist-info"
    texts = {
        f"{name}.py": code,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n",
        f"{about}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    if code:
        texts[f"{about}/entry_points.txt"] = f"[console_scripts]\ntriton-wizard = {name}:main\n"
    texts[f"{about}/RECORD"] = "".join(f"{each},,\n" for each in texts)
    with zipfile.ZipFile(path, "w") as file:
        for each, text in texts.items():
            file.writestr(each, text)
    return path


def pin(path: Path, marker: str = "") -> str:
    name, version = path.name.split("-")[:2]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{name.replace('_', '-')}=={version}{f' ; {marker}' if marker else ''} --hash=sha256:{digest}\n"


class World:
    """``index`` has the wheels; ``calls`` counts how often pip is asked for some."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.index, self.folder, self.calls = tmp_path / "index", tmp_path / "class", 0
        environments = tmp_path / "profiles" / "environments"
        environments.mkdir(parents=True)
        (real_pip,) = (Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")
        self.index.mkdir()
        shutil.copy(real_pip, self.index)
        self.any, self.compiled = (
            wheel(self.index, "probe_any"),
            wheel(self.index, "probe_compiled", tag="cp311-cp311-manylinux_2_17_x86_64"),
        )
        old = wheel(self.index, "probe_old")
        seat = pin(self.index / real_pip.name) + pin(self.any) + pin(old, "python_version < '3.11'")
        for name, pins in (("seat", seat), ("llamacpp", pin(self.compiled) + pin(self.any))):
            (environments / f"{name}.txt").write_text(f"# Of a test.\n{pins}")
            size = sum(path.stat().st_size for path in self.index.iterdir())
            (environments / f"{name}.toml").write_text(ENVIRONMENT.format(name=name, size=size) + 'triton = "2.51.0"\n')
        monkeypatch.setenv(PROFILES_VARIABLE, str(tmp_path / "profiles"))
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(self.index))
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        notebooks = tmp_path / "notebooks"
        for name in ("lab.ipynb", "recorded/report.json", "source/lab.toml", ".ipynb_checkpoints/lab.ipynb"):
            (notebooks / name).parent.mkdir(parents=True, exist_ok=True)
            (notebooks / name).write_text("{}")
        monkeypatch.setattr(gather, "notebooks_folder", lambda: notebooks)
        monkeypatch.setattr(packages, "own_wheel", self.own_wheel)
        download = packages._download

        def counted(*arguments: object) -> None:
            self.calls += 1
            download(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(packages, "_download", counted)

    def downloaded(self) -> World:
        """As if an earlier bundle had been stopped after its packages: none is left for pip to download."""
        (self.folder / ".partial").mkdir(parents=True)
        shutil.copytree(self.index, self.folder / "wheels")
        return self

    def own_wheel(self, folder: Path) -> Path:
        """Stands for the wizard's own wheel: its script prints its arguments."""
        return wheel(folder, "triton_wizard", "0.1.0", code="import sys\ndef main(): print(*sys.argv[1:])\n")
