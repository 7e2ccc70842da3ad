"""Live output of a cell: a single display that is updated, or lines outside a notebook."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Any

from wizard.advise import calibration
from wizard.advise.calibration import Measurement
from wizard.chat.chunk import Chunk, Text
from wizard.kernel.language import tr
from wizard.kernel.text import plain
from wizard.kernel.units import duration
from wizard.notebook.html import answer_html, measured_html, progress_html
from wizard.run.events import SPOKEN_STEPS, Event, Output, Progress, Ready, StepFinished, StepStarted

EVERY_S = 0.1
"""Seconds between two updates of an output; a browser redraws all of it."""


def shell() -> Any:
    """IPython's shell if this code runs in it, else None; does not import IPython."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module else None


def in_notebook() -> bool:
    """Whether there is a front end that shows HTML and updates it."""
    return getattr(shell(), "kernel", None) is not None


class _Display:
    """An output of the cell, updated in place."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._at = 0.0

    def show(self, html: str, *, now: bool) -> None:
        from IPython.display import HTML, display

        if self._handle is None:
            self._handle = display(HTML(html), display_id=True)
        elif now or time.monotonic() - self._at >= EVERY_S:
            self._handle.update(HTML(html))
        else:
            return
        self._at = time.monotonic()


class LiveRun:
    """Shows the events of a run."""

    def __init__(self) -> None:
        self._display = _Display() if in_notebook() else None
        self._done: list[tuple[str, str]] = []
        self._head = ""
        self._fraction: float | None = None
        self._tail: deque[str] = deque(maxlen=5)

    def show(self, event: Event) -> None:
        """Show an event."""
        match event:
            case StepStarted():
                self._head, self._fraction = f"[{event.index}/{event.count}] {event.title}", None
                self._tail.clear()
            case Output():
                self._tail.extend(plain(line) for line in event.lines)
            case Progress():
                self._fraction = event.fraction
            case StepFinished():
                self._finish(event)
            case Ready():
                self._end(tr("ready"), f"{event.endpoint.http} (gRPC {event.endpoint.grpc})")
                if event.endpoint.openai:
                    self._end("OpenAI", event.endpoint.openai)
                if event.proof:
                    self._end(tr("Model"), event.proof)
            case _:
                return
        if self._display:
            html = progress_html(self._done, self._head, self._fraction, tuple(self._tail))
            self._display.show(html, now=not isinstance(event, (Output, Progress)))

    def compare(self, measurement: Measurement) -> None:
        """Show the server's measured and predicted memory."""
        if in_notebook():
            _Display().show(measured_html(measurement), now=True)
        else:
            print(calibration.text(measurement), flush=True)

    def _finish(self, event: StepFinished) -> None:
        self._end(self._head, _outcome(event))
        if event.step in SPOKEN_STEPS and self._tail:
            self._end("", "\n".join(self._tail))
        self._head = ""

    def _end(self, title: str, how: str) -> None:
        self._done.append((title, how))
        if self._display is None:
            print(f"{plain(title)} … {plain(how)}" if title else plain(how), flush=True)


def _outcome(event: StepFinished) -> str:
    """How a step ended, and the reason if it failed."""
    took, why = duration(event.seconds), event.reason
    if event.outcome == "done":
        return tr("done in {time}", time=took)
    if event.outcome == "omitted":
        return why
    if event.outcome == "failed":
        return tr("failed: {why}", why=why) if why else tr("failed")
    if event.outcome == "cancelled":
        return tr("stopped: {why}", why=why) if why else tr("stopped")
    return tr("skipped: {why}", why=why) if why else tr("skipped")


class LiveAnswer:
    """Shows a streamed answer."""

    def __init__(self) -> None:
        self._display = _Display() if in_notebook() else None
        self._text = Text()

    def add(self, chunk: Chunk) -> None:
        """Show another piece; outside a notebook, of the answer only."""
        self._text.add(chunk)
        if self._display:
            self._display.show(answer_html(self._text.answer, self._text.thought), now=False)
        else:
            print(plain(chunk.text), end="", flush=True)

    def end(self) -> None:
        """Show the complete answer."""
        if self._display:
            self._display.show(answer_html(self._text.answer, self._text.thought), now=True)
        else:
            print(flush=True)
