"""The journal: completed steps, as append-only JSON lines. A killed run is resumed from it.

A workspace has a single journal, because its servers share environments and weights: a step is identified by its
fingerprint, regardless of the server that it ran for.
"""

from __future__ import annotations

import json
from pathlib import Path

from wizard.kernel.errors import UsageError, WorkspaceError
from wizard.kernel.language import tr
from wizard.kernel.lines import append
from wizard.kernel.secrets import redact
from wizard.kernel.values import messages, to_json
from wizard.model import manifest
from wizard.plan.plan import Step
from wizard.run.events import Event, Output, Progress, StepFinished, event_data, read_event


class Journal:
    """The journal in ``path``; created when the first event is added."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, server: str, event: Event) -> None:
        """Append an event and sync it to disk; output and progress are only in the step's log.

        Raises:
            WorkspaceError: TW-R01 if it is not writable.
        """
        if isinstance(event, (Output, Progress)):
            return
        line = redact(to_json({"server": server, **event_data(event), "messages": messages(event)}))
        try:
            append(self._path, line)
        except OSError as error:
            raise WorkspaceError(
                "TW-R01",
                tr("cannot write the journal {path}: {why}", path=self._path, why=error.strerror),
                tr("Free some space or fix the permissions; completed steps are kept, and `up` resumes from there."),
            ) from error

    def events(self, server: str | None = None) -> list[Event]:
        """All events, or those of ``server``, oldest first; incomplete and foreign lines are skipped."""
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []
        events: list[Event] = []
        for line in lines:
            try:
                data = json.loads(line)
                if server in (None, data.get("server")):
                    events.append(read_event(data, where=str(self._path)))
            except (ValueError, AttributeError, UsageError):
                continue
        return events

    def made(self, server: str, name: str) -> tuple[int, int] | None:
        """The state of the result ``name`` when a step last completed for ``server``; None if none made it."""
        events = self.events(server)
        states = (event.made.get(name) for event in reversed(events) if isinstance(event, StepFinished) and event.made)
        return next((state for state in states if state), None)

    def last(self, server: str) -> dict[str, str]:
        """Step ID → fingerprint of the step when it was last completed for ``server``."""
        events = (event for event in self.events(server) if isinstance(event, StepFinished))
        return {event.step: event.fingerprint for event in events if event.outcome == "done"}

    def finished(self) -> dict[str, StepFinished]:
        """Step fingerprint → its completion, for every step that was completed and did not fail in a later run."""
        finished: dict[str, StepFinished] = {}
        for event in self.events():
            if isinstance(event, StepFinished) and event.outcome == "done":
                finished[event.fingerprint] = event
            elif isinstance(event, StepFinished) and event.outcome in ("failed", "cancelled"):
                finished.pop(event.fingerprint, None)
        return finished


def made(step: Step) -> dict[str, tuple[int, int]]:
    """Path → (size, modification time in ns) of the files that ``step`` creates; missing ones are omitted.

    A manifest stands for the files that it lists: it has their total size, and a number made of their states.
    """
    states: dict[str, tuple[int, int]] = {}
    for name in step.done.files:
        if name.endswith(manifest.SUFFIX):
            if listed := manifest.states(Path(name)):
                states[name] = listed
            continue
        try:
            stat = Path(name).stat()
        except OSError:
            continue
        states[name] = (stat.st_size, stat.st_mtime_ns)
    return states


def still_done(step: Step, before: StepFinished | None) -> bool:
    """Whether the results of ``step`` are unchanged since its completion ``before`` (None: it was never completed)."""
    return (
        before is not None
        and bool(step.done.files)
        and before.made == made(step)
        and len(before.made) == len(step.done.files)
    )
