"""Interface 3: Jupyter. Asynchronous inside, synchronous outside."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(ipython: Any) -> None:
    """``%load_ext wizard.notebook``: rich display of the workflow's values, short errors, and ``%%chat``."""
    from wizard.notebook.magic import load

    load(ipython)
