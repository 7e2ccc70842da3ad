"""A real session of the wizard, kept, so that its pictures can be drawn again without a server: record, then replay.

Stands between the full-screen wizard and `wizard.journey`: what each function returned, or streamed, is noted under its
name in the order of the calls. A replay gives the same values in the same order, the last one again and again. What
depends on nothing but other values and the disk of whoever draws (`PURE`) is asked anew.
"""

from __future__ import annotations

import ast
import asyncio
import dataclasses
import inspect
import json
import sys
import time
import typing
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from wizard import journey
from wizard.kernel.values import from_data, to_data
from wizard.probe.live import Reading
from wizard.run.events import event_data, read_event

PURE = {"advise", "recipes", "history", "presets", "meter", "browse", "latest_plan", "tools"}
NOT_KEPT = {"wire"}
"""Fields that hold functions; they have defaults."""
Calls = dict[str, list[Any]]


def kinds() -> dict[str, Any]:
    """What each function of the journey returns, as types."""
    functions = inspect.getmembers(journey, inspect.isfunction)
    for module in {function.__module__ for _, function in functions}:
        _complete(sys.modules[module])
    return_kinds = {name: typing.get_type_hints(function).get("return") for name, function in functions}
    for kind in return_kinds.values():
        for part in (kind, *typing.get_args(kind)):
            if dataclasses.is_dataclass(part):
                _complete(sys.modules[part.__module__])
    return return_kinds


def _complete(module: ModuleType) -> None:
    """Import what ``module`` imports for its annotations only."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), str(module.__file__), "exec"), vars(module))  # noqa: S102 - our own


class Recorder:
    """`wizard.journey`, and ``calls``: what its functions gave."""

    def __init__(self) -> None:
        self.calls: Calls = defaultdict(list)
        self._kinds = kinds()

    def monitor(self) -> _Monitor:
        """What reads the machine's load; its readings are noted."""
        return _Monitor(self.calls)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(journey, name)
        if name in PURE:
            return function  # type: ignore[no-any-return]
        if typing.get_origin(self._kinds[name]) is AsyncGenerator:
            return lambda *args, **options: self._streamed(name, function(*args, **options))

        def call(*args: Any, **options: Any) -> Any:
            value = function(*args, **options)
            self.calls[name].append(_kept(value))
            return value

        return call

    async def _streamed(self, name: str, stream: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        kept: list[Any] = []
        self.calls[name].append(kept)
        began = time.monotonic()
        async for value in stream:
            data = event_data(value) if name == "run" else _kept(value)
            kept.append([round(time.monotonic() - began, 3), data])
            yield value


class Replay:
    """The same functions, with the values of a recording; what is streamed comes at one's word.

    Attributes:
        seconds: The recording's clock, as far as it was let go on.
        given: How many values of streams were taken.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = {name: list(values) for name, values in calls.items()}
        self._kinds = kinds()
        self._tickets = asyncio.Semaphore(0)
        self.seconds = 0.0
        self.given = 0

    def go_on(self, values: int) -> None:
        """Let the streams give as many values more."""
        for _ in range(values):
            self._tickets.release()

    def coming(self, name: str) -> list[Any]:
        """What the next stream of this function will give."""
        return [data for _seconds, data in self._calls[name][0]]

    def monitor(self) -> Replay:
        """What reads the machine's load."""
        return self

    def read(self) -> Any:
        """The machine's load."""
        return from_data(Reading, self._next("monitor"), where="monitor")

    def close(self) -> None:
        """Nothing is open."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in PURE:
            return getattr(journey, name)  # type: ignore[no-any-return]
        kind = self._kinds[name]
        if typing.get_origin(kind) is AsyncGenerator:
            return lambda *_args, **_options: self._streamed(name, typing.get_args(kind)[0])
        return lambda *_args, **_options: from_data(kind, self._next(name), where=name)

    def _next(self, name: str) -> Any:
        values = self._calls[name]
        return values.pop(0) if len(values) > 1 else values[0]

    async def _streamed(self, name: str, kind: Any) -> AsyncGenerator[Any, None]:
        for seconds, data in self._next(name):
            await self._tickets.acquire()
            self.seconds = seconds
            self.given += 1
            yield read_event(data, where=name) if name == "run" else from_data(kind, data, where=name)


class _Monitor:
    """A monitor whose readings are noted."""

    def __init__(self, calls: Calls) -> None:
        self._monitor, self._calls = journey.monitor(), calls

    def read(self) -> Any:
        value = self._monitor.read()
        self._calls["monitor"].append(_kept(value))
        return value

    def close(self) -> None:
        self._monitor.close()


def _kept(value: Any) -> Any:
    def without(data: Any) -> Any:
        if isinstance(data, dict):
            return {key: without(item) for key, item in data.items() if key not in NOT_KEPT}
        return [without(item) for item in data] if isinstance(data, list) else data

    return without(json.loads(json.dumps(to_data(value), default=lambda _: None)))
