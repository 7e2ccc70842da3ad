"""Run a plan: an asynchronous stream of events that can be stopped at any time and resumed later."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncGenerator, Mapping, Set
from contextlib import aclosing, closing
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from wizard.advise.calibration import rows
from wizard.kernel import proctable
from wizard.kernel.errors import ServerError, UsageError, WizardError, WorkspaceError
from wizard.kernel.files import write_whole
from wizard.kernel.language import join, tr
from wizard.kernel.lock import is_stopping, writing
from wizard.kernel.paths import ServerFolder, Workspace
from wizard.kernel.process import stop_group
from wizard.kernel.reasons import unwritten
from wizard.kernel.secrets import redact
from wizard.kernel.values import to_document
from wizard.plan.artefacts import dependants, fingerprints
from wizard.plan.plan import MADE_FROM, Action, Command, Image, Plan, Start, Step, Wait, Write
from wizard.run.capture import Capture
from wizard.run.command import Place, carry, clean, clean_up, shown
from wizard.run.events import Event, Outcome, Output, Ready, StepFinished, StepStarted
from wizard.run.image import ExactImage, exact
from wizard.run.journal import Journal, made, still_done
from wizard.run.overrides import check
from wizard.run.progress import Meter
from wizard.serve import calibration, care, find, gateway, launch, measured, proof, ready
from wizard.serve.endpoint import Endpoint
from wizard.serve.exposure import Exposure
from wizard.serve.log import ends
from wizard.serve.status import status as look
from wizard.serve.stop import stop


async def run(
    plan: Plan,
    *,
    redo: Set[str] = frozenset(),
    skip: Set[str] = frozenset(),
    exposure: Exposure | None = None,
    keep: bool | None = None,
) -> AsyncGenerator[Event, None]:
    """Run every step that is not completed and yield its events; the last event is `Ready`.

    Closing the iterator, or cancelling the task that drives it, stops the running step with its whole process group;
    completed steps are kept. A started server keeps running.

    Args:
        plan: The plan.
        redo: IDs of completed steps to run again, with all steps that read what they write; so are steps that read what
            was recreated because it was missing or had changed. The journal records it: a later run reruns the
            remaining ones if this one is stopped.
        skip: IDs of steps to skip this time, with precedence over ``redo``; the next run includes them.
        exposure: Who can reach the OpenAI-compatible address, checked; None: unchanged, or this machine only.
        keep: Whether the server is restarted when it fails; None: unchanged, or not.

    Raises:
        UsageError: TW-R02 if the plan was made for another machine, TW-R07 if a step is unknown, TW-R08 if a step
            cannot be skipped.
        WorkspaceError: TW-K03, TW-K04, TW-R01, TW-R04 if the workspace is not usable.
        StepError: TW-R03 if a command fails.
        ServerError: TW-S03 to TW-S06 if Triton does not start, TW-S11 if it does not serve as planned.
    """
    if not plan.is_for_here:
        raise UsageError(
            "TW-R02",
            tr("this plan was made for {host}, not for this machine", host=plan.host),
            tr("View it with `plan`, or run it on that machine."),
        )
    check(plan, redo, skip)
    workspace = Workspace(Path(plan.workspace))
    workspace.make()
    waited = False
    while is_stopping(workspace):
        waited = True
        await asyncio.sleep(ready.POLL_SECONDS)
    with writing(workspace):
        if waited:
            text = tr("Waited for another wizard that was stopping servers here.")
            yield Output(plan.steps[0].id, (text,), time.time())
        server = workspace.server(plan.name)
        await end_strays(workspace)
        again = set(dependants(plan.steps, redo))
        carried = _Run(plan, workspace, server, Journal(workspace.journal), again, skip, exposure, keep)
        async with aclosing(carried.events()) as events:
            async for event in events:
                yield event


async def end_strays(workspace: Workspace) -> None:
    """Stop processes that a killed wizard left running."""
    for group in {row.group for row in proctable.orphans(workspace.root)}:
        if group != os.getpgrp():
            await stop_group(group)


@dataclass(slots=True)
class _Run:
    plan: Plan
    workspace: Workspace
    server: ServerFolder
    journal: Journal
    redo: set[str]
    """IDs of steps that run regardless of the journal; extended by what this run recreates."""
    skip: Set[str]
    exposure: Exposure | None
    keep: bool | None
    """Whether the server is kept running; None: as before."""
    started: Endpoint | None = None
    """The server, if this run started it; its process may have exited since."""
    image: ExactImage | None = None
    """The image of the plan's containers, once this run knows it."""
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    finished: dict[str, StepFinished] = field(default_factory=dict)
    """Completed steps that need not run again, by their fingerprints."""

    async def events(self) -> AsyncGenerator[Event, None]:
        self.fingerprints = fingerprints(self.plan.steps)
        self._write(self.server.plan, to_document(self.plan))
        self.finished = self.journal.finished()
        # The final fingerprints have the ID of the image, which this run does not know yet, nor whether it gets so far.
        images = any(step.image for step in self.plan.steps)
        self._forget(self.redo, self.journal.last(self.plan.name) if self.redo and images else {})
        for index, step in enumerate(self.plan.steps, 1):
            started = StepStarted(step.id, step.title, index, len(self.plan.steps), time.time())
            self.journal.add(self.plan.name, started)
            yield started
            if step.id not in self.skip:
                mark = self.fingerprints[step.id]
                if still_done(step, self.finished.get(mark)) or await self._is_served(step):
                    yield self._end(step, "skipped", time.monotonic(), tr("already done and unchanged"))
                    continue
                if step.done.files:  # a step without conditions always runs, and invalidates nothing
                    users = dependants(self.plan.steps, {step.id})
                    self.redo |= users
                    self._forget(users - {step.id})
            async with aclosing(self._recorded(step)) as events:
                async for event in events:
                    yield event
        endpoint = find.endpoint(self.workspace, self.plan.name)
        try:
            endpoint = await asyncio.to_thread(gateway.ensure, self.workspace, endpoint, self.exposure)
        except WizardError as error:  # the model is served all the same
            yield Output(self.plan.steps[-1].id, (redact(error.what), redact(error.todo)), time.time())
        await self._keep()
        last = Ready(endpoint, time.time(), proof.proof(self.server))
        self.journal.add(self.plan.name, last)
        yield last

    async def _keep(self) -> None:
        """Keep the server running from now on, or no more.

        Raises:
            ServerError: TW-S30 if that is not possible.
        """
        if self.keep or (self.keep is None and care.note(self.server)):
            await asyncio.to_thread(care.start, self.server)
        elif self.keep is False:
            await care.end(self.server)

    async def _identify(self, image: Image) -> tuple[str, ...]:
        """Find the ID of the plan's image; what the user must know of it.

        Raises:
            StepError: TW-R110 if that is not possible.
        """
        before = self.journal.made(self.plan.name, image.name)
        self.image = await exact(image)
        self.fingerprints = fingerprints(self.plan.steps, self.image.id)
        self._forget(self.redo)
        if before in (None, self.image.state):
            return ()
        text = tr("{image} is not the image of the last run: steps that used that one run again.", image=image.name)
        return (text,)

    def _forget(self, ids: Set[str], more: Mapping[str, str] = MappingProxyType({})) -> None:
        """Record that the steps ``ids`` must run again, so that a later run knows it too; also those with the
        fingerprints in ``more``, by step ID.
        """
        for step in self.plan.steps:
            for mark in (self.fingerprints[step.id], more.get(step.id, "")):
                if step.id in ids and mark in self.finished:
                    del self.finished[mark]
                    self._end(step, "cancelled", time.monotonic(), "to be done again", mark=mark)

    async def _is_served(self, step: Step) -> bool:
        """Whether the step would start a server that is already running, from exactly this plan."""
        if not step.done.server or step.id in self.redo:
            return False
        now = await asyncio.to_thread(look, self.server)
        endpoint = now.endpoint if now.state in ("ready", "starting") else None
        return endpoint is not None and any(
            dict(action.env).get(MADE_FROM) == find.made_from(endpoint)
            and action.ports == endpoint.ports
            and endpoint.image_id == (self.image.id if self.image else "")
            for action in step.actions
            if isinstance(action, Start)
        )

    async def _recorded(self, step: Step) -> AsyncGenerator[Event, None]:
        """Run the step, or skip it as the user wants, and record its events and its outcome."""
        began, omitted = time.monotonic(), step.id in self.skip
        try:
            if not omitted:
                async with aclosing(self._do(step)) as events:
                    async for event in events:
                        yield event
            if step.image and (
                lines := await self._identify(step.image)
            ):  # without the step, later ones run in it, too
                yield Output(step.id, lines, time.time())
        except OSError as error:
            problem = unwritable(Path(error.filename or self.workspace.root), error)
            yield self._end(step, "failed", began, problem.what, problem)
            raise problem from error
        except WizardError as error:
            yield self._end(step, "failed", began, error.what, error)
            raise
        except (asyncio.CancelledError, GeneratorExit):  # nothing may be yielded any more
            self._end(step, "cancelled", began, tr("stopped by the user"))
            raise
        yield self._end(step, "omitted" if omitted else "done", began, tr("skipped by the user") if omitted else "")

    def _end(
        self,
        step: Step,
        outcome: Outcome,
        began: float,
        reason: str,
        error: WizardError | None = None,
        *,
        mark: str = "",
    ) -> StepFinished:
        event = StepFinished(
            step=step.id,
            outcome=outcome,
            seconds=time.monotonic() - began,
            reason=redact(reason),
            at=time.time(),
            fingerprint=mark or self.fingerprints[step.id],
            made=self._made(step, outcome),
            error={**error.as_json(), **({"known": error.known} if error.known else {})} if error else None,
        )
        self.journal.add(self.plan.name, event)
        return event

    def _made(self, step: Step, outcome: Outcome) -> dict[str, tuple[int, int]] | None:
        image = {self.image.name: self.image.state} if step.image and self.image else {}
        return made(step) | image if outcome == "done" else image or None

    async def _do(self, step: Step) -> AsyncGenerator[Event, None]:
        self.server.logs.mkdir(exist_ok=True)
        meter = Meter(step.estimate)
        with closing(Capture(self.server.logs / f"{step.id}.log")) as capture:
            for action in map(self._exact, step.actions):
                capture.feed(f"$ {action.shell()}\n".encode())
                match action:
                    case Command():
                        events = carry(step, action, self._place(step), capture, meter)
                    case Write():
                        self._write(Path(action.path), action.text)
                        continue
                    case Start():
                        events = self._start(step, action)
                    case Wait():
                        events = self._wait(step, action, meter)
                async with aclosing(events):
                    async for event in events:
                        yield event

    def _exact(self, action: Action) -> Action:
        """The action with the ID of the image in place of its name."""
        if self.image is None or not isinstance(action, (Command, Start)):
            return action
        return action.naming(self.image.name, self.image.id)

    def _place(self, step: Step) -> Place:
        return Place(self.workspace.root, self.server.root, self.server.logs / f"{step.id}.log")

    async def _start(self, step: Step, start: Start) -> AsyncGenerator[Event, None]:
        if ending := (await asyncio.to_thread(look, self.server)).state == "stopping":
            yield Output(step.id, (tr("The server is shutting down; waiting for it."),), time.time())
        if await stop(self.server, again=self.keep) and not ending:
            yield Output(step.id, (tr("Stopped the server that was running with older settings."),), time.time())
        await clean_up(start.command())
        facts = self.plan.facts
        ref = facts.ref if facts.source == "hub" else facts.name
        image = self.image.reference if self.image else ""
        self.started, changes = launch.launch(start, self.server, ref, image=image)
        endpoint = self.started
        with contextlib.suppress(WizardError):  # while the model loads; if it fails, it is tried again, and reported
            await asyncio.to_thread(gateway.start, self.workspace, self.exposure)
        message = tr(
            "tritonserver is running as process {pid}; HTTP {http}, gRPC {grpc}",
            pid=endpoint.pid,
            http=endpoint.http,
            grpc=endpoint.grpc,
        )
        yield Output(step.id, (*changes, message), time.time())

    async def _wait(self, step: Step, action: Wait, meter: Meter) -> AsyncGenerator[Event, None]:
        endpoint = self.started or find.endpoint(self.workspace, self.plan.name)
        try:
            async with aclosing(ready.wait(endpoint, action.seconds)) as batches:
                async for lines in batches:
                    for event in shown(step, lines, meter):
                        yield event
            if self.started:
                await asyncio.to_thread(measured.check, self.plan.choice, ends(Path(endpoint.log)))
        except ServerError:
            with contextlib.suppress(ServerError):  # the reason why it is not ready matters more than its leftovers
                await stop(self.server, again=self.keep)
            raise
        if self.started:
            report = await asyncio.to_thread(self._measure, endpoint)
            yield Output(step.id, clean(report), time.time())

    def _measure(self, endpoint: Endpoint) -> list[str]:
        """Measure and store the server's memory, for later advice; return it with the prediction."""
        amounts = measured.measure(endpoint, self.plan.choice.stack, ends(Path(endpoint.log)))
        measurement = calibration.measurement(self.plan, amounts)
        report = [join("  ", *row) for row in rows(measurement)]  # unlike a table's, messages: English as JSON
        try:
            calibration.keep(self.workspace, measurement)
        except OSError as error:  # the server works; only later advice is less exact
            report.append(
                tr(
                    "Could not save the measurements to {path}: {why}",
                    path=self.workspace.calibration,
                    why=error.strerror,
                )
            )
        return report

    def _write(self, path: Path, text: str) -> None:
        """Write a file atomically: a reader, or the next run, sees the old one or the new one."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
        except OSError as error:
            raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> WorkspaceError:
    """TW-R04 for a file of the workspace."""
    return WorkspaceError(
        "TW-R04",
        tr("cannot write {path}: {why}", path=path, why=unwritten(error, path)),
        tr("Remove files you do not need or fix the permissions, then run `up` again."),
    )
