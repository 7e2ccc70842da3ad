"""Pauses between two looks, noted instead of waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The seconds of each pause: long enough to leave the processor to others, too short to be felt."""
    seconds: list[float] = []
    sleep = asyncio.sleep

    async def noted(delay: float, *arguments: object) -> None:
        seconds.append(delay)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", noted)
    yield seconds
    assert all(0.01 <= delay <= 0.2 for delay in seconds)
