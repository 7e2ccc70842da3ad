"""Print events in any terminal and any pipe: one line per step, or sentences for screen readers."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import TextIO

from wizard.kernel.language import tr
from wizard.kernel.text import is_terminal, one_line, plain, width
from wizard.kernel.units import duration
from wizard.prompts.speech import fitted
from wizard.prompts.value_text import columns
from wizard.run.events import SPOKEN_STEPS, Event, Output, Progress, Ready, StepFinished, StepStarted

SELDOM_S = 10.0
"""Minimum seconds between two lines of progress if the line cannot be overwritten."""
TAIL_LINES = 10
"""Lines of a failed step's output to show."""
COLOURS = {"done": "32", "skipped": "33", "omitted": "33", "failed": "31", "cancelled": "33"}
"""SGR codes (ECMA-48) by outcome; the word is always printed too."""


def clip(text: str, limit: int) -> str:
    """``text`` truncated to ``limit`` columns, with ``…`` for the missing part."""
    if width(text) <= limit:
        return text
    while text and width(text) > limit - 1:
        text = text[:-1]
    return text + "…"


class EventPrinter:
    """Shows events: one line per step.

    On a real terminal the running step's line is overwritten with its progress; elsewhere progress is a separate line
    at most every `SELDOM_S` seconds.

    Args:
        out: The output stream.
        verbose: Show all output of the steps.
        explanation: Step ID → its explanation, shown before the step; None shows none.
        aloud: Whole sentences and no overwriting, for screen readers.
    """

    def __init__(
        self,
        out: TextIO,
        verbose: bool = False,
        explanation: Callable[[str], str] | None = None,
        *,
        aloud: bool = False,
    ) -> None:
        self._out = out
        self._aloud = aloud
        self._verbose = verbose
        self._explanation = explanation
        terminal = is_terminal(out) and os.environ.get("TERM", "dumb") != "dumb" and not aloud
        self._in_place = terminal
        self._coloured = terminal and not os.environ.get("NO_COLOR")
        self._head = ""
        """``[2/6] Get the model`` of the running step; empty between steps."""
        self._open = False
        """Whether the cursor stands behind a line that is not ended yet."""
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._said_at = 0.0

    def show(self, event: Event) -> None:
        """Show an event. A failed step shows its error's code; the engine raises the error itself."""
        match event:
            case StepStarted():
                self._start(event)
            case Output():
                self._output(event)
            case Progress():
                self._progress(event)
            case StepFinished():
                self._finish(event)
            case Ready():
                where = event.endpoint
                name, http, grpc = plain(where.name), where.http, where.grpc
                self._line(tr("{name} is ready: {http} (gRPC {grpc})", name=name, http=http, grpc=grpc))
                if where.openai:
                    self._line(tr("OpenAI-compatible: {url}", url=where.openai))
                if event.proof:
                    self._line(plain(tr("Model: {proof}", proof=event.proof)))

    def end(self) -> None:
        """End the line of an interrupted step."""
        if self._open:
            self._write("\n")
            self._open = False

    def _start(self, event: StepStarted) -> None:
        title = one_line(event.title)
        self._head = f"[{event.index}/{event.count}] {title}"
        if self._aloud:
            self._head = tr("Step {number} of {count}", number=event.index, count=event.count)
        self._tail.clear()
        self._said_at = event.at
        if self._explanation and (explanation := self._explanation(event.step)):
            self._line(f"\n{explanation}")
        if self._aloud:
            self._line(f"{self._head}: {title}")
        else:
            self._replace(f"{self._head} …")

    def _output(self, event: Output) -> None:
        lines = [plain(line) for line in event.lines]
        if self._verbose or event.step in SPOKEN_STEPS:
            for line in lines:
                self._line(f"      {line}")
            return
        self._tail.extend(lines)
        if self._in_place and lines:
            self._replace(f"{self._head} … {lines[-1].strip()}")

    def _progress(self, event: Progress) -> None:
        activity = one_line(event.activity)
        if event.fraction is None:
            done = activity or one_line(event.text)
        else:
            done = f"{event.fraction:.0%}"
            if event.eta_s is not None:
                done = tr("{share}, {time} left", share=done, time=duration(event.eta_s))
            done = f"{activity}: {done}" if activity else done
        if self._in_place:
            self._replace(f"{self._head} … {done}")
        elif event.at - self._said_at >= SELDOM_S:
            self._said_at = event.at
            self._line(f"{self._head}: {done}" if self._aloud else f"{self._head} … {done}")

    def _finish(self, event: StepFinished) -> None:
        took, why = duration(event.seconds), one_line(event.reason)
        words = {
            "done": tr("done in {time}", time=took),
            "skipped": tr("skipped: {why}", why=why) if why else tr("skipped"),
            "omitted": why,
            "failed": tr("failed after {time}", time=took),
            "cancelled": tr("stopped after {time}", time=took),
        }[event.outcome]
        if event.outcome == "failed" and event.error:
            words += f" ({plain(event.error.get('code', ''))})"
        if self._coloured:
            words = f"\x1b[{COLOURS[event.outcome]}m{words}\x1b[0m"
        if self._aloud:
            self._line(f"{self._head}: {words}")
        elif self._open and not self._in_place:
            self._write(f" {words}\n")
        else:
            self._erase()
            self._write(f"{self._head} … {words}\n")
        self._open, self._head = False, ""
        if event.outcome == "failed":
            for line in self._tail:
                self._line(f"      {line}")

    def _line(self, text: str) -> None:
        """Print a complete line; an incomplete line is overwritten, or ended."""
        if self._open and not self._in_place:
            self._write("\n")
        self._erase()
        self._write(f"{fitted(text) if self._aloud else text}\n")
        self._open = False

    def _replace(self, text: str) -> None:
        """Make ``text`` the incomplete line, within the terminal's width so that it can be overwritten."""
        self._erase()
        self._write(clip(one_line(text), columns(self._out) - 1) if self._in_place else text)
        self._open = True

    def _erase(self) -> None:
        if self._open and self._in_place:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
