"""Live output of a cell: a single display that is updated, or lines outside a notebook."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from wizard.advise import calibration
from wizard.advise.calibration import Measurement
from wizard.chat.chunk import Chunk, Text
from wizard.kernel.errors import WizardError
from wizard.kernel.language import tr
from wizard.kernel.secrets import redact
from wizard.kernel.text import plain
from wizard.kernel.units import duration
from wizard.notebook.html import answer_html, measured_html, progress_html
from wizard.plan.plan import Plan
from wizard.run.events import SPOKEN_STEPS, Event, Output, Progress, Ready, StepFinished, StepStarted
from wizard.run.fix import fix_of

EVERY_S = 0.1
"""Seconds between two updates of an output; a browser redraws all of it."""


def shell() -> Any:
    """IPython's shell if this code runs in it, else None; does not import IPython."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module else None


def in_notebook() -> bool:
    """Whether there is a front end that shows HTML and updates it."""
    return getattr(shell(), "kernel", None) is not None


class Place:
    """A place whose HTML is replaced, at most every `EVERY_S`; the latest is always shown in the end.

    Args:
        put: Shows HTML instead of the previous.
    """

    def __init__(self, put: Callable[[str], None]) -> None:
        self._put = put
        self._lock = threading.Lock()
        self._at = 0.0
        self._later: threading.Timer | None = None
        self._latest = ""

    def show(self, html: str, *, now: bool) -> None:
        """Show ``html``; unless ``now``, perhaps a little later, or not at all if another follows."""
        with self._lock:
            self._latest = html
            wait = self._at + EVERY_S - time.monotonic()
            if now or wait <= 0:
                self._show()
            elif self._later is None:
                self._later = threading.Timer(wait, self._late)
                self._later.daemon = True
                self._later.start()

    def _late(self) -> None:
        with self._lock:
            if self._later is not None:
                self._show()

    def _show(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self._put(self._latest)
        self._at = time.monotonic()


def cell_output() -> Place:
    """An output of the cell, updated in place."""
    handle: Any = None

    def put(html: str) -> None:
        nonlocal handle
        from IPython.display import HTML, display

        if handle is None:
            handle = display(HTML(html), display_id=True)
        else:
            handle.update(HTML(html))

    return Place(put)


class LiveRun:
    """Shows the events of a run.

    Args:
        place: Where; by default in the cell's output, or as printed lines outside a notebook.
        lines: Lines of the running step's output.
        plan: What is run, if the command that fixes a known failure is to be shown.
    """

    def __init__(self, place: Place | None = None, lines: int = 5, plan: Plan | None = None) -> None:
        self._display = place or (cell_output() if in_notebook() else None)
        self._plan = plan
        self._done: list[tuple[str, str]] = []
        self._head = ""
        self._progress: Progress | None = None
        self._tail: deque[str] = deque(maxlen=lines)

    def __enter__(self) -> LiveRun:
        return self

    def __exit__(self, kind: object, error: object, _: object) -> None:
        if kind is KeyboardInterrupt:
            self.end()
        elif isinstance(error, WizardError):  # which the notebook shows below
            self._fix(error)
            self._redraw()

    def show(self, event: Event) -> None:
        """Show an event."""
        match event:
            case StepStarted():
                self._head, self._progress = f"[{event.index}/{event.count}] {event.title}", None
                self._tail.clear()
            case Output():
                self._tail.extend(plain(line) for line in event.lines)
            case Progress():
                self._progress = event
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
            html = progress_html(self._done, self._head, self._progress, tuple(self._tail))
            self._display.show(html, now=not isinstance(event, (Output, Progress)))

    def compare(self, measurement: Measurement) -> None:
        """Show the server's measured and predicted memory."""
        if in_notebook():
            cell_output().show(measured_html(measurement), now=True)
        else:
            print(calibration.text(measurement), flush=True)

    def end(self, error: WizardError | None = None) -> None:
        """Show that the run ended early: by ``error``, or because it was stopped."""
        if self._head:
            self._end(self._head, tr("stopped"))
        if error:
            self._end(error.code, f"{error.what} → {error.todo}")
            self._fix(error)
        self._redraw()

    def _fix(self, error: WizardError) -> None:
        """The command that fixes a known failure; no cell has a terminal in which sudo could ask."""
        if fix := fix_of(error, self._plan, terminal=False):
            self._end("", f"{fix.label}\n$ {fix.command}")

    def _redraw(self) -> None:
        if self._display:
            self._display.show(progress_html(self._done, "", None, ()), now=True)

    def _finish(self, event: StepFinished) -> None:
        self._end(self._head, _outcome(event))
        if event.step in SPOKEN_STEPS and self._tail:
            self._end("", "\n".join(self._tail))
        self._head = ""

    def _end(self, title: str, how: str) -> None:
        self._done.append((title, how))
        if self._display is None:
            print(redact(plain(f"{title} … {how}" if title else how)), flush=True)


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
        self._display = cell_output() if in_notebook() else None
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
