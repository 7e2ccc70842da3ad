"""Two models that answer the same question: what is measured of both, while it happens and in the end.

A `Lane` takes the pieces of an answer. All times that it compares are seconds since its own request was sent
(`Chunk.at_s`), so two lanes have the same scale even if one was asked after the other.
"""

from __future__ import annotations

import ipaddress
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from operator import itemgetter
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from wizard.chat.chunk import Chunk
from wizard.chat.conversation import Conversation, Sampling, Stats
from wizard.chat.report import COMPARABLE_S
from wizard.kernel.text import one_line
from wizard.serve.endpoint import Endpoint

EQUAL = 1.05
"""Ratio of two rates up to which they are reported as equal."""

Order: TypeAlias = Literal["together", "turns"]
"""Whether both answer at the same time, or one after the other."""
Outcome: TypeAlias = Literal["complete", "stopped", "failed", "not_asked"]


class Arrival(NamedTuple):
    """A piece with text.

    Attributes:
        at_s: Seconds from sending the request.
        tokens: Tokens so far, counted by the server; None if it does not report them with its pieces.
        pieces: Pieces so far, if the server reports no tokens with them.
    """

    at_s: float
    tokens: int | None
    pieces: int | None


_TIME = itemgetter(0)


class Lane:
    """One model's answer, as it arrives; ``now`` is always the time of the same monotonic clock."""

    def __init__(self) -> None:
        self.asked: Conversation | None = None
        """What was sent; None before."""
        self.arrivals: list[Arrival] = []
        self.outcome: Outcome | None = None
        """None until it ends."""
        self.ttft_s: float | None = None
        self.answer_s: float | None = None
        """First text of the answer, after the thought if there is one."""
        self.thinks = False
        self.stats: Stats | None = None
        self.error = ""
        """Code of the error that ended it."""
        self.characters = 0
        self._sent: float | None = None
        self._ended: float | None = None

    def start(self, now: float, conversation: Conversation) -> None:
        """``conversation``, which ends with the question, is being sent."""
        self._sent, self.asked = now, conversation

    def take(self, chunk: Chunk, now: float) -> None:
        """Take a piece."""
        if chunk.recast:
            self.thinks, self.answer_s = True, None
        if chunk.at_s is None or not (chunk.text or chunk.thought):
            return
        if not self.arrivals:
            self._sent = now - chunk.at_s  # without what the client prepared before
        self.characters += len(chunk.text) + len(chunk.thought)
        self.thinks = self.thinks or bool(chunk.thought)
        self.ttft_s = chunk.ttft_s if self.ttft_s is None else self.ttft_s
        if chunk.text and self.answer_s is None:
            self.answer_s = chunk.at_s
        self.arrivals.append(Arrival(chunk.at_s, chunk.tokens, chunk.pieces))

    def end(self, now: float, stats: Stats | None, error: str = "") -> None:
        """The answer is complete, failed with the code ``error``, or was stopped."""
        self._ended, self.stats, self.error = now, stats, error
        self.outcome = "complete" if stats else "failed" if error else "stopped"
        if stats is not None:
            self.ttft_s, self.answer_s = stats.ttft_s, stats.answer_s

    def skip(self) -> None:
        """The question is not sent: the other one was stopped before."""
        self.outcome = "not_asked"

    def elapsed(self, now: float) -> float:
        """Seconds from sending to the end, or to ``now``; 0 before."""
        if self.stats is not None:
            return self.stats.total_s
        if self._sent is None:
            return 0.0
        last = self.arrivals[-1].at_s if self.arrivals else 0.0
        return max((now if self._ended is None else self._ended) - self._sent, last)

    @property
    def started(self) -> bool:
        """Whether the question was sent."""
        return self.asked is not None

    @property
    def tokens(self) -> int | None:
        """Tokens so far, counted by the server."""
        if self.stats is not None:
            return self.stats.tokens
        return self.arrivals[-1].tokens if self.arrivals else None

    @property
    def pieces(self) -> int | None:
        """Pieces so far, if the server does not count its tokens."""
        if self.stats is not None:
            return self.stats.pieces
        return self.arrivals[-1].pieces if self.arrivals else None

    def rate(self, count: int | None, now: float) -> float | None:
        """``count`` per second after the first token, so far; None while the time is too short to be meaningful.

        Of an answer that was stopped or failed: until its last piece.
        """
        if count is None or self.ttft_s is None:
            return None
        span = (self.arrivals[-1].at_s if self.outcome else self.elapsed(now)) - self.ttft_s
        return (count - 1) / span if span >= COMPARABLE_S else None

    def curve(self) -> Curve:
        """How the text arrived."""
        return Curve(self.arrivals, self.tokens)


