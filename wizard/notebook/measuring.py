"""Measurements in a notebook: speed, comparisons, a search for settings, and quality; a method for each."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from wizard.bench.comparison import Comparison
from wizard.bench.quality.report import Quality
from wizard.bench.report import Report
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.values import from_data
from wizard.notebook import live
from wizard.notebook.names import UNKNOWN_OPTION, check_names
from wizard.notebook.values import Benchmark, Log
from wizard.notebook.walk import Walk
from wizard.run.events import Event, Progress, StepFinished, StepStarted

if TYPE_CHECKING:
    from wizard.bench.bench import Outlook
    from wizard.bench.load import Load
    from wizard.bench.order import Wanted
    from wizard.notebook.ballot import Ballot
    from wizard.notebook.panels.benchmarks import BenchmarksPanel
    from wizard.notebook.panels.vote import VotePanel
    from wizard.serve.endpoint import Endpoint

T = TypeVar("T")
Name: TypeAlias = "str | os.PathLike[str]"
GGUF = ".gguf"


class Measuring(Walk):
    """The measurements of a session; see `wizard.notebook.session.Journey`.

    All methods show their progress. Interrupting the kernel stops the programs that measure, and the servers that were
    started for it; what was measured is kept, marked as partial. Each report is also in ``folder``, which must not have
    one; by default a new one in the workspace, which `benchmarks` shows.
    """

    def endpoint(self) -> Endpoint:
        """The server's current address: another interface may have restarted it on other ports."""
        return self._journey.endpoint(self.workspace, self.name)

    def bench(self, *, folder: Name | None = None, **options: Any) -> Report:
        """Measure the served model; returns the report.

        The first call installs the load generator. A long benchmark is shortened to one run per level.

        Args:
            folder: See `Measuring`.
            **options: ``quick=True``, ``concurrency=(1, 4)``, ``dataset="prompts.txt"`` and the other fields of
                `wizard.bench.order.Wanted`.

        Raises:
            UsageError: TW-U36, TW-K01 for an unknown or invalid option; see `wizard.journey.bench` for the others.
        """
        wanted, endpoint = _wanted("bench", options), self.endpoint()
        place, call = self._place(folder, endpoint.title), _call("bench", (), options)
        return self._measured(
            Report, lambda: self._journey.bench(self.workspace, endpoint, wanted, place, _shorter, call)
        )

    def compare(
        self, *others: Walk | str, folder: Name | None = None, per_gpu_hour: float | None = None, **options: Any
    ) -> Comparison:
        """Measure this server and ``others`` under the same load, in alternating runs; the ratios are to this one.

        If all of them are stopped, each is started for its runs.

        Args:
            *others: Journeys in the same workspace, names of its servers, or URLs (``URL#MODEL``).
            folder: See `Measuring`.
            per_gpu_hour: What a GPU costs per hour.
            **options: As for `bench`.

        Raises:
            UsageError: TW-U36, TW-K01 for an unknown or invalid option; see `wizard.journey.compare` for the others.
        """
        wanted, names = _wanted("compare", options), tuple(map(_name, (self, *others)))
        place = self._place(folder, "compare")
        call = _call("compare", names[1:], {**options, "per_gpu_hour": per_gpu_hour})
        return self._measured(
            Comparison,
            lambda: self._journey.compare(
                self.workspace, names, wanted, place, _shorter, call, per_gpu_hour=per_gpu_hour
            ),
        )

    def tune(self, *, folder: Name | None = None, **options: Any) -> Comparison:
        """Find the settings that meet a service level with the most tokens per second; `up` then serves with them.

        The server must be stopped: it is started with several settings.

        Args:
            folder: See `Measuring`; also gets ``plan.json``, with the best settings.
            **options: ``ttft`` or ``tpot`` in ms, or both; ``concurrency=(8,)``, the largest batch; and as for `bench`.

        Raises:
            UsageError: TW-U36, TW-K01 for an unknown or invalid option; see `wizard.journey.tune` for the others.
        """
        wanted = _wanted("tune", options)
        place, call = self._place(folder, f"{self.name}-tune"), _call("tune", (), options)
        comparison = self._measured(
            Comparison, lambda: self._journey.tune(self.workspace, self.name, wanted, place, _shorter, call)
        )
        if comparison.chosen is not None:
            self._adopt(place)
        return comparison

    def _adopt(self, folder: Path) -> None:
        """Continue with the plan that a search wrote."""
        from wizard.bench.tune import PLAN
        from wizard.kernel.values import from_json
        from wizard.plan.plan import Plan

        path = folder / PLAN
        plan = from_json(Plan, path.read_text(encoding="utf-8"), where=str(path))
        self._state = replace(self._state, facts=plan.facts, choice=plan.choice, plan=plan)

    def quality(
        self,
        reference: Walk | Name | None = None,
        *,
        folder: Name | None = None,
        task_path: Name | None = None,
        **options: Any,
    ) -> Quality:
        """Score the served model on questions, alone or compared with ``reference``, question by question.

        The first call installs lm_eval.

        Args:
            reference: A journey, the name of a server, a URL, or the folder of an earlier report.
            folder: See `Measuring`.
            task_path: A folder with more task files.
            **options: ``limit=10``, ``tasks=("wizard_facts",)`` and the other fields of
                `wizard.bench.quality.tasks.Evaluation`.

        Raises:
            UsageError: TW-U36, TW-K01 for an unknown or invalid option; see `wizard.journey.quality` for the others.
        """
        from wizard.bench.quality.tasks import Evaluation

        names = [field.name for field in fields(Evaluation) if field.name != "folder"]
        check_names(options, names, UNKNOWN_OPTION)
        asked = from_data(Evaluation, {**options, "folder": str(task_path) if task_path else None}, where="quality()")
        endpoints = [self.endpoint()]
        path = None if isinstance(reference, Walk) else reference
        known = self._journey.scores(Path(path).expanduser()) if path and "://" not in str(path) else None
        if reference and known is None:
            endpoints.append(self._reachable(reference))
        place = self._place(folder, f"quality-{endpoints[0].title}")
        call = _call("quality", [_name(reference)] if reference else [], {**options, "task_path": asked.folder})
        return self._measured(
            Quality, lambda: self._journey.quality(self.workspace, endpoints, asked, place, call, known)
        )

    def perplexity(
        self,
        reference: Walk | Name | None = None,
        *,
        text: Name | None = None,
        program: Name | None = None,
        folder: Name | None = None,
    ) -> Quality:
        """Perplexity of the model's GGUF file, and how far its predictions are from those of ``reference``.

        No server is needed, but llama.cpp's ``llama-perplexity``, see ``docs/quality.md``.

        Args:
            reference: A journey with a GGUF file of the same model, or its path.
            text: A text file; by default ours.
            program: Path of llama-perplexity; by default found on PATH.
            folder: See `Measuring`.

        Raises:
            UsageError: TW-N20 if a model is not a GGUF file; see `wizard.journey.perplexity` for the others.
            HostError: TW-C94 if llama-perplexity is not installed.
        """
        from wizard.bench.quality.order import shipped_text
        from wizard.bench.quality.perplexity import Files, program_of

        other = reference._gguf() if isinstance(reference, Measuring) else reference
        files = Files(
            file=self._gguf(),
            program=program_of(str(program) if program else None),
            text=Path(text).expanduser() if text else shipped_text(),
            reference=Path(str(other)).expanduser() if other else None,
        )
        place = self._place(folder, f"quality-{files.file.stem}")
        call = _call("perplexity", [str(files.reference)] if other else [], {"text": text and str(text)})
        return self._measured(Quality, lambda: self._journey.perplexity(self.workspace, files, place, call))

    def _gguf(self) -> Path:
        path = Path((self._state.facts or self.model()).location)
        if path.suffix.lower() != GGUF or not path.is_file():
            message = tr("perplexity needs a GGUF file on this machine, and {ref} is not one", ref=self.ref)
            raise UsageError("TW-N20", message, tr("Pass its path instead of {ref}: `model.gguf`.", ref=self.ref))
        return path

    def vote(
        self,
        other: Walk | str,
        *,
        dataset: Name = "generated",
        count: int = 20,
        seed: int = 0,
        folder: Name | None = None,
    ) -> VotePanel | Ballot:
        """Answers of this server and another one, to choose the better of each pair without knowing whose it is.

        Args:
            other: A journey, the name of a server, or a URL.
            dataset: A file with prompts; by default ours.
            count: Prompts at most.
            seed: Of the order of prompts and answers.
            folder: See `Measuring`; with an unfinished vote on the same servers, that is continued.

        Raises:
            UsageError: TW-C97 if both are the same server; see `wizard.journey.ballots` for the others.
        """
        from wizard.bench.quality.order import prompts_of
        from wizard.bench.quality.votes import check
        from wizard.notebook.ballot import Ballot
        from wizard.notebook.panels import panel
        from wizard.notebook.panels.vote import VotePanel

        endpoints = (self.endpoint(), self._reachable(other))
        check(endpoints)
        prompts, place = prompts_of(str(dataset), count), self._place(folder, "votes")
        call = _call("vote", [_name(other)], {"dataset": str(dataset), "count": count, "seed": seed})

        async def items() -> AsyncGenerator[Event | Quality, None]:
            began = time.monotonic()
            yield StepStarted("votes", tr("Answers of both servers"), 1, 1, time.time())
            reports = self._journey.ballots(self.workspace, endpoints, prompts, place, call, seed)
            async with aclosing(reports) as each:
                async for report in each:
                    done = len(report.votes)
                    text = tr("Answers: {done} of {count}", done=done, count=len(prompts))
                    yield Progress("votes", done / max(1, len(prompts)), None, text, time.time())
                    yield report
            yield StepFinished("votes", "done", time.monotonic() - began, "", time.time())

        self._measured(Quality, items)
        ballot = Ballot(place)
        return VotePanel(ballot) if panel.available() else ballot

    def benchmarks(self) -> BenchmarksPanel | Benchmark | Log:
        """The charts of the workspace's reports, two side by side; without widgets, those of the latest."""
        from wizard.notebook.panels import panel
        from wizard.notebook.panels.benchmarks import BenchmarksPanel

        folders = [report.parent for report in self.workspace.bench.glob("*/report.json")]
        folders.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
        if not folders:
            return Log(tr("No benchmark yet. Run `{call}`.", call="journey.bench(quick=True)"))
        return BenchmarksPanel(folders) if panel.available() else Benchmark.read(folders[0])

    def _reachable(self, server: Walk | Name) -> Endpoint:
        name = _name(server)
        return self._journey.at(name) if "://" in name else self._journey.endpoint(self.workspace, name)

    def _place(self, folder: Name | None, name: str) -> Path:
        from wizard.bench.order import folder_of

        return Path(folder).expanduser().absolute() if folder else folder_of(self.workspace, name)

    def _measured(self, kind: type[T], items: Callable[[], AsyncGenerator[Any, None]]) -> T:
        """Show the events among ``items``; return the last report, which is of ``kind``."""
        report: T | None = None
        with live.LiveRun() as show, closing(self._background.iterate(items)) as received:
            for item in received:
                if isinstance(item, Event):
                    show.show(item)
                elif isinstance(item, kind):
                    report = item
        if report is None:
            raise LookupError(kind.__name__)
        return report


def _name(server: Walk | Name) -> str:
    return server.name if isinstance(server, Walk) else str(server)


def _wanted(method: str, options: Mapping[str, Any]) -> Wanted:
    from wizard.bench.order import Wanted

    check_names(options, (option.name for option in fields(Wanted)), UNKNOWN_OPTION)
    return from_data(Wanted, options, where=f"{method}()")


def _call(method: str, arguments: Sequence[str], options: Mapping[str, Any]) -> str:
    """The call that measures the same again, for the report; without options that are None."""
    named = [f"{name}={value!r}" for name, value in options.items() if value is not None]
    given = [*map(repr, arguments), *named]
    return f"journey.{method}({', '.join(given)})"


async def _shorter(outlook: Outlook) -> Load:
    """A cell has no question to ask: take the shorter load."""
    return outlook.shorter
