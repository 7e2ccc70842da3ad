"""What the engine takes (vllm/inputs/engine.py of 0.31.0)."""

from __future__ import annotations

from typing import Any


def tokens_input(prompt_token_ids: list[int], *, prompt: str | None = None, cache_salt: str | None = None) -> Any:
    """A prompt of tokens."""
    return {"type": "token", "prompt_token_ids": prompt_token_ids}
