from __future__ import annotations

from types import ModuleType

import pytest

from tests.repository.triton_stub import FakeTritonUtils, FencedOs, load, triton
from wizard.repository import proxy

__all__ = ["triton"]


@pytest.fixture
def model(triton: FakeTritonUtils) -> ModuleType:
    """``model.py`` with ``text_requests.py`` beside it; its signals are fenced for good: its threads outlive a test."""
    load(proxy.MODEL.with_name("text_requests.py"), "stub.text_requests")
    module = load(proxy.MODEL, "stub.model")
    module.os = FencedOs()  # type: ignore[attr-defined]
    return module
