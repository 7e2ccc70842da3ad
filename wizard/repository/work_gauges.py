"""What Triton's metrics report about a model's work, so that a model that gets stuck can be told from a busy one.

The wizard copies this file beside its models; it runs in Triton's Python stub (3.9 or newer).
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import triton_python_backend_utils as pb_utils

SECONDS = 1.0
"""Between two reports: each is a message to Triton's process."""


class WorkGauges:
    """Counts requests and the pieces of their answers; a thread reports both while requests run.

    Nothing is reported if metrics are off, or if the release has no custom metrics (before 23.05). If the model hangs,
    so that the thread stops too, the last report stays: requests run, and no piece comes.
    """

    def __init__(self, model: str) -> None:
        self._running = self._steps = 0
        self._reported = (-1, -1)
        self._changed = threading.Condition()
        self._metrics: list[tuple[Any, Any]] = []
        with contextlib.suppress(Exception):
            for name, about in (
                ("running", "Requests that the model is answering"),
                ("steps", "Pieces of answers, and answers that ended"),
            ):
                family = pb_utils.MetricFamily
                made = family(name=f"triton_wizard_work_{name}", description=about, kind=family.GAUGE)
                self._metrics.append((made, made.Metric(labels={"model": model})))
            threading.Thread(target=self._report, daemon=True).start()

    def begin(self) -> None:
        """A request has arrived."""
        with self._changed:
            self._running += 1
            self._changed.notify()

    def step(self) -> None:
        """A piece of an answer is there."""
        self._steps += 1  # of several threads one may get lost; the number only has to grow

    def end(self) -> None:
        """An answer has ended."""
        with self._changed:
            self._running -= 1
            self._steps += 1
            self._changed.notify()

    def _report(self) -> None:
        pause = threading.Event()
        while True:
            now = (self._running, self._steps)
            if now != self._reported:
                self._reported = now
                with contextlib.suppress(Exception):  # no request fails because of a metric
                    for number, (_, metric) in enumerate(self._metrics):
                        metric.set(now[number])
            with self._changed:
                self._changed.wait_for(lambda: self._running or (self._running, self._steps) != self._reported)
            pause.wait(SECONDS)
