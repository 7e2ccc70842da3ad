"""What is asked before a benchmark: the load, the length of its requests, and the service level."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from wizard.bench.order import ISL, NORMAL_S, OSL, QUICK_S, Wanted
from wizard.kernel.errors import UsageError
from wizard.kernel.language import mark, tr
from wizard.plan.question import Question
from wizard.plan.questions import CHOSEN, TPOT, TTFT
from wizard.plan.validation import between

MOST_LEVELS = 16
MOST_AT_ONCE = 4096
"""More would measure the load generator (docs/bench.md)."""
MOST_PER_S = 1000
"""AIPerf starts so many requests per second at most, see `wizard.bench.aiperf.LOOKS`."""
NO_LIMIT = mark("no limit")


def _levels(kind: type[int] | type[float], most: int) -> Callable[[str], str]:
    """Returns the error in numbers with commas between them."""

    def problem(text: str) -> str:
        parts = text.split(",")
        if len(parts) > MOST_LEVELS:
            return tr("it can have at most {count} numbers", count=MOST_LEVELS)
        try:
            numbers = [kind(part) for part in parts]
        except ValueError:
            return tr("it must be numbers with commas between them, such as 1,4,16")
        fits = all(0 < number <= most for number in numbers)
        return "" if fits else tr("each number must be above 0 and at most {most:,}", most=most)

    return problem


CONCURRENCY = Question(
    "concurrency",
    "text",
    mark("Concurrent requests"),
    "--concurrency",
    otherwise=CHOSEN,
    validate=_levels(int, MOST_AT_ONCE),
    help=mark("One or more levels, such as 1,4,16: so many requests run at once, and when one ends, the next starts."),
)
RATE = Question(
    "request_rate",
    "text",
    mark("Requests per second"),
    "--request-rate",
    otherwise=mark("not used"),
    validate=_levels(float, MOST_PER_S),
    help=mark("Instead of concurrent requests, such as 0.5,2: they arrive at random times, like users."),
)
SECONDS = Question(
    "seconds",
    "float",
    mark("Seconds per run"),
    "--seconds",
    otherwise=f"{QUICK_S:g}, {NORMAL_S:g}",
    validate=between(1, 86_400),
    help=mark("Empty: 8 s for the quick measurement, 20 s for the full one."),
)
PROMPT = Question(
    "isl",
    "int",
    mark("Prompt length (tokens)"),
    "--isl",
    otherwise=str(ISL),
    validate=between(1, 1_000_000),
    help=mark("Approximate tokens of each prompt. It is shorter by default if the server's context is small."),
)
ANSWER = Question(
    "osl",
    "int",
    mark("Answer length (tokens)"),
    "--osl",
    otherwise=str(OSL),
    validate=between(1, 1_000_000),
    help=mark("Tokens that an answer has at most. It is shorter by default if the server's context is small."),
)
LEVEL = tuple(
    replace(question, otherwise=NO_LIMIT, help=mark("Service level: requests that keep it count as good."))
    for question in (TTFT, TPOT)
)
QUESTIONS = (CONCURRENCY, RATE, SECONDS, PROMPT, ANSWER, *LEVEL)


def conflict(answers: Mapping[str, object]) -> tuple[str, UsageError] | None:
    """The name of a question whose answer contradicts another's, and the error; None if there is none."""
    if CONCURRENCY.name in answers and RATE.name in answers:
        message = tr("a benchmark has concurrent requests or requests per second, not both")
        return RATE.name, UsageError("TW-U75", message, tr("Empty one of the two fields."))
    return None


def wanted_of(answers: Mapping[str, Any], before: Wanted) -> Wanted:
    """``before`` with the ``answers``, which were checked; what is missing is the default."""
    given: dict[str, Any] = {name: answers.get(name) for name in ("seconds", "isl", "osl", "ttft", "tpot")}
    levels = [str(answers.get(name, "")).split(",") for name in (CONCURRENCY.name, RATE.name)]
    concurrency, rates = ([part for part in parts if part] for parts in levels)
    return replace(before, concurrency=tuple(map(int, concurrency)), rates=tuple(map(float, rates)), **given)


def answers_of(wanted: Wanted) -> dict[str, object]:
    """The answers that stand for ``wanted``."""
    levels = {"concurrency": wanted.concurrency, "request_rate": wanted.rates}
    texts = {name: ",".join(f"{number:g}" for number in numbers) for name, numbers in levels.items()}
    given = {**texts, **{name: getattr(wanted, name) for name in ("seconds", "isl", "osl", "ttft", "tpot")}}
    return {name: value for name, value in given.items() if value not in ("", None)}


def flags_of(wanted: Wanted) -> tuple[str, ...]:
    """The flags of `triton-wizard bench` that stand for ``wanted``."""
    given, flags = answers_of(wanted), {question.name: question.flag for question in QUESTIONS}
    words = [word for name, value in given.items() for word in (flags[name], _plain(value))]
    quick = ("--quick",) if wanted.quick else ()
    return (*quick, *words, *(("--repeats", str(wanted.repeats)) if wanted.repeats else ()))


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
