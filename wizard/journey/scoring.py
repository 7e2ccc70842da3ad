"""Stage 8: what quantization cost in quality, by tasks, perplexity and blind votes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.journey.chatting import chat
from wizard.journey.measuring import installation, machine
from wizard.journey.planning import probe
from wizard.workshop.progress import followed

if TYPE_CHECKING:
    from wizard.bench.quality.evaluate import QualityItem
    from wizard.bench.quality.perplexity import Files
    from wizard.bench.quality.report import Quality, Subject
    from wizard.bench.quality.tasks import Evaluation
    from wizard.chat.conversation import Conversation
    from wizard.kernel.paths import Workspace
    from wizard.plan.plan import Step
    from wizard.serve.endpoint import Endpoint


def evaluator(workspace: Workspace) -> Step | None:
    """Stage 8. The step that `quality` begins with if lm_eval has no environment yet (≤ 2 s).

    Raises:
        HostError: TW-C61 if this machine cannot run it.
    """
    from wizard.bench.environment import LM_EVAL

    return installation(LM_EVAL, workspace)


def quality(
    workspace: Workspace,
    endpoints: Sequence[Endpoint],
    evaluation: Evaluation,
    folder: Path,
    command: str = "",
    known: Subject | None = None,
) -> AsyncGenerator[QualityItem, None]:
    """Stage 8. Scores of one or two servers on the tasks of ``evaluation``: events, and the report last.

    The second server, or the scores of an earlier report (``known``), are the reference. The report is also in
    ``folder``, after each task and marked as partial until the end.

    Raises:
        HostError: TW-C61 if this machine cannot run lm_eval.
        StepError: TW-C62 if its environment cannot be created, TW-C93 if it fails.
        ServerError: TW-C64, TW-C65 if a server does not answer.
        UsageError: TW-C67, TW-C69 if a server or the folder cannot be used; TW-C90, TW-C91, TW-C92 for a task.
        WorkspaceError: TW-C68 if the folder is not writable; TW-K03, TW-K04 if the workspace is not.
    """
    return followed("quality", _quality(workspace, endpoints, evaluation, folder, command, known))


async def _quality(
    workspace: Workspace,
    endpoints: Sequence[Endpoint],
    evaluation: Evaluation,
    folder: Path,
    command: str,
    known: Subject | None,
) -> AsyncGenerator[QualityItem, None]:
    import asyncio
    from contextlib import aclosing
    from dataclasses import replace

    from wizard.bench.environment import LM_EVAL, prepared
    from wizard.bench.folder import Folder
    from wizard.bench.quality.evaluate import evaluated
    from wizard.bench.quality.order import concurrency_of, evaluator_of, ordered, subject_of

    host, venv = await asyncio.to_thread(machine, workspace, LM_EVAL)
    targets = [subject_of(workspace, endpoint) for endpoint in endpoints]
    order = ordered(host, targets, command, known=known, programs={"lm_eval": venv.environment.engine_version})
    evaluation = replace(evaluation, concurrency=concurrency_of(evaluation.concurrency, targets))
    async with aclosing(prepared(workspace, venv)) as events:
        async for event in events:
            yield event
    evaluator = evaluator_of(workspace, endpoints, venv)
    async with aclosing(evaluated(order, evaluation, Folder(folder), evaluator)) as items:
        async for item in items:
            yield item


def perplexity(
    workspace: Workspace, files: Files, folder: Path, command: str = ""
) -> AsyncGenerator[QualityItem, None]:
    """Stage 8. Perplexity of a GGUF file, and its divergence from a reference: events, and the report last.

    Raises:
        UsageError: TW-C69 if the folder has a report, TW-C96 if the files cannot be used.
        StepError: TW-C95 if llama-perplexity fails.
        WorkspaceError: TW-C68 if the folder is not writable, or too small for the reference's predictions.
    """
    return followed("quality", _perplexity(workspace, files, folder, command))


async def _perplexity(
    workspace: Workspace, files: Files, folder: Path, command: str
) -> AsyncGenerator[QualityItem, None]:
    import asyncio
    from contextlib import aclosing

    from wizard.bench.folder import Folder
    from wizard.bench.quality.order import ordered
    from wizard.bench.quality.perplexity import reported

    order = ordered(await asyncio.to_thread(probe, workspace), (), command, programs={})
    async with aclosing(reported(order, files, Folder(folder))) as items:
        async for item in items:
            yield item


def ballots(
    workspace: Workspace, endpoints: Sequence[Endpoint], prompts: Sequence[str], folder: Path, command: str, seed: int
) -> AsyncGenerator[Quality, None]:
    """Stage 8. The answers of two servers to ``prompts``, for a blind vote: the report after each prompt.

    With a vote on the same servers in ``folder``, only its own prompts that have no answers yet are asked.

    Raises:
        UsageError: TW-C97 if the folder has another report.
        ServerError: As `chat`.
        WorkspaceError: TW-C68 if the folder is not writable.
    """
    return followed("quality", _ballots(workspace, endpoints, prompts, folder, command, seed))


async def _ballots(
    workspace: Workspace, endpoints: Sequence[Endpoint], prompts: Sequence[str], folder: Path, command: str, seed: int
) -> AsyncGenerator[Quality, None]:
    import asyncio
    from contextlib import aclosing

    from wizard.bench.folder import Folder
    from wizard.bench.quality.order import ordered, subject_of
    from wizard.bench.quality.votes import begun, collected, continued

    async def answer(endpoint: Endpoint, prompt: str) -> str:
        async with aclosing(chat(endpoint, _question(prompt))) as chunks:
            return "".join([chunk.text async for chunk in chunks])

    async def ask(prompt: str) -> tuple[str, str]:
        first, second = await asyncio.gather(*(answer(endpoint, prompt) for endpoint in endpoints))
        return first, second

    host = await asyncio.to_thread(probe, workspace)
    targets = [subject_of(workspace, endpoint, None) for endpoint in endpoints]
    order = ordered(host, targets, command, programs={})
    if earlier := quality_report(folder):
        order = continued(earlier, order)
    else:
        order = begun(order, prompts, seed)
        Folder(folder).make()
    yield order
    async with aclosing(collected(order, Folder(folder), ask)) as reports:
        async for report in reports:
            yield report


def _question(prompt: str) -> Conversation:
    from wizard.chat.conversation import Conversation, Sampling

    return Conversation(sampling=Sampling(temperature=0.0)).with_message("user", prompt)


def quality_pages(folder: Path, *, pictures: bool = False) -> tuple[Path, ...]:
    """Write the report on quality in ``folder`` as ``report.html`` and ``report.md``, with ``pictures`` also its charts
    as PNG; returns the paths.

    Raises:
        WorkspaceError: TW-C68 if they cannot be written.
        UsageError: As `quality_report`, and TW-U66 if the extra for PNG is not installed.
        HostError: TW-U67 if there is no font for PNG.
    """
    from wizard.texts.benchmark.quality import write

    report = quality_report(folder)
    return write(folder, report, pictures=pictures) if report else ()


def quality_report(path: Path) -> Quality | None:
    """The report of `bench --quality` in the folder or file ``path``; None if it is another one, or none.

    Raises:
        UsageError: TW-C60, TW-K02 if it is damaged.
    """
    from wizard.bench.opened import quality_opened

    return quality_opened(path)


def scores(path: Path) -> Subject | None:
    """The scores of the first server in the report on quality at ``path``, for a reference; None if it is not one.

    Raises:
        UsageError: TW-C98 if the report has no scores; as `quality_report`.
    """
    from wizard.kernel.errors import UsageError
    from wizard.kernel.language import tr

    report = quality_report(path) if path.exists() else None
    if report and not (report.subjects and report.subjects[0].scores):
        message = tr("the report {path} has no scores to compare with", path=path)
        raise UsageError("TW-C98", message, tr("Choose a report of `bench SERVER --quality`, or name a server."))
    return report.subjects[0] if report else None
