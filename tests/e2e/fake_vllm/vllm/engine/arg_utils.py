"""Arguments of the engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class AsyncEngineArgs:
    """Those that the tests give; an unknown one is an error, as in vLLM."""

    model: str
    max_model_len: int