class Curve:
    """How many tokens there are at a time: a straight line between two arrivals.

    A server that counts its tokens only in the end has pieces before; they are scaled to that number.

    Args:
        arrivals: In order.
        tokens: Counted in the end, or so far.
    """

    def __init__(self, arrivals: Sequence[Arrival], tokens: int | None) -> None:
        self._arrivals, self._scale = arrivals, 1.0
        if arrivals and tokens and arrivals[-1].tokens is None and arrivals[-1].pieces:
            self._scale = tokens / arrivals[-1].pieces

    def rate(self, start: float, end: float) -> float:
        """Tokens per second from ``start`` to ``end``, which both are after the first arrival."""
        return (self._at(end) - self._at(start)) / (end - start) if end > start else 0.0

    def _at(self, time: float) -> float:
        at = bisect_right(self._arrivals, time, key=_TIME)  # a long answer has many, and is drawn often
        if at == 0 or at == len(self._arrivals):
            return self._count(max(at - 1, 0)) if self._arrivals else 0.0
        before, after = self._arrivals[at - 1].at_s, self._arrivals[at].at_s
        share = (time - before) / (after - before)
        return self._count(at - 1) + share * (self._count(at) - self._count(at - 1))

    def _count(self, at: int) -> float:
        arrival = self._arrivals[at]
        return self._scale * (arrival.tokens or arrival.pieces or 0)


@dataclass(frozen=True, slots=True)
class LaneResult:
    """What was measured of one model; times in seconds since its request was sent, null if not measured.

    Attributes:
        name: As shown: the server's name in the workspace, or the model's on a server elsewhere.
        model: Its name on the server.
        ref: The model's ID on the Hub, if the server tells; otherwise empty.
        server: Base URL.
        outcome: ``complete``, ``stopped`` by the user, ``failed``, or ``not_asked`` because the first one was stopped.
        error: Code of the error, if it failed.
        finish: As in an answer of `chat --json`; empty unless complete.
        tokens: Counted by the server, thinking included.
        thought_tokens: Those of them that are not the answer's; as all measurements below, as in an answer.
        tokens_per_s: Decoding rate; of an answer that is not complete, until its last piece.
        characters: Of the thought and the answer, for models with different tokenizers.
        arrivals: When each piece arrived.
    """

    name: str
    model: str
    ref: str
    server: str
    outcome: Outcome
    error: str
    finish: str
    tokens: int | None
    thought_tokens: int | None
    ttft_s: float | None
    thought_s: float | None
    answer_s: float | None
    tokens_per_s: float | None
    pieces: int | None
    pieces_per_s: float | None
    total_s: float | None
    characters: int
    arrivals: tuple[Arrival, ...] = ()

    @property
    def rate(self) -> float | None:
        """Tokens per second, or pieces where the server does not count its tokens."""
        return self.pieces_per_s if self.tokens_per_s is None else self.tokens_per_s

    @property
    def estimated(self) -> bool:
        """Whether the pieces of the stream stand for its tokens."""
        return self.tokens is None and bool(self.pieces)

    @property
    def thought_only(self) -> bool:
        """Whether it thought, and gave no answer."""
        return self.thought_s is not None and self.answer_s is None

    @property
    def comparable(self) -> bool:
        """Whether the rate is reliable enough for a comparison."""
        if self.outcome != "complete" or self.rate is None or self.total_s is None:
            return False
        return self.total_s - (self.ttft_s or 0.0) >= COMPARABLE_S


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who was ahead; null if it was not measured, or cannot be compared.

    Attributes:
        first: The name of the model whose first token came sooner.
        first_by_s: By how many seconds.
        faster: The name of the model with the higher rate; null if the rates differ by less than 5 %.
        ratio: The higher rate divided by the lower one.
        estimated: Whether a rate counts the pieces of a stream, because the server does not count its tokens.
    """

    first: str | None
    first_by_s: float | None
    faster: str | None
    ratio: float | None
    estimated: bool


@dataclass(frozen=True, slots=True)
class RaceResult:
    """A comparison of two models with one question.

    Attributes:
        date: When it was sent (UTC).
        prompt: The question.
        system: The system prompt; empty if there is none.
        earlier_messages: Number of messages before the question, for each lane: the models read them, too.
        sampling: The settings of both.
        order: ``together``: at the same time; ``turns``: one after the other.
        same_machine: Whether both servers have the same host, so that they shared it if they answered ``together``.
        lanes: Both models.
        verdict: Who was ahead.
    """

    date: str
    prompt: str
    system: str
    earlier_messages: tuple[int, ...]
    sampling: Sampling
    order: Order
    same_machine: bool
    lanes: tuple[LaneResult, ...]
    verdict: Verdict

    @property
    def shared(self) -> bool:
        """Whether they slowed each other down: both wrote on the same machine at the same time."""
        both = all(lane.ttft_s is not None for lane in self.lanes)
        return both and self.same_machine and self.order == "together"


@dataclass(frozen=True, slots=True)
class Race:
    """Two models with the same question.

    Attributes:
        endpoints: The first one's, and the second one's.
        order: See `Order`.
        at: When, in seconds since 1970 (UTC).
    """

    endpoints: tuple[Endpoint, Endpoint]
    order: Order
    at: float
    lanes: tuple[Lane, Lane] = field(default_factory=lambda: (Lane(), Lane()))

    @property
    def names(self) -> tuple[str, str]:
        """What both are called; with their addresses if they have the same name."""
        first, second = (one_line(each.title) for each in self.endpoints)
        if first != second:
            return first, second
        first, second = (f"{name} ({_place(each)})" for name, each in zip((first, second), self.endpoints, strict=True))
        return first, second

    @property
    def ended(self) -> bool:
        """Whether both have ended."""
        return all(lane.outcome is not None for lane in self.lanes)

    @property
    def same_machine(self) -> bool:
        """Whether both servers have the same host."""
        hosts = {_host(endpoint) for endpoint in self.endpoints}
        return len(hosts) == 1

    def result(self) -> RaceResult:
        """What was measured; only of a race that has ended."""
        named = zip(self.names, self.endpoints, self.lanes, strict=True)
        lanes = tuple(_result(name, endpoint, lane) for name, endpoint, lane in named)
        asked = self.lanes[0].asked or Conversation()
        return RaceResult(
            date=datetime.fromtimestamp(self.at, timezone.utc).isoformat(timespec="seconds"),
            prompt=asked.messages[-1].content if asked.messages else "",
            system=asked.system,
            earlier_messages=tuple(_earlier(lane.asked) for lane in self.lanes),
            sampling=asked.sampling,
            order=self.order,
            same_machine=self.same_machine,
            lanes=lanes,
            verdict=_verdict(lanes),
        )


def _earlier(asked: Conversation | None) -> int:
    return sum(message.role != "system" for message in asked.messages[:-1]) if asked else 0


def _place(endpoint: Endpoint) -> str:
    return urlsplit(endpoint.http).netloc


def _host(endpoint: Endpoint) -> str:
    """The name of its host; the same for all addresses of this machine's loopback."""
    name = urlsplit(endpoint.http).hostname or ""
    try:
        loops = ipaddress.ip_address(name).is_loopback
    except ValueError:
        loops = name == "localhost"
    return "localhost" if loops else name


