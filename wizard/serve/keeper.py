"""Keep a server running: ``python -m wizard.serve.keeper SERVER_FOLDER``, as `wizard.serve.care` starts it.

It learns of the end of a process at once (pidfd_open(2), Linux 5.3) and looks for other symptoms every few seconds. A
restart is the start of the accepted plan. Restarts that follow each other closely get rarer and end at last: what
prevents several in a row (a defect, a lost GPU, memory that others took) does not pass without the user.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from wizard.kernel import proctable
from wizard.kernel.errors import ServerError, WizardError
from wizard.kernel.language import join, tr
from wizard.kernel.paths import ServerFolder
from wizard.kernel.secrets import redact
from wizard.kernel.units import duration
from wizard.kernel.values import from_json
from wizard.plan.plan import Plan, Start, Wait
from wizard.probe.live import Monitor, Reading
from wizard.serve import care, find, gateway, log_files, ready
from wizard.serve.care import Care
from wizard.serve.endpoint import Endpoint
from wizard.serve.launch import launch
from wizard.serve.stop import stop_processes
from wizard.serve.symptoms import Symptoms

LOOK_S = 2.0
"""Seconds between two looks for symptoms."""
PAUSES_S = (0.0, 1.0, 5.0, 15.0, 30.0)
"""Before each restart within `WINDOW_S`; after as many it gives up."""
WINDOW_S = 600.0
GONE_S = 2.0
"""Seconds for an ended process to be gone with all its threads."""
LAST_LINES_S = 0.3
"""Seconds for the last lines of an ended server to reach its log; a process that outlives it may hold that open."""


def pause(restarts: Iterable[float], now: float) -> float | None:
    """Seconds to wait before another restart, after those at the times ``restarts``; None to give up."""
    recent = sum(now - at < WINDOW_S for at in restarts)
    return PAUSES_S[recent] if recent < len(PAUSES_S) else None


@dataclass(slots=True)
class Keeper:
    """Keeps the server of a folder running.

    Attributes:
        server: The folder.
        plan: The plan that started it.
        readings: The GPUs' readings; None if there are none.
        state: What was noted.
    """

    server: ServerFolder
    plan: Plan
    readings: Callable[[], Reading] | None
    state: Care
    _restarts: list[float] = field(default_factory=list)

    async def keep(self) -> None:
        """Watch the server and restart it, until it was stopped, or this gives up."""
        while endpoint := find.note(self.server):
            symptoms = Symptoms(self.server, endpoint, self.readings)
            reason, hopeless = await self._watched(endpoint, symptoms)
            while reason:
                if hopeless or (wait := pause(self._restarts, time.monotonic())) is None:
                    self._give_up(reason, hopeless)
                    return
                self._note(reason, "restarting")
                await asyncio.sleep(wait)
                self._restarts.append(time.monotonic())
                reason = await self._restarted(endpoint, symptoms)

    async def _watched(self, endpoint: Endpoint, symptoms: Symptoms) -> tuple[str, bool]:
        """Why the server must be restarted, and whether that is useless; returns when it must."""
        processes = [endpoint.pid]
        if not endpoint.remove and (model := find.model_process(endpoint)):
            processes.append(model.pid)
        until = float("inf")
        async with _ended(processes) as ended:
            while True:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(ended.wait(), LOOK_S)
                if ended.is_set():
                    until = min(until, time.monotonic() + GONE_S)
                    await _complete(Path(endpoint.log))
                lost = await asyncio.to_thread(symptoms.lost_gpu)
                reason = join("; ", await asyncio.to_thread(symptoms.look), lost)
                if not reason and time.monotonic() > until:
                    reason = tr("one of its processes exited")
                if reason:
                    return redact(join("; ", reason, await asyncio.to_thread(symptoms.xid))), bool(lost)
                if ended.is_set():  # its other threads are still ending
                    await asyncio.sleep(ready.POLL_SECONDS)

    async def _restarted(self, before: Endpoint, symptoms: Symptoms) -> str:
        """Restart the server that was at ``before``; why that failed, or empty."""
        actions = [action for step in self.plan.steps for action in step.actions]
        start = next(action for action in actions if isinstance(action, Start))
        seconds = next(action.seconds for action in actions if isinstance(action, Wait))
        if start.container and before.image_id:
            start = start.naming(start.container.image, before.image_id)
        facts = self.plan.facts
        ref = facts.ref if facts.source == "hub" else facts.name
        try:
            await stop_processes(self.server)
            endpoint, _ = launch(start, self.server, ref, image=before.image)
            with contextlib.suppress(WizardError):
                await asyncio.to_thread(gateway.start, self.server.workspace)
            async with aclosing(ready.wait(endpoint, seconds)) as lines:
                async for _ in lines:
                    pass
        except (ServerError, OSError) as error:
            if (hanging := find.note(self.server)) and find.alive(hanging):
                with contextlib.suppress(ServerError):
                    await stop_processes(self.server)
            why = error.what if isinstance(error, ServerError) else str(error)
            return redact(join("; ", why, await asyncio.to_thread(symptoms.xid)))
        self.state = replace(self.state, restarts=self.state.restarts + 1)
        self._note(self.state.reason, "watching", self.state.log)
        return ""

    def _give_up(self, reason: str, hopeless: bool) -> None:
        why = tr("restarting does not help")
        if not hopeless:
            counted = len(PAUSES_S)
            why = tr("{count} restarts within {time}", count=counted, time=duration(WINDOW_S))
        self._note(tr("{reason} ({why})", reason=reason, why=why), "given up")

    def _note(self, reason: str, state: care.State, log: str = "") -> None:
        log = log or str(self.server.newest_log.resolve())
        self.state = replace(self.state, reason=reason, log=log, at=time.time(), state=state)
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {state}: {reason}", flush=True)
        with contextlib.suppress(OSError):  # a full disk must not end it
            care.write(self.server, self.state)


@asynccontextmanager
async def _ended(pids: Iterable[int]) -> AsyncIterator[asyncio.Event]:
    """An event that is set once one of the processes has ended; never where the kernel cannot tell."""
    loop, event, opened = asyncio.get_running_loop(), asyncio.Event(), list[int]()
    try:
        for pid in pids:
            try:
                opened.append(os.pidfd_open(pid))
            except ProcessLookupError:
                event.set()
            except OSError:  # Linux before 5.3
                continue
        for each in opened:
            loop.add_reader(each, event.set)
        yield event
    finally:
        for each in opened:
            loop.remove_reader(each)
            os.close(each)


async def _complete(log: Path) -> None:
    """Wait until the last lines of an ended server are in its log, so that they can show the cause."""
    until = time.monotonic() + LAST_LINES_S
    while not log_files.is_complete(log) and time.monotonic() < until:  # noqa: ASYNC110 -- other processes
        await asyncio.sleep(ready.POLL_SECONDS)


def main() -> None:
    """Keep the server in the first argument running."""
    server = ServerFolder(Path(sys.argv[1]))
    plan = from_json(Plan, server.plan.read_text(encoding="utf-8"), where=str(server.plan))
    state = Care(os.getpid(), proctable.start_time(os.getpid()))
    with contextlib.closing(Monitor()) as monitor:
        readings = monitor.read if monitor.read().gpus else None
        asyncio.run(Keeper(server, plan, readings, state).keep())


if __name__ == "__main__":
    main()
