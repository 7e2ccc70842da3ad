"""The loop beside the loop."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator
from contextlib import closing

import pytest

from wizard.notebook.background import Background


async def count(up_to: int) -> AsyncGenerator[int, None]:
    for number in range(up_to):
        await asyncio.sleep(0)
        yield number


async def test_it_works_where_a_loop_runs() -> None:
    assert list(Background().iterate(lambda: count(3))) == [0, 1, 2]


def test_one_background_serves_many() -> None:
    background = Background()
    assert [list(background.iterate(lambda: count(2))) for _ in range(3)] == [[0, 1]] * 3


def test_errors_come_out_after_what_was_yielded() -> None:
    async def broken() -> AsyncGenerator[int, None]:
        yield 1
        raise ValueError("broken")

    seen = []
    with pytest.raises(ValueError, match="broken"):
        seen.extend(iter(Background().iterate(broken)))
    iterator = Background().iterate(broken)
    assert next(iterator) == 1
    with pytest.raises(ValueError, match="broken"):
        next(iterator)


def test_closing_waits_for_the_clean_up() -> None:
    steps: list[str] = []

    async def endless() -> AsyncGenerator[int, None]:
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            steps.append("cleaned up")

    with closing(Background().iterate(endless)) as items:
        assert next(items) == 1
    assert steps == ["cleaned up"]


def test_an_interrupt_at_any_time_does_not_hang() -> None:
    background = Background()
    entered, main = threading.Event(), threading.main_thread().ident
    assert main == threading.get_ident()

    def interrupt() -> None:
        entered.wait(60)
        signal.pthread_kill(main, signal.SIGINT)

    for _ in range(20):
        entered.clear()
        background._loop.call_soon_threadsafe(interrupt)  # before the generator can begin
        with pytest.raises(KeyboardInterrupt):
            _enter(entered, background)
    assert list(background.iterate(lambda: count(2))) == [0, 1]


def _enter(entered: threading.Event, background: Background) -> None:
    async def endless() -> AsyncGenerator[int, None]:
        await asyncio.Event().wait()
        yield 1

    entered.set()
    with closing(background.iterate(endless)) as items:
        next(items)


async def test_blocking_functions_may_run_a_loop_of_their_own() -> None:
    async def answer() -> int:
        return 42

    assert Background().call(lambda: asyncio.run(answer())) == 42
