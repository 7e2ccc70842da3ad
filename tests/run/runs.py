"""Runs of the engine: small plans and servers, and what a run says of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from tests.values import python_step
from wizard.kernel.errors import ServerError, StepError, UsageError, WorkspaceError
from wizard.plan.plan import Plan, Start, Step, Wait
from wizard.plan.ports import Ports
from wizard.run.engine import run
from wizard.run.events import Event, StepFinished


async def events_of(plan: Plan, **asked: Any) -> tuple[list[Event], Exception | None]:
    """All events, and the error at the end: these plans start no server, so TW-S02 means that all steps were done."""
    events: list[Event] = []
    try:
        async for event in run(plan, **asked):
            events.append(event)
    except (StepError, UsageError, WorkspaceError, ServerError) as error:
        return events, error
    return events, None


def outcomes(events: list[Event]) -> dict[str, str]:
    return {event.step: event.outcome for event in events if isinstance(event, StepFinished)}


def touch(path: Path) -> str:
    return f"open({str(path)!r}, 'a').write('x'); print('made')"


DRIVER = """
import asyncio, sys
from wizard.kernel.values import from_json
from wizard.plan.plan import Plan
from wizard.run.diagnose import CommandError
from wizard.run.engine import run
async def main():
    async for event in run(from_json(Plan, open(sys.argv[1]).read(), where="plan")):
        print(type(event).__name__, getattr(event, "lines", ""), flush=True)
asyncio.run(main())
"""


def fake_server(code: str) -> tuple[Start, Wait]:
    """A program in Triton's place, for the ways of dying that the real one cannot be made to show on purpose."""
    ports = Ports(18500, 18501, 18502)
    start = Start((sys.executable, "-c", code, "--"), (("PATH", os.environ["PATH"]),), ports, "test")
    return start, Wait("test", ports, 30.0)


def chain(folder: Path) -> list[Step]:
    """Three steps, each with a folder of its own; the second reads what the first made, the third reads neither."""
    paths = {name: folder / name / "made" for name in ("one", "two", "three")}
    for path in paths.values():
        path.parent.mkdir(parents=True)
    return [
        python_step(name, touch(path), path, reads=(paths["one"],) if name == "two" else ())
        for name, path in paths.items()
    ]
