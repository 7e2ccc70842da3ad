"""A made-up report and its runs, to test how reports are shown. No measurement: the figures follow a formula."""

from __future__ import annotations

from wizard.advise.advice import Speed
from wizard.bench.dataset import Dataset
from wizard.bench.load import Load, Point, ServiceLevel
from wizard.bench.measured import GpuUse, Interval, Measured, Spread
from wizard.bench.report import Machine, Report, Target
from wizard.bench.run import Request, Run

LEVELS = (1, 2, 4, 8, 16, 32)
TOKENS = 64
ORDER = tuple((7 * at) % 20 for at in range(20))
"""Twenty numbers, each once, in no apparent order."""


def around(value: float, share: float = 0.04) -> Interval:
    return Interval(value, value * (1 - share), value * (1 + share))


def spread(median: float, widest: float) -> Spread:
    quantiles = tuple(median * (0.6 + 0.4 * (at / 10) if at <= 10 else widest ** ((at - 10) / 10)) for at in range(21))
    return Spread(around(1.1 * median), around(median), around(quantiles[18]), around(quantiles[20], 0.2), quantiles)


def measured(level: int) -> Measured:
    ttft, tpot = 21.0 + 4.3 * level, 6.1 + 0.42 * level
    rate = 1000 * level / (tpot + ttft / TOKENS)
    good = 1.0 if level < 16 else 0.8
    return Measured(
        point=Point(concurrency=level),
        runs=(f"c{level}-1", f"c{level}-2", f"c{level}-3"),
        method="runs",
        requests=60 * level,
        errors={"HTTP 503": 3} if level == 32 else {},
        sent=64 * level,
        seconds=31.4,
        in_flight=0.97 * level,
        ttft_ms=spread(ttft, 2 + level / 8),
        tpot_ms=spread(tpot, 1.5),
        latency_ms=spread(ttft + TOKENS * tpot, 1.6),
        tokens_per_s=around(rate),
        requests_per_s=around(rate / TOKENS),
        good_per_s=around(good * rate / TOKENS),
        good=Interval(good, good - 0.05, min(1.0, good + 0.05)),
        input_tokens=65.5,
        output_tokens=63.8,
        joules_per_token=4.2 / level,
        gpus=(GpuUse(0, 212.5, 17_179_869_184, 1620.0, 0.83),),
        server={"num_requests_waiting": 0.25 * level},
        generator_cores=0.11 + 0.01 * level,
    )


def predicted(level: int) -> Speed:
    tpot = 5.8 + 0.4 * level
    rate = 1000 * level / (tpot + (20 + 4 * level) / TOKENS)
    return Speed(tpot, rate, 20.0 + 4 * level, tpot / 1.2, tpot * 1.2, "roofline", "fair", users=level, isl=64, osl=64)


def run(level: int) -> Run:
    """Each of ``level`` users sends a request after the other, for some 9 seconds."""
    point, requests = measured(level), []
    assert point.ttft_ms
    assert point.tpot_ms
    for user in range(level):
        at = 0.01 * user
        for number in range(100):
            ttft = point.ttft_ms.quantiles[ORDER[(user + number) % 20]]
            latency = ttft + (TOKENS - 1) * point.tpot_ms.p50.value
            if at + latency / 1000 > 9:
                break
            requests.append(Request(at, at + latency / 1000, ttft, latency, 65, TOKENS))
            at += latency / 1000
    return Run(Point(concurrency=level), 1, 1764061200.0, tuple(sorted(requests, key=lambda request: request.start_s)))


REPORT = Report(
    format=1,
    made="2026-11-25T12:00:00+00:00",
    command="triton-wizard bench sample --concurrency 1,2,4,8,16,32 --requests 64 --repeats 3 --ttft 120",
    target=Target(
        "sample",
        "sample",
        "http://127.0.0.1:9000/v1",
        ref="example/Sample-8B",
        stack="vllm",
        setup={"tp": "1", "quantization": "fp8"},
        slots=32,
        plan="0123456789abcdef",
    ),
    machine=Machine("Example CPU", 16, 137_438_953_472, ("Example GPU",), "580.65.06", "Debian 13"),
    versions={"triton-wizard": "0.1.0", "aiperf": "0.13.0", "python": "3.12.3", "triton": "2.63.0"},
    load=Load(tuple(Point(concurrency=level) for level in LEVELS), requests=64, warmup=8, repeats=3, seed=7),
    dataset=Dataset(isl=64, prompts=384),
    level=ServiceLevel(ttft_ms=120.0),
    points=tuple(map(measured, LEVELS)),
    predicted={f"c{level}": predicted(level) for level in LEVELS},
)
RUNS = tuple(map(run, LEVELS))
HOSTILE = "<img src=x onerror=alert(1)>|`\"'&\u202e\x1b[31m*a*[b](javascript:alert(1))\ud800"
"""Text that means something to HTML, SVG, Markdown and terminals."""
