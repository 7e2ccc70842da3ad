from __future__ import annotations

from types import ModuleType

import pytest

from tests.repository.triton_stub import FakeTritonUtils, FencedOs, load, triton
from wizard.repository import proxy

__all__ = ["triton"]


@pytest.fixture
def engines(triton: FakeTritonUtils) -> ModuleType:
    """``engine_replicas.py``; its signals are fenced for good: its threads outlive a test."""
    module = load(proxy.REPLICAS, "stub.engine_replicas")
    module.os = FencedOs()  # type: ignore[attr-defined]
    return module


@pytest.fixture
def model(engines: ModuleType) -> ModuleType:
    """``model.py`` with the modules beside it."""
    load(proxy.MODEL.with_name("text_requests.py"), "stub.text_requests")
    load(proxy.MODEL.with_name("work_gauges.py"), "stub.work_gauges")
    return load(proxy.MODEL, "stub.model")
