"""lm-evaluation-harness as a process: what it is ordered, and what its records mean. See `evaluation.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wizard.bench import generator
from wizard.bench.quality.paired import scored
from wizard.bench.quality.report import Item, Score
from wizard.bench.report import Target
from wizard.kernel.errors import ServerError, StepError, UsageError, WizardError
from wizard.kernel.language import tr
from wizard.kernel.secrets import environment_for, redact
from wizard.kernel.text import one_line, plain

PROGRAM = Path(__file__).with_name("evaluation.py")
OWN = ("wizard_arithmetic", "wizard_copy", "wizard_format", "wizard_facts")
"""Our own tasks, in ``profiles/quality``: they need no network."""
NOT_SENT = "not sent"
"""Error of an `Item` that was not reached; see `evaluation.py`."""
TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
"""Secrets that the process gets: some datasets are gated."""
SHOWN = 300
"""Characters of an error to show."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What to ask.

    Attributes:
        tasks: Names of tasks, groups or tags.
        folder: A folder with more task files; None: none.
        limit: Questions of each task; None: all.
        concurrency: Requests at once; 0: as many as the servers run at once.
        osl: Maximum tokens of an answer; None: as each task says.
    """

    tasks: tuple[str, ...] = OWN
    folder: str | None = None
    limit: int | None = None
    concurrency: int = 0
    osl: int | None = None


def order(evaluation: Evaluation, target: Target, own: Path, results: Path) -> dict[str, Any]:
    """The order that ``evaluation.py`` reads; ``own`` is the folder of our tasks."""
    folders = [str(own), *([str(Path(evaluation.folder).resolve())] if evaluation.folder else [])]
    return {
        "tasks": list(evaluation.tasks),
        "folders": folders,
        "url": f"{target.url}/chat/completions",
        "model": target.model,
        "concurrency": evaluation.concurrency,
        "limit": evaluation.limit,
        "osl": evaluation.osl,
        "results": str(results),
    }


def environment(key: str | None, cache: Path) -> dict[str, str]:
    """The process's environment: the API key is in no argument and no file. ``cache``: datasets in lm_eval's format."""
    fixed = {"HF_DATASETS_CACHE": str(cache), "TQDM_DISABLE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    return {**environment_for(TOKENS), **fixed, **({"OPENAI_API_KEY": key} if key else {})}


def progress(line: str) -> tuple[str, int, int, int] | None:
    """Task, answers so far, questions and failures in a line of output; None if it is something else."""
    try:
        data = json.loads(line)
        return str(data["task"]), int(data["done"]), int(data["count"]), int(data["failed"])
    except (ValueError, KeyError, TypeError):
        return None


def result(line: str) -> tuple[Score, ...] | WizardError | None:
    """The scores of a task, or what ended the evaluation; None for half a line of a process that was killed."""
    try:
        data = json.loads(line)
        if data["kind"] == "error":
            return error_of(data["code"], str(data["task"]), one_line(plain(redact(str(data["why"]))))[:SHOWN])
        return tuple(
            scored(data["task"], row["metric"], row["filter"], data["version"], map(_item, row["items"]))
            for row in data["scores"]
        )
    except (ValueError, KeyError, TypeError):
        return None


def _item(data: Mapping[str, Any]) -> Item:
    error = one_line(plain(redact(str(data["error"]))))
    return Item(data["id"], data["hash"], data["score"], error, empty=not error and not str(data["answer"]).strip())


def error_of(code: str, task: str, why: str) -> WizardError:
    """The error of a record."""
    if code == "unknown":
        meant = tr("Did you mean {names}?", names=why) if why else tr("Check the spelling.")
        known = tr("Without a network: {names}. Your task files: --task-path DIR.", names=", ".join(OWN))
        return UsageError("TW-C90", tr("lm_eval has no task {task!r}", task=task), f"{meant} {known}")
    if code == "loglikelihood":
        message = tr("the task {task} needs log-likelihoods of given answers ({kind})", task=task, kind=why)
        todo = tr(
            "OpenAI-compatible addresses only return log probabilities of generated tokens, so its score would be that "
            "of guessing. Choose a task that generates its answer: {names}, gsm8k, ifeval.",
            names=", ".join(OWN),
        )
        return UsageError("TW-C91", message, todo)
    if code == "dead":
        return generator.dead(
            tr("{count} requests in a row failed, the last with {error}", count=generator.IN_A_ROW, error=why)
        )
    todo = tr(
        "Check its file and its dataset. Datasets of lm_eval's own tasks come from the Hugging Face Hub; without a "
        "network, use {names}, or your files with --task-path DIR.",
        names=", ".join(OWN),
    )
    return UsageError("TW-C92", tr("cannot use the task {task}: {why}", task=task, why=why), todo)


def unanswered(scores: Sequence[Score]) -> ServerError | None:
    """The error if no question has an answer."""
    items = [item for score in scores for item in score.items]
    if not items or any(item.score is not None and not item.empty for item in items):
        return None
    first = next((item.error for item in items if item.error), "") or tr("an answer without text")
    todo = tr("Check that the model answers: `triton-wizard chat -m Hello`. Models that think may need a larger --osl.")
    return ServerError("TW-C64", tr("no request succeeded; the first failed with {error}", error=first), todo)


def failed(status: int, log: Path) -> StepError:
    """The error if it ended without a reason."""
    message = tr("lm_eval failed: exit status {status}", status=status)
    return StepError("TW-C93", message, tr("Run the command again. If it fails again, look at {log}.", log=log))
