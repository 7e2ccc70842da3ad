"""The KServe v2 protocol from ``tritonclient``, without the other imports of ``tritonclient.grpc`` (numpy).

A chat exchanges a handful of numbers and texts. The package's own client uses arrays and so needs numpy,
ml_dtypes and a JSON library, which is 140 of the 170 ms that importing it takes.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

PACKAGE = "tritonclient.grpc"


def stubs() -> tuple[ModuleType, ModuleType]:
    """The generated modules ``service_pb2`` (messages) and ``service_pb2_grpc`` (the service).

    They are in a package whose own code imports the rest; so during their import an empty package replaces it.
    """
    names = [f"{PACKAGE}.{name}" for name in ("service_pb2", "service_pb2_grpc")]
    if PACKAGE in sys.modules or all(name in sys.modules for name in names):
        messages, service = map(importlib.import_module, names)
        return messages, service
    import tritonclient

    package = ModuleType(PACKAGE)
    package.__path__ = [str(Path(tritonclient.__file__).parent / "grpc")]
    sys.modules[PACKAGE] = package
    try:
        messages, service = map(importlib.import_module, names)
    finally:
        del sys.modules[PACKAGE]
    return messages, service
