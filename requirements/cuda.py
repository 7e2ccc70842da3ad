"""Which CUDA a release's wheel is for: what its metadata requires of PyTorch, and what PyTorch's requires of CUDA.

    python requirements/cuda.py PACKAGE VERSION...

prints a line for each version of PACKAGE (``vllm``, ``torch``): the PyTorch it needs and the CUDA runtime that one
needs, all of the wheels for CPython 3.12 on Linux x86_64. pip reads the metadata; nothing is installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (35, 34, 31, 28, 27, 17)] + ["manylinux1_x86_64"]
TORCH = re.compile(r"torch ?\(?==([\w.+]+)")
RUNTIME = re.compile(r"(?:nvidia-cuda-runtime[\w-]*|cuda-toolkit(?:\[[^]]*\])?) ?\(?==([\d.]+)")


def requirements(package: str, version: str) -> list[str]:
    """What the wheel says that it needs."""
    flags = (
        "install --dry-run --ignore-installed --no-deps --only-binary :all: --python-version 3.12 --quiet --report -"
    )
    wanted = [word for platform in PLATFORMS for word in ("--platform", platform)]
    argv = [
        sys.executable,
        "-m",
        "pip",
        *flags.split(),
        *wanted,
        "--report",
        "-",
        "--target",
        ".",
        f"{package}=={version}",
    ]
    report = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return list(json.loads(report)["install"][0]["metadata"].get("requires_dist", []))


def first(pattern: re.Pattern[str], lines: list[str]) -> str:
    """The version in the first line that fits; empty if none does."""
    return next((match[1] for line in lines if (match := pattern.match(line))), "")


def main(package: str, versions: list[str]) -> None:
    """Print a line for each version."""
    for version in versions:
        torch = version if package == "torch" else first(TORCH, requirements(package, version))
        cuda = first(RUNTIME, requirements("torch", torch)) if torch else ""
        print(f"{package} {version}: torch {torch or '?'}, CUDA {cuda or '?'}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
