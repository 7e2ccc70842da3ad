"""Events of a running plan, as values. Every interface shows them; the journal stores them as JSON lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from wizard.kernel.values import from_data, to_data
from wizard.serve.endpoint import Endpoint

SPOKEN_STEPS = frozenset({"question"})
"""Steps whose output is for the user: the answer to the first question."""
Outcome: TypeAlias = Literal["done", "skipped", "omitted", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step begins. ``index`` counts from 1 to ``count``."""

    step: str
    title: str
    index: int
    count: int
    at: float


@dataclass(frozen=True, slots=True)
class Output:
    """Whole lines of output without their newlines. Not in the journal; the step's log file has them all."""

    step: str
    lines: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a step. ``fraction`` is 0 to 1, or None while only ``text`` is known. Not in the journal.

    ``activity`` is the running part of the step, such as "loading the weights", whose fraction it is; empty if the
    progress is the whole step's. ``eta_s`` follows from measured progress only.
    """

    step: str
    fraction: float | None
    eta_s: float | None
    text: str
    at: float
    activity: str = ""


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A step ends. ``skipped`` means: completed earlier and unchanged since; ``omitted``: skipped by the user.

    ``cancelled`` is in the journal only: stopping a run closes its stream, so there are no further events. A step that
    must run again is recorded in the same way, before the run begins.
    """

    step: str
    outcome: Outcome
    seconds: float
    reason: str
    at: float
    fingerprint: str = ""
    """Fingerprint of the step's definition, so that a changed step runs again."""
    made: dict[str, tuple[int, int]] | None = None
    """Path → (size in bytes, modification time in ns) of its results, so that a damaged result is recreated. An image's
    name → its size, and a number that is another for another image."""
    error: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """The model is ready at ``endpoint``; ``proof`` is what is known of its files and its image, or empty."""

    endpoint: Endpoint
    at: float
    proof: str = ""


Event: TypeAlias = StepStarted | Output | Progress | StepFinished | Ready

_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (StepStarted, Output, Progress, StepFinished, Ready)}


def event_data(event: Event) -> dict[str, Any]:
    """The event as JSON data: its fields, its type under ``event``, and for `Ready` the base URL under ``url``."""
    url = {"url": event.endpoint.http} if isinstance(event, Ready) else {}
    return {"event": type(event).__name__, **to_data(event), **url}


def read_event(data: dict[str, Any], *, where: str) -> Event:
    """Read an event back; see `wizard.kernel.values.from_data` for the errors."""
    kind = _KINDS.get(str(data.get("event")))
    fields = {key: value for key, value in data.items() if key not in ("event", "server", "url")}
    # An unknown type fails as a StepStarted that lacks its fields.
    return cast("Event", from_data(kind or StepStarted, fields, where=where))