def _result(name: str, endpoint: Endpoint, lane: Lane) -> LaneResult:
    stats, outcome = lane.stats, lane.outcome or "stopped"
    return LaneResult(
        name=name,
        model=endpoint.model,
        ref=endpoint.ref,
        server=endpoint.http,
        outcome=outcome,
        error=lane.error,
        finish=stats.finish if stats else "",
        tokens=lane.tokens,
        thought_tokens=stats.thought_tokens if stats else None,
        ttft_s=lane.ttft_s,
        thought_s=stats.thought_s if stats else None,
        answer_s=lane.answer_s,
        tokens_per_s=stats.tokens_per_s if stats else lane.rate(lane.tokens, 0.0),
        pieces=lane.pieces,
        pieces_per_s=stats.pieces_per_s if stats else lane.rate(lane.pieces, 0.0),
        total_s=lane.elapsed(0.0) if lane.started else None,
        characters=lane.characters,
        arrivals=tuple(each._replace(at_s=round(each.at_s, 6)) for each in lane.arrivals),
    )


def _verdict(lanes: tuple[LaneResult, ...]) -> Verdict:
    first: str | None = None
    first_by: float | None = None
    faster: str | None = None
    ratio: float | None = None
    began = sorted((lane.ttft_s, lane.name) for lane in lanes if lane.ttft_s is not None)
    if len(began) == len(lanes):
        first_by = began[1][0] - began[0][0]
        first = began[0][1] if first_by else None
    rates = sorted(((lane.rate, lane.name) for lane in lanes if lane.comparable and lane.rate), reverse=True)
    if len(rates) == len(lanes):
        ratio = rates[0][0] / rates[1][0]
        faster = rates[0][1] if ratio >= EQUAL else None
    return Verdict(first, first_by, faster, ratio, any(lane.estimated for lane in lanes))
