"""Optional packages: how an extra is installed into the environment that runs the wizard."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec


def install(extra: str) -> str:
    """The install command: this environment's pip, or uv, whose environments have no pip."""
    python = shlex.quote(sys.executable)
    installer = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{installer} 'triton-wizard[{extra}]'"
