"""Programs of the checkout that belong to no package, as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

CHECKOUT = Path(__file__).resolve().parent.parent


def load(path: str) -> ModuleType:
    """The script at ``path`` in the checkout."""
    file = CHECKOUT / path
    spec = importlib.util.spec_from_file_location(f"script_{file.stem}", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
