"""Parameters of a request."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


class RequestOutputKind(enum.Enum):
    """What each output of a stream holds."""

    CUMULATIVE = 0
    DELTA = 1


@dataclass
class StructuredOutputsParams:
    """What an answer must match."""

    json: str | dict[str, Any] | None = None


@dataclass
class SamplingParams:
    """Those that the engine program gives."""

    max_tokens: int
    temperature: float
    top_p: float
    top_k: int
    seed: int | None
    stop: list[str]
    stop_token_ids: list[int]
    output_kind: RequestOutputKind
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logprobs: int | None = None
    skip_special_tokens: bool = True
    structured_outputs: StructuredOutputsParams | None = None

    def __post_init__(self) -> None:
        if self.temperature > 2:
            raise ValueError("temperature is too high for this stand-in")
