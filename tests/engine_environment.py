"""A real virtual environment with the files by which packages say what they are, and none of their code.

What is in it: ``METADATA`` (Core metadata specification, PyPA) and ``torch/version.py`` as PyTorch's build writes it
(pytorch/tools/generate_torch_version.py). What it lacks: everything that the packages do; importing one fails.
"""

from __future__ import annotations

import sys
from pathlib import Path
from venv import EnvBuilder

VLLM = {"vllm": "0.26.0", "transformers": "5.17.0", "torch": "2.11.0+cu130"}
"""What vLLM's own installation brings along, of what the wizard asks for."""


def make(folder: Path, packages: dict[str, str], *, cuda: str | None = "13.0") -> str:
    """Make it in ``folder``; return the path of its interpreter."""
    EnvBuilder(symlinks=True).create(folder)
    site = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    for name, version in packages.items():
        about = site / f"{name}-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (site / name).mkdir()
        (site / name / "__init__.py").write_text(f"raise ImportError('{name} was imported')\n")
    if "torch" in packages:
        (site / "torch" / "version.py").write_text(
            "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']\n"
            f"__version__ = '{packages['torch']}'\ndebug = False\ncuda: Optional[str] = {cuda!r}\n"
            "git_version = '0'\nhip: Optional[str] = None\n"
        )
    return str(folder / "bin" / "python")
