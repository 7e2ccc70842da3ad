"""The packages that the wizard does without: how an extra is installed into the environment that runs this."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec


def install(extra: str) -> str:
    """The command: by this environment's pip, or by uv, which makes environments without one."""
    python = shlex.quote(sys.executable)
    installer = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{installer} 'triton-wizard[{extra}]'"
