"""Blocking functions, awaited without blocking the screen."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def call(function: Callable[[], T]) -> T:
    """Run ``function`` in a separate thread and return its result, or raise its exception.

    The thread is a daemon: the loop's own executor would keep a quitting wizard alive until the last request to the Hub
    has timed out. A result that is no longer awaited is dropped.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(setter: Callable[[Any], None], value: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the wizard has quit and its loop is closed
            loop.call_soon_threadsafe(lambda: None if future.done() else setter(value))

    def work() -> None:
        try:
            result = function()
        except BaseException as error:  # raised again where it is awaited
            settle(future.set_exception, error)
        else:
            settle(future.set_result, result)

    threading.Thread(target=work, daemon=True, name=getattr(function, "__name__", "journey")).start()
    return await future
