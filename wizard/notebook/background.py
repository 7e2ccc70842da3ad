"""An event loop in a separate thread: a notebook's kernel already runs one, which must not block."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import aclosing, suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")
LATE_S = 0.2
"""Seconds between looks for a signal."""


class Background:
    """Runs asynchronous generators for synchronous code. Its thread ends with the interpreter."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True, name="triton-wizard").start()

    def iterate(self, make: Callable[[], AsyncGenerator[T, None]]) -> Generator[T, None, None]:
        """Yield the items of ``make()``, and raise its exceptions.

        Closing this generator, or a KeyboardInterrupt while it waits (the kernel's interrupt), cancels the other one
        and waits for its cleanup: a request is cancelled in the server, a child process is stopped.
        """
        pump = _Pump(make)
        over = False
        try:
            self._loop.call_soon_threadsafe(pump.start)
            while (item := pump.item()) is not None:
                yield item[0]
            over = True
        finally:
            if not over:
                self._loop.call_soon_threadsafe(pump.stop)
                while pump.item() is not None:
                    pass
        if pump.error is not None:
            raise pump.error

    def spawn(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run ``work`` while the caller continues; cancelling the future cancels it, with its cleanup."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, function: Callable[[], T]) -> T:
        """Call the blocking ``function`` where no event loop is running, so that it may start one; return its
        result.
        """

        async def once() -> AsyncGenerator[T, None]:
            yield await asyncio.to_thread(function)

        (result,) = self.iterate(once)
        return result


class _Pump(Generic[T]):
    """Passes items from a generator in the loop's thread to a queue; its methods run in that thread."""

    def __init__(self, make: Callable[[], AsyncGenerator[T, None]]) -> None:
        self.items: queue.SimpleQueue[tuple[T] | None] = queue.SimpleQueue()
        """Items, each in a tuple; None is the end, after the clean-up."""
        self.error: BaseException | None = None
        self._make = make
        self._task: asyncio.Task[None] | None = None

    def item(self) -> tuple[T] | None:
        """The next item. A signal just before the wait does not end it: Python handles it at most `LATE_S` later."""
        while True:
            with suppress(queue.Empty):
                return self.items.get(timeout=LATE_S)

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._task.add_done_callback(self._end)

    def stop(self) -> None:
        if self._task is None:  # interrupted before it started
            self.items.put(None)
        else:
            self._task.cancel()

    async def _run(self) -> None:
        async with aclosing(self._make()) as source:
            async for item in source:
                self.items.put((item,))

    def _end(self, task: asyncio.Task[None]) -> None:
        self.error = None if task.cancelled() else task.exception()
        self.items.put(None)
