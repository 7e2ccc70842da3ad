"""The request that parsers get."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class ChatCompletionRequest(BaseModel):
    """Those fields that the engine program gives."""

    model: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
