from __future__ import annotations

from tests.repository.triton_stub import triton

__all__ = ["triton"]
