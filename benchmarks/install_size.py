"""How large an install of the wizard is: all files of a fresh environment, without byte code.

Usage: ``.venv/bin/python benchmarks/install_size.py``. Makes a virtual environment in a temporary folder from
``requirements/wizard.txt`` (with ``uv`` if it is on PATH, else pip; the package index must answer), weighs it, prints
the largest packages and removes it. Set goal: 250 MB (10^6 bytes). Exit status 1 if it is missed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
GOAL = 250e6


def make(environment: Path) -> str:
    """Make the environment and say with what."""
    pins = str(CHECKOUT / "requirements" / "wizard.txt")
    python = str(environment / "bin" / "python")
    if uv := shutil.which("uv"):
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(environment)], check=True)
        pip = [uv, "pip", "install", "--quiet", "--python", python]
    else:
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "-r", pins], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", str(CHECKOUT)], check=True)
    return "uv" if uv else "pip"


def weigh(environment: Path) -> Counter[str]:
    """Bytes per top-level folder of site-packages; everything else under its own name."""
    packages = next(environment.glob("lib/python3.*/site-packages"))
    sizes: Counter[str] = Counter()
    for path in environment.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.suffix != ".pyc":
            name = path.relative_to(packages).parts[0] if packages in path.parents else "scripts and configuration"
            sizes[name] += path.stat().st_size
    return sizes


def main() -> int:
    """Measure and print; 1 if the goal is missed."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        tool = make(Path(folder) / "environment")
        took = time.perf_counter() - start
        sizes = weigh(Path(folder) / "environment")
    total = sizes.total()
    for name, size in sizes.most_common(12):
        print(f"{size / 1e6:>8.1f} MB  {name}")
    print(f"{total / 1e6:>8.1f} MB  in all (goal {GOAL / 1e6:.0f} MB), installed with {tool} in {took:.0f} s")
    return 1 if total > GOAL else 0


if __name__ == "__main__":
    sys.exit(main())
