"""The oldest nvidia-ml-py that the wizard allows, in a folder beside the one that is installed."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PINS = Path(__file__).with_suffix(".txt")
CHECKOUT = Path(__file__).resolve().parents[2]
FOLDER = CHECKOUT / ".venv-nvml-tests"


def oldest_binding() -> Path:
    """The folder that holds it, made once; the test is skipped where no package index answers."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (FOLDER / "pynvml.py").exists():
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
            command = [*pip, "--target", str(FOLDER / "new"), "-r", str(PINS)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                pytest.skip(f"the oldest nvidia-ml-py cannot be had: {done.stderr.strip().splitlines()[-1]}")
            (FOLDER / "new" / "pynvml.py").replace(FOLDER / "pynvml.py")
            shutil.rmtree(FOLDER / "new")
    return FOLDER
