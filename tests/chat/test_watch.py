"""An answer is waited for as long as its process lives, and not longer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from wizard.chat import watch
from wizard.chat.ask import Piece
from wizard.kernel.errors import ServerError

FIRST, LAST = Piece("a", 1, ""), Piece("", 1, "stop")


class FakeModel:
    """Gives its first piece at once, and the last one when its process was looked at ``patience`` times."""

    def __init__(self, patience: int, dies: bool = False) -> None:
        self._patience, self._dies = patience, dies
        self._enough = asyncio.Event()
        self.looks = 0
        self.closed = False

    def trouble(self) -> Exception | None:
        self.looks += 1
        if self.looks == self._patience:
            if self._dies:
                return ServerError("TW-C11", "it ended", "Start it again.")
            self._enough.set()
        return None

    async def pieces(self) -> AsyncGenerator[Piece, None]:
        try:
            yield FIRST
            await self._enough.wait()
            yield LAST
        finally:
            self.closed = True


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOOK_S", 0.001)


async def collect(into: list[Piece], stream: AsyncGenerator[Piece, None]) -> None:
    async for piece in stream:
        into.append(piece)


async def test_a_slow_model_that_lives_is_waited_for() -> None:
    model = FakeModel(patience=20)
    assert [piece async for piece in watch.watched(model.pieces(), model.trouble)] == [FIRST, LAST]
    assert model.looks >= 20
    assert model.closed


async def test_the_partial_answer_of_a_dead_model_is_kept_and_its_end_reported() -> None:
    model, pieces = FakeModel(patience=3, dies=True), list[Piece]()
    with pytest.raises(ServerError) as caught:
        await collect(pieces, watch.watched(model.pieces(), model.trouble))
    assert caught.value.code == "TW-C11"
    assert pieces == [FIRST]
    assert model.closed


async def test_closing_and_cancelling_reach_the_stream() -> None:
    closed = FakeModel(patience=0)
    stream = watch.watched(closed.pieces(), closed.trouble)
    await stream.__anext__()
    await stream.aclose()
    assert closed.closed

    cancelled = FakeModel(patience=0)
    stream = watch.watched(cancelled.pieces(), cancelled.trouble)
    await stream.__anext__()
    task = asyncio.ensure_future(stream.__anext__())
    await asyncio.wait((task,), timeout=0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cancelled.closed
