"""What surrounds a model in Triton's Python stub, in the tests' own process.

Made from NVIDIA's python_backend: ``src/pb_stub.cc`` (module ``c_python_backend_utils``), ``src/response_sender.cc``,
``src/resources/triton_python_backend_utils.py``. It has no more than what the wizard's models use: no requests to other
models, no tensors on a GPU, no shared memory, no metrics.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import queue
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

SECONDS = 10
"""Bounds a wait in vain."""


class FakeTensor:
    """A name and an array."""

    def __init__(self, name: str, values: Any) -> None:
        if not isinstance(values, np.ndarray):
            raise TypeError("a tensor is made of an array")
        self._name, self._values = name, values

    def name(self) -> str:
        return self._name

    def as_numpy(self) -> Any:
        return self._values


class FakeError:
    """``TritonError``, with the codes of tritonserver.h."""

    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = range(8)

    def __init__(self, message: str, code: int = INTERNAL) -> None:
        self._message, self._code = message, code

    def message(self) -> str:
        return self._message

    def code(self) -> int:
        return self._code


class FakeResponse:
    """Tensors or an error."""

    def __init__(self, output_tensors: Any = (), error: FakeError | None = None) -> None:
        self._tensors, self._error = list(output_tensors), error

    def output_tensors(self) -> list[FakeTensor]:
        return self._tensors

    def error(self) -> FakeError | None:
        return self._error


class FakeModelException(Exception):  # noqa: N818 - its name there
    """``TritonModelException``."""


class FakeSender:
    """Refuses what the real one refuses of a decoupled model; nothing may follow the last response."""

    def __init__(self) -> None:
        self.cancelled = False
        self.broken = False
        self._closed = False
        self._replies: queue.SimpleQueue[tuple[FakeResponse | None, int]] = queue.SimpleQueue()

    def send(self, response: FakeResponse | None = None, flags: int = 0) -> None:
        if flags not in (0, FakeTritonUtils.TRITONSERVER_RESPONSE_COMPLETE_FINAL):
            raise FakeModelException("Unsupported flag provided.")
        if response is None and not flags:
            raise FakeModelException("Inference Response object must be provided.")
        if self._closed or self.broken:
            raise FakeModelException("Response sender has been closed.")
        self._closed = bool(flags)
        self._replies.put((response, flags))

    def is_cancelled(self) -> bool:
        return self.cancelled

    def reply(self) -> tuple[Any, bool]:
        """The next response: its error as (text, code), or its values by name; and whether it is the last."""
        response, flags = self._replies.get(timeout=SECONDS)
        if response is None:
            return None, bool(flags)
        if error := response.error():
            return (error.message(), error.code()), bool(flags)
        return {tensor.name(): tensor.as_numpy().tolist()[0] for tensor in response.output_tensors()}, bool(flags)

    def quiet(self) -> bool:
        """Whether there is no other response."""
        return self._replies.empty()


class FakeRequest:
    """Inputs by name, and where the responses go."""

    def __init__(self, **inputs: Any) -> None:
        self.sender = FakeSender()
        self._inputs = [FakeTensor(name, values) for name, values in inputs.items()]

    def inputs(self) -> list[FakeTensor]:
        return self._inputs

    def get_response_sender(self) -> FakeSender:
        return self.sender


class FakeLogger:
    """Keeps the lines."""

    def __init__(self) -> None:
        self.lines: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()

    def log_info(self, message: str) -> None:
        self.lines.put(("info", message))

    def log_error(self, message: str) -> None:
        self.lines.put(("error", message))

    def line(self) -> tuple[str, str]:
        """The next one."""
        return self.lines.get(timeout=SECONDS)


class FakeMetric:
    """A series of a family; a counter does not decrease (``TRITONSERVER_MetricIncrement``)."""

    def __init__(self, kind: str) -> None:
        self.kind, self.now = kind, 0.0

    def increment(self, value: float) -> None:
        if self.kind == FakeMetricFamily.COUNTER and value < 0:
            raise FakeModelException("TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically")
        self.now += value

    def set(self, value: float) -> None:
        if self.kind != FakeMetricFamily.GAUGE:
            raise FakeModelException("TRITONSERVER_METRIC_KIND_COUNTER does not support Set")
        self.now = value


class FakeMetricFamily:
    """Custom metrics, which the stub's module has from 23.05 on; the series are kept."""

    COUNTER, GAUGE = "counter", "gauge"
    families: ClassVar[dict[str, list[tuple[dict[str, str], FakeMetric]]]] = {}

    def __init__(self, name: str, description: str, kind: str) -> None:
        self._kind, self._series = kind, self.families.setdefault(name, [])

    def Metric(self, labels: dict[str, str]) -> FakeMetric:
        self._series.append((labels, FakeMetric(self._kind)))
        return self._series[-1][1]


class FakeTritonUtils(ModuleType):
    """``triton_python_backend_utils``."""

    TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
    Tensor, TritonError, InferenceResponse = FakeTensor, FakeError, FakeResponse
    TritonModelException = FakeModelException

    def __init__(self) -> None:
        super().__init__("triton_python_backend_utils")
        self.Logger = FakeLogger()
        self.MetricFamily = type("FakeMetricFamily", (FakeMetricFamily,), {"families": {}})

    def metric(self, name: str) -> dict[str, float]:
        """The value of each replica's series."""
        return {labels["replica"]: metric.now for labels, metric in self.MetricFamily.families[name]}

    @staticmethod
    def get_input_tensor_by_name(inference_request: FakeRequest, name: str) -> FakeTensor | None:
        return next((tensor for tensor in inference_request.inputs() if tensor.name() == name), None)


class FencedOs:
    """``os`` for a module under test that ends processes: signals reach only processes with our mark in their
    environment, whatever fault the module has. All others are noted, as is the end of this process."""

    MARK = "TRITON_WIZARD_TEST_ENGINE"

    def __init__(self) -> None:
        self.strays: list[tuple[str, int, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def kill(self, pid: int, number: int) -> None:
        if self._ours(pid):
            os.kill(pid, number)
        else:
            self.strays.append(("kill", pid, number))

    def killpg(self, group: int, number: int) -> None:
        if group > 1 and self._ours(group):
            os.killpg(group, number)
        else:
            self.strays.append(("killpg", group, number))

    def _exit(self, status: int) -> None:
        raise SystemExit(status)

    def _ours(self, pid: int) -> bool:
        with contextlib.suppress(PermissionError):
            try:
                for _ in range(1000):  # a process has no environment while it becomes another program
                    if environment := Path(f"/proc/{pid}/environ").read_bytes():
                        return self.MARK.encode() in environment
            except FileNotFoundError:
                raise ProcessLookupError from None
        return False


def load(path: Path, name: str) -> ModuleType:
    """A file as a module of its own, as the stub and the engine environments import it: not as part of the wizard, and
    with the other files of its folder beside it.
    """
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> FakeTritonUtils:
    """The stub's own module, which models import."""
    utils = FakeTritonUtils()
    monkeypatch.setitem(sys.modules, utils.__name__, utils)
    for name in ("stub", "stub.text_requests", "stub.work_gauges", "stub.engine_replicas", "stub.model"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    return utils
