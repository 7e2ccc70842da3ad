"""Find the settings of a server that meet a service level with the most tokens per second, with few starts.

Every other setting needs a start of the server, which can take minutes; the batch size does not: what a server does
with a batch of 8 is seen at 8 concurrent requests, whatever its limit is. So the search is by coordinates:

1. *Batch size*: one start with the largest batch that fits. The number of concurrent requests is doubled until the
   service level is missed or throughput no longer grows, and then halved once between the last two.
2. *KV cache* and *tokens of a step*: one start for each other value, at that number of requests; larger steps first,
   smaller ones only if those are not better. A value is taken if it meets the level with `BETTER` times the throughput.
3. *Confirmation*: a start with everything that was found, measured several times. Its figures are the result.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from wizard.advise.reasons import Note
from wizard.bench import comparison
from wizard.bench.bench import LONG_S, Agree, Outlook, Place, Subject, run_once
from wizard.bench.comparison import KIND, Comparison
from wizard.bench.folder import Folder, write
from wizard.bench.load import Load, Point
from wizard.bench.measured import Measured
from wizard.bench.order import Wanted, for_all, load_of, order_of, planned_target
from wizard.bench.report import FORMAT
from wizard.bench.settings import Setting, Variants
from wizard.bench.statistics import ENOUGH_RUNS
from wizard.bench.turns import Turns, prepare
from wizard.kernel.errors import ServerError, StepError, UsageError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_document
from wizard.plan.plan import Plan
from wizard.plan.runtimes.venv import Venv
from wizard.plan.server_plan import earlier_plan
from wizard.probe.live import Reading
from wizard.run.events import Event
from wizard.serve import find

TuneItem: TypeAlias = Event | Measured | Comparison
GOOD = 0.9
"""Share of the requests that must keep the service level."""
BETTER = 1.03
"""Ratio of throughputs from which on one is better: short runs differ by a few percent."""
MOST = 256
"""Largest batch to try by default."""
GROWTH = 8
"""Times the server's own batch size that is tried at most by default."""
PLAN = "plan.json"


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings at a level of load, and what was measured there."""

    setting: Setting
    measured: Measured

    @property
    def meets(self) -> bool:
        """Whether enough requests kept the service level."""
        return self.measured.good is not None and self.measured.good.value >= GOOD

    @property
    def rate(self) -> float:
        """Output tokens per second."""
        return self.measured.tokens_per_s.value if self.measured.tokens_per_s else 0.0

    def beats(self, other: Trial | None) -> bool:
        """Whether it meets the level, and ``other`` does not or is clearly slower."""
        return self.meets and (other is None or not other.meets or self.rate >= BETTER * other.rate)


@dataclass(slots=True)
class Search:
    """The search, and what it found so far.

    Attributes:
        variants: Makes the plans.
        subject: Makes the report of a setting from its plan, in its own folder: all with the same prompts.
        serve: Makes a subject ready, once its server runs.
        turns: Starts and stops the server.
        folder: Of the result.
        agree: Asked once, if the rest takes longer than `LONG_S`.
        load: Length of a run.
    """

    variants: Variants
    subject: Callable[[Plan, Path], Subject]
    serve: Callable[[Subject, Plan], None]
    turns: Turns
    folder: Path
    agree: Agree
    load: Load
    subjects: list[Subject] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    plans: dict[Setting, Plan | None] = field(default_factory=dict)
    best: Trial | None = None
    confirmed: bool = False
    last: Trial | None = None
    short: bool = False
    stopped: bool = False
    began: float = field(default_factory=time.monotonic)
    runs: int = 0

    async def steps(self, most: int) -> AsyncGenerator[Event | Measured, None]:
        """Search with batches up to ``most``.

        Raises:
            UsageError: TW-C87 if no setting meets the service level.
            WizardError: As `wizard.bench.bench.bench` and `Turns.start`.
        """
        largest = self.variants.largest(most)
        if largest is None:
            message = tr("this machine cannot serve {name} as its plan says", name=self.variants.plan.name)
            raise UsageError("TW-C85", message, tr("Look at `triton-wizard advise`, and serve it again."))
        for part in (self._batch(largest), self._others(), self._confirmed()):
            async with aclosing(part) as items:
                async for item in items:
                    yield item

    async def _batch(self, largest: Setting) -> AsyncGenerator[Event | Measured, None]:
        users, before = 1, 0
        while users <= largest.batch:
            async with aclosing(self._try(largest, users)) as items:
                async for item in items:
                    yield item
            if self.last is None or not self._takes(replace(largest, batch=users)):
                break
            before, users = users, users * 2
        middle = (before + users) // 2
        if before and middle not in (before, users) and middle <= largest.batch:
            async with aclosing(self._try(largest, middle)) as items:
                async for item in items:
                    yield item
            self._takes(replace(largest, batch=middle))
        if self.best is None:
            raise _missed(self.last)

    async def _others(self) -> AsyncGenerator[Event | Measured, None]:
        for setting in () if self.short or not self.best else self.variants.caches(self.best.setting):
            async with aclosing(self._try(setting, setting.batch)) as items:
                async for item in items:
                    yield item
            self._takes(setting)
        for factor in (2.0, 0.5):
            while self.best and self.best.setting.step and not self.short:
                setting = replace(self.best.setting, step=int(self.best.setting.step * factor))
                async with aclosing(self._try(setting, setting.batch)) as items:
                    async for item in items:
                        yield item
                if not self._takes(setting):
                    break
            if self.best and (self.best.setting.step or 0) > (self.variants.plan.choice.step_tokens or 0):
                return  # larger steps were better, so smaller ones are not

    async def _confirmed(self) -> AsyncGenerator[Event | Measured, None]:
        if self.best is None:
            return
        setting, repeats = self.best.setting, 1 if self.short else ENOUGH_RUNS
        async with aclosing(self._try(setting, setting.batch, repeats=repeats)) as items:
            async for item in items:
                yield item
        if self.last:
            self.best, self.confirmed = self.last, True

    def _takes(self, setting: Setting) -> bool:
        """Whether the last trial is the best so far; then ``setting`` is what it stands for."""
        if self.last is None or not self.last.beats(self.best):
            return False
        self.best = replace(self.last, setting=setting)
        return True

    async def _try(self, setting: Setting, users: int, *, repeats: int = 1) -> AsyncGenerator[Event | Measured, None]:
        """Measure ``setting`` at ``users`` concurrent requests.

        `last` is None if this machine cannot serve it, or if the server does not start with it and others did.
        """
        self.last = None
        plan = self._plan(setting)
        if plan is None or self.stopped:
            return
        if not self.turns.serves(plan):
            try:
                async with aclosing(self.turns.start(plan)) as events:
                    async for event in events:
                        yield event
            except (StepError, ServerError):
                if not self.subjects:
                    raise
                return
            self._begin(setting, plan)
        subject, point = self.subjects[-1], Point(users)
        again = max((run.number for run in subject.runs if run.point == point), default=0)
        points = tuple(dict.fromkeys((*subject.report.load.points, point)))
        subject.report = replace(subject.report, load=replace(self.load, points=points, repeats=again + repeats))
        for number in range(again + 1, again + repeats + 1):
            self.runs += 1
            place = Place(self.runs, self.runs, named=self.names[-1])
            async with aclosing(run_once(subject, point, number, place)) as events:
                async for event in events:
                    yield event
            measured = subject.measured[point]
            self.last = Trial(setting, measured)
            subject.complete = True
            subject.keep("")
            yield measured
        if self.runs == 1:
            await self._ask()

    def _plan(self, setting: Setting) -> Plan | None:
        """The plan of a setting, made once."""
        if setting not in self.plans:
            self.plans[setting] = self.variants.plan_of(setting)
        return self.plans[setting]

    def _begin(self, setting: Setting, plan: Plan) -> None:
        subject = self.subject(plan, self.folder / f"{len(self.subjects) + 1}-{setting.name.replace(', ', '-')}")
        self.serve(subject, plan)
        subject.report = replace(subject.report, load=replace(self.load, points=()))
        self.subjects.append(subject)
        self.names.append(setting.name if setting.name not in self.names else f"{setting.name} ({tr('confirmation')})")

    async def _ask(self) -> None:
        """Announce how long it takes at most, from the first start and its run, and take a shorter one if wanted."""
        once, levels = time.monotonic() - self.began, MOST.bit_length()
        run_s = self.load.seconds or once
        setting = self.last.setting if self.last else None
        starts = 1 + len([*self.variants.caches(setting)] if setting else []) + (2 if setting and setting.step else 0)
        rest = starts * once + (levels + ENOUGH_RUNS) * run_s
        if rest <= LONG_S:
            return
        outlook = Outlook(rest, self.load, replace(self.load, repeats=1), once + levels * run_s)
        chosen = await self.agree(outlook)
        self.stopped, self.short = chosen is None, chosen is outlook.shorter

    def result(self, command: str) -> Comparison:
        """What was measured so far, and which of it is the best."""
        reports = tuple(subject.report for subject in self.subjects)
        chosen = len(reports) - 1 if self.confirmed else None
        return Comparison(
            kind=KIND,
            format=FORMAT,
            made=reports[0].made,
            command=command,
            order="search",
            reports=reports,
            names=tuple(self.names),
            ratios=comparison.ratios(reports, [subject.runs for subject in self.subjects], paired=False),
            warnings=(Note("tune-missed"),) if self.confirmed and self.best and not self.best.meets else (),
            chosen=chosen,
        )

    def keep(self, command: str) -> None:
        """Write the result, and the plan of the best settings so far.

        Raises:
            WorkspaceError: TW-C68 if they cannot be written.
        """
        if self.subjects:
            comparison.keep(self.result(command), self.folder)
        if plan := self.best and self._plan(self.best.setting):
            write(self.folder / PLAN, to_document(plan))


def _missed(last: Trial | None) -> UsageError:
    share = f"{last.measured.good.value:.0%}" if last and last.measured.good else tr("unknown")
    message = tr("no batch size meets the service level: {share} of the requests keep it one at a time", share=share)
    return UsageError(
        "TW-C87", message, tr("Allow more with --ttft and --tpot, or choose a faster setup with `advise`.")
    )


def search_of(
    variants: Variants,
    wanted: Wanted,
    venv: Venv,
    read: Callable[[], Reading],
    folder: Path,
    agree: Agree,
    command: str,
) -> Search:
    """The search for the settings of a server that does not run.

    Raises:
        UsageError: TW-C66, TW-C67 if dataset or options cannot be used, TW-C85 if the server runs, TW-C86 without a
            service level.
    """
    check(wanted)
    workspace, own = variants.workspace, variants.plan
    if find.running(workspace.server(own.name)):
        message = tr("{name} is running, and a search starts it with other settings", name=own.name)
        raise UsageError("TW-C85", message, tr("Stop it: `triton-wizard down {name}`.", name=own.name))
    single = replace(for_all(wanted, [own]), concurrency=(1,))
    turns = Turns(workspace)

    def subject(plan: Plan, where: Path) -> Subject:
        order, prompts = order_of(planned_target(plan, wanted.api), plan, single, variants.host, venv, command)
        return Subject(order, prompts, Folder(where))

    def serve(subject: Subject, plan: Plan) -> None:
        prepare(subject, workspace, turns.endpoint(), plan, venv, read)

    return Search(variants, subject, serve, turns, folder, agree, load_of(single, None))


def planned(workspace: Workspace, name: str) -> Plan:
    """What the server ``name`` is started from.

    Raises:
        UsageError: TW-S09 if the workspace has no such server, TW-C85 if it has no plan.
    """
    find.known(workspace, name)
    if plan := earlier_plan(workspace, name):
        return plan
    message = tr("the plan of {name} is not readable", name=name)
    raise UsageError("TW-C85", message, tr("Serve it again: `triton-wizard up {name}`.", name=name))


def check(wanted: Wanted) -> None:
    """Check the options of a search.

    Raises:
        UsageError: TW-C67 if it has arrival rates, TW-C86 without a service level.
    """
    if wanted.rates:
        message = tr("--tune tries numbers of concurrent requests, not --request-rate")
        raise UsageError("TW-C67", message, tr("Omit --request-rate."))
    if wanted.ttft is None and wanted.tpot is None:
        message = tr("--tune needs a service level")
        raise UsageError("TW-C86", message, tr("Pass --ttft MS, --tpot MS or both."))


def most(wanted: Wanted, plan: Plan) -> int:
    """The largest batch to try: that of ``--concurrency``, or some times the server's own."""
    return max(wanted.concurrency, default=min(MOST, GROWTH * plan.choice.users))


async def tune(search: Search, largest: int, command: str) -> AsyncGenerator[TuneItem, None]:
    """Run the search; its result comes last, and is in its folder after each run. The server is stopped at the end.

    Raises:
        As `Search.steps`.
    """
    Folder(search.folder).check_new()
    try:
        async with aclosing(search.steps(largest)) as items:
            async for item in items:
                yield item
                if isinstance(item, Measured):
                    search.keep(command)
    finally:
        try:
            search.keep(command)
        finally:
            await search.turns.end()
    yield search.result(command)
