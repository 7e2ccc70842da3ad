"""The report of `bench --quality`: ``report.json``, which ``"kind": "quality"`` tells apart from a benchmark's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wizard.bench.measured import Interval
from wizard.bench.report import Machine, Target, check_format
from wizard.kernel.values import from_json

FORMAT = 1
"""Version of the report's format; a reader rejects others."""


@dataclass(frozen=True, slots=True)
class Item:
    """A question of a task.

    Attributes:
        id: Its number in the task.
        hash: Of the prompt, so that only the same questions are compared.
        score: What lm_eval gave the answer; None without an answer.
        error: Why there is no answer: ``not sent``, or what the request failed with.
        empty: Whether the answer has no text.
    """

    id: int
    hash: str
    score: float | None
    error: str = ""
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Score:
    """The answers to a task, scored in one way.

    Attributes:
        task: The task's name in lm_eval.
        metric: Its metric; a score is higher for a better answer.
        filter: How the answer was taken from the text.
        version: The task's version.
        items: Its questions.
        value: Mean score of the answered ones; None if there are none.
    """

    task: str
    metric: str
    filter: str
    version: str
    items: tuple[Item, ...]
    value: Interval | None


@dataclass(frozen=True, slots=True)
class Subject:
    """A server and its scores."""

    target: Target
    scores: tuple[Score, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """The measured server − the reference, on the same questions.

    Attributes:
        task: The task; empty: all of them, each question counting the same.
        filter: As in `Score`.
        questions: Answered by both.
        better: Those with a higher score than the reference's.
        worse: Those with a lower one.
        value: Difference of the mean scores.
        p: Exact two-sided sign test of ``better`` against ``worse`` (McNemar's for scores of 0 and 1).
    """

    task: str
    filter: str
    questions: int
    better: int
    worse: int
    value: Interval
    p: float


@dataclass(frozen=True, slots=True)
class Divergence:
    """How far a GGUF file's predictions are from the reference's, per token of the text; None: stopped before that.

    Attributes:
        reference: Path of the reference's file.
        perplexity: The reference's.
        ratio: Perplexity of the file ÷ that of the reference.
        mean: Mean KL divergence in nats.
        p99: 99% of the tokens have this or less.
        same_top: Share of the tokens where both predict the same token.
    """

    reference: str
    perplexity: Interval | None = None
    ratio: Interval | None = None
    mean: Interval | None = None
    p99: float | None = None
    same_top: Interval | None = None


@dataclass(frozen=True, slots=True)
class Perplexity:
    """What llama-perplexity found of a GGUF file.

    Attributes:
        file: Its path.
        text: Path of the text.
        sha256: Of the text.
        context: Tokens of a chunk; the second half of each is predicted.
        chunks: Chunks of which the figures are: of all, unless the report is partial.
        value: Perplexity; None if it was stopped before that.
        divergence: From a reference; None without one.
        of: Chunks of the text; 0 if unknown.
    """

    file: str
    text: str
    sha256: str
    context: int
    chunks: int
    value: Interval | None
    divergence: Divergence | None = None
    of: int = 0


@dataclass(frozen=True, slots=True)
class Vote:
    """A prompt, two answers and the user's choice.

    Attributes:
        prompt: What both were asked.
        answers: Of the first and the second server.
        left: Index of the server whose answer was shown on the left, or first.
        choice: Index of the server whose answer was better; -1: a tie; None: no vote yet.
    """

    prompt: str
    answers: tuple[str, str]
    left: Literal[0, 1]
    choice: Literal[-1, 0, 1] | None = None


@dataclass(frozen=True, slots=True)
class Quality:
    """A report on quality; which parts it has depends on what was asked for.

    Attributes:
        kind: ``quality``.
        format: Version of this format, `FORMAT`.
        made: When it began, in ISO 8601 with the zone.
        command: The command that measures the same again.
        machine: Where it ran.
        versions: Name of a program → its version.
        subjects: Servers: the measured one, then the reference; or the two that were voted on.
        differences: Between the two on the same questions: all tasks first.
        perplexity: Of a GGUF file.
        votes: Blind votes on answers of the two servers.
        unasked: The prompts of a vote that have no answers yet, in the order in which they are asked.
        seed: Of the order of prompts and answers.
        partial: Why it is incomplete: ``stopped``, or an error's code; empty if it is complete.
    """

    kind: Literal["quality"]
    format: int
    made: str
    command: str
    machine: Machine
    versions: dict[str, str]
    subjects: tuple[Subject, ...] = ()
    differences: tuple[Difference, ...] = ()
    perplexity: Perplexity | None = None
    votes: tuple[Vote, ...] = ()
    unasked: tuple[str, ...] = ()
    seed: int = 0
    partial: str = ""


def read(text: str | bytes, *, where: str) -> Quality:
    """The report in the text of a ``report.json``.

    Raises:
        UsageError: TW-K01 or TW-K02 if it is not one, TW-C60 if it was written in another format.
    """
    report = from_json(Quality, text, where=where)
    check_format(report.format, FORMAT, where=where)
    return report
