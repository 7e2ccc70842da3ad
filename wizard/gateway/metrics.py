"""The address's own metrics in Prometheus' text format (prometheus.io/docs/instrumenting/exposition_formats).

Names and buckets follow vLLM's (docs.vllm.ai, "Production Metrics"): ``num_requests_running``,
``time_to_first_token_seconds``, ``inter_token_latency_seconds``, ``prompt_tokens_total``,
``generation_tokens_total``. Written by hand: prometheus_client would be another package in every installation.
"""

from __future__ import annotations

import bisect
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wizard.chat.ask import Piece
from wizard.gateway.servers import Server

PREFIX = "triton_wizard_gateway"
FIRST_S = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0)
BETWEEN_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0)
"""Upper bounds of the histograms, in seconds."""
GONE = 499
"""Status of a request whose client hung up, as nginx logs it."""
SERVER = "triton_wizard.server"
"""Where a request's scope has the name of its server."""


@dataclass(slots=True)
class Histogram:
    """Observations per bucket; the last one has those above all ``bounds``."""

    bounds: tuple[float, ...]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect.bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str, label: str) -> Iterable[str]:
        """Its samples."""
        count = 0
        for bound, of in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            count += of
            yield f'{name}_bucket{{{label},le="{bound}"}} {count}'
        yield f"{name}_sum{{{label}}} {self.total:.9g}"
        yield f"{name}_count{{{label}}} {count}"


@dataclass(slots=True)
class Figures:
    """What one server's answers were like; they outlive a restart of the server."""

    first: Histogram = field(default_factory=lambda: Histogram(FIRST_S))
    between: Histogram = field(default_factory=lambda: Histogram(BETWEEN_S))
    prompt: int = 0
    generated: int = 0


@dataclass(slots=True)
class Metrics:
    """Of all requests since the process was started."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    """(server, HTTP status) → requests; the server is empty if none was chosen."""
    figures: dict[str, Figures] = field(default_factory=dict)

    async def measured(self, server: Server, pieces: AsyncGenerator[Piece, None]) -> AsyncGenerator[Piece, None]:
        """``pieces``, an answer of ``server``, with their times and tokens measured."""
        figures = self.figures.setdefault(server.endpoint.name, Figures())
        server.running += 1
        before, last, histogram = time.perf_counter(), None, figures.first
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    last = piece
                    if piece.text or piece.calls:
                        now = time.perf_counter()
                        histogram.observe(now - before)
                        before, histogram = now, figures.between
                    yield piece
        finally:
            server.running -= 1
            if last:
                figures.prompt += last.prompt_tokens or 0
                figures.generated += last.tokens or 0

    def counting(self, app: ASGIApp) -> ASGIApp:
        """``app``, with its requests counted by status."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            status = GONE  # nothing is sent to a client that has gone

            async def sent(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            try:
                await app(scope, receive, sent)
            finally:
                if scope["type"] == "http":
                    self.requests[scope.get(SERVER, ""), status] += 1

        return counted

    def text(self, servers: Iterable[Server]) -> str:
        """All of it; ``servers`` are those that run now."""
        labelled = [(f'model_name="{name}"', each) for name, each in sorted(self.figures.items())]
        requests = (
            f'_requests_total{{{_model(name)}status="{status}"}} {count}'
            for (name, status), count in sorted(self.requests.items())
        )
        running = (f'_num_requests_running{{model_name="{each.endpoint.name}"}} {each.running}' for each in servers)
        rows: list[tuple[str, str, str, Iterable[str]]] = [
            ("requests_total", "counter", "HTTP requests by server and status.", requests),
            ("num_requests_running", "gauge", "Answers being generated.", running),
        ]
        for name, help_text, numbers in (
            ("prompt_tokens_total", "Prompt tokens, as the engine counted them.", "prompt"),
            ("generation_tokens_total", "Generated tokens, as the engine counted them.", "generated"),
        ):
            counters = [f"_{name}{{{label}}} {getattr(each, numbers)}" for label, each in labelled]
            rows.append((name, "counter", help_text, counters))
        for name, help_text, histogram in (
            ("time_to_first_token_seconds", "From the request to the first text.", "first"),
            ("inter_token_latency_seconds", "Between two pieces of text.", "between"),
        ):
            lines = [line for label, each in labelled for line in getattr(each, histogram).lines(f"_{name}", label)]
            rows.append((name, "histogram", help_text, lines))
        return "".join(
            f"# HELP {PREFIX}_{name} {help_text}\n# TYPE {PREFIX}_{name} {kind}\n"
            + "".join(f"{PREFIX}{line}\n" for line in lines)
            for name, kind, help_text, lines in rows
        )


def _model(name: str) -> str:
    """The label of a server, with a comma; a request that reached none has no such label."""
    return f'model_name="{name}",' if name else ""
