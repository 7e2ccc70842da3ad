"""What the program of transformers does with requests that end while others go on, and what it says when it ends."""

from __future__ import annotations

import importlib
import os
import queue
import socket
import subprocess
import sys
import types
from typing import Any

import pytest

from wizard.repository.proxy import ENGINE_PROCESS
from wizard.stacks.transformers.repository import ENGINE

FOLDERS = (ENGINE_PROCESS.parent, ENGINE.program.parent)
ASK = {"max_tokens": 9, "temperature": 0, "top_k": 0, "top_p": 1, "seed": None, "stop": []}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module as its own Python has it: from its folder, not from the wizard."""
    for program in (ENGINE_PROCESS, ENGINE.program):
        monkeypatch.syspath_prepend(str(program.parent))
    monkeypatch.delitem(sys.modules, "engine_process", raising=False)
    yield importlib.import_module("transformers_engine")
    for name in ("transformers_engine", "engine_process"):
        sys.modules.pop(name, None)


class FakeProxy:
    """Records what is sent to the proxy."""

    def __init__(self) -> None:
        self.deltas: list[tuple[int, str, int, str]] = []
        self.refused: list[int] = []

    def say(self, deltas: list[tuple[int, str, int, str]]) -> None:
        self.deltas += deltas

    def count(self, number: int, tokens: int) -> None:
        """Nothing asks for it here."""

    def refuse(self, number: int, error: Exception) -> None:
        self.refused.append(number)


class FakeManager:
    """The library's generation loop: gives the results that a test puts into it."""

    def __init__(self, **_: Any) -> None:
        self.results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.cancelled: list[str] = []
        self.full = False

    def warmup(self) -> None: ...

    def start(self) -> None: ...

    def is_running(self) -> bool:
        return not self.results.empty()

    def get_result(self, timeout: float) -> Any:
        return self.results.get_nowait()

    def add_request(self, ids: list[int], **_: Any) -> None:
        if self.full:
            raise RuntimeError("the loop has ended")

    def cancel_request(self, request: str) -> None:
        self.cancelled.append(request)


class FakeAnswer:
    """Ends with its first piece."""

    tokens, finish = 0, ""

    def take(self, tokens: list[int]) -> str:
        self.tokens, self.finish = self.tokens + len(tokens), "stop"
        return "x"


class FakeModel:
    """A model that takes every prompt."""

    ends, context, vocabulary = (0,), 64, 256

    def __init__(self, manager: FakeManager | None = None) -> None:
        device = types.SimpleNamespace(type="cuda")
        self.model = types.SimpleNamespace(device=device, init_continuous_batching=lambda **_: manager)

    def prompt(self, ask: dict[str, Any]) -> tuple[list[int], FakeAnswer]:
        return [1], FakeAnswer()


class FakeResult:
    """A result during whose reading the request is cancelled, as the proxy's thread can at any moment."""

    request_id, generated_tokens = "7", (1,)

    def __init__(self, cancel: Any, *, error: str | None = None) -> None:
        self._cancel, self._error = cancel, error

    @property
    def error(self) -> str | None:
        if self._error:
            self._cancel()
        return self._error

    def is_finished(self) -> bool:
        self._cancel()
        return True


@pytest.mark.parametrize("error", [None, "out of blocks"])
def test_a_request_that_is_cancelled_as_it_ends_does_no_harm(engine: Any, error: str | None) -> None:
    manager, proxy = FakeManager(), FakeProxy()
    running = engine.Continuous(FakeModel(manager), {}, proxy)
    running.take({"ask": {**ASK, "id": 7}})
    deltas: list[tuple[int, str, int, str]] = []
    running._collect(FakeResult(lambda: running.take({"cancel": 7}), error=error), deltas)
    assert manager.cancelled == ["7"]
    assert running._answers == {}
    assert (proxy.refused, deltas) == (([7], []) if error else ([], [(7, "x", 1, "stop")]))


def test_a_request_that_the_library_does_not_take_is_forgotten(engine: Any) -> None:
    manager, proxy = FakeManager(), FakeProxy()
    manager.full = True
    running = engine.Continuous(FakeModel(manager), {}, proxy)
    running.take({"ask": {**ASK, "id": 7}})
    assert proxy.refused == [7]
    assert running._answers == {}


def test_late_cancellations_are_not_kept(engine: Any) -> None:
    running = engine.Unbatched(FakeModel(), {}, FakeProxy())
    running.take({"ask": {**ASK, "id": 1}})
    running.take({"cancel": 1})
    running.take({"cancel": 2})  # it was over already
    assert set(running._cancelled) == {1}


ENDS = """
import sys
sys.path[:0] = sys.argv[1].split(":")
import transformers_engine as engine

class FakeMode:
    def __init__(self, *_):
        if sys.argv[2] == "load":
            raise RuntimeError("no such file")

    def run(self):
        raise RuntimeError("no such key")

engine.Model, engine.MODES = lambda settings: None, {"continuous": FakeMode}
engine.main({})
"""


@pytest.mark.parametrize(
    ("when", "message"), [("load", "could not load the model"), ("run", "could not go on answering")]
)
def test_what_it_says_when_it_ends(when: str, message: str) -> None:
    ours, its = socket.socketpair()
    with ours, its:
        done = subprocess.run(
            [sys.executable, "-c", ENDS, os.pathsep.join(map(str, FOLDERS)), when],
            stdin=its,
            capture_output=True,
            text=True,
            start_new_session=True,  # the program ends its whole group
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.endswith(f"transformers {message}\n")
    assert "RuntimeError" in done.stderr
