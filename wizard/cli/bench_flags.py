"""The flags of `triton-wizard bench`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

from wizard.cli.number_types import whole
from wizard.kernel.language import tr

Number = TypeVar("Number", int, float)
EXAMPLES = (
    "bench demo --quick\n"
    "bench --concurrency 1,2,4,8 --requests 100 --ttft 200 --tpot 50\n"
    "bench http://127.0.0.1:11434 --request-rate 0.5,1,2 --seconds 60\n"
    "bench --dataset mini_cnn_eval.json --isl 100 --requests 100\n"
    "bench --compare a b --concurrency 1,8\n"
    "bench demo --tune --ttft 500 --tpot 50\n"
    "bench --open report.json\n"
    "bench --replay report.json\n"
    "bench genai-perf -m demo --num-prompts 10 --concurrency 1"
)


def positive(text: str) -> float:
    """A number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(tr("must be a number above 0"))
    return value


def several(kind: Callable[[str], Number]) -> Callable[[str], tuple[Number, ...]]:
    """Numbers with commas between them."""

    def parse(text: str) -> tuple[Number, ...]:
        return tuple(kind(each.strip()) for each in text.split(","))

    return parse


def from_zero(text: str) -> int:
    """An integer, 0 or more."""
    return 0 if text == "0" else whole(text)


def add_bench(bench: argparse.ArgumentParser) -> None:
    """Add its flags."""
    bench.add_argument(
        "target",
        nargs="?",
        metavar="SERVER|URL",
        help=tr("a server in the workspace (default: the only one), or the URL of another server"),
    )
    bench.add_argument("--model", metavar="NAME", help=tr("with a URL: the model's name there, if there are several"))
    _add_compare(bench.add_argument_group(tr("comparison and search")))
    _add_load(bench.add_argument_group(tr("load")))
    _add_requests(bench.add_argument_group(tr("requests")))
    bench.add_argument("--out", metavar="DIR", help=tr("folder for the report (default: a new one in the workspace)"))
    _add_reports(bench.add_argument_group(tr("reports")))
    bench.add_argument("--yes", action="store_true", help=tr("do not ask, however long it takes"))
    bench.add_argument("--verbose", action="store_true", help=tr("show all output of the installation"))


def _add_compare(comparison: argparse._ArgumentGroup) -> None:
    compare = tr(
        "measure several servers under the same load, in alternating runs, and their ratios to the first; or compare "
        "reports"
    )
    comparison.add_argument("--compare", nargs="+", default=(), metavar="SERVER|URL|REPORT", help=compare)
    search = tr("find the settings of a stopped server that meet --ttft and --tpot, and write a plan with them")
    comparison.add_argument("--tune", action="store_true", help=search)
    price = tr("what a GPU costs per hour, in any currency, to compare the cost of tokens")
    comparison.add_argument("--cost-per-gpu-hour", type=positive, metavar="F", help=price)


def _add_reports(reports: argparse._ArgumentGroup) -> None:
    shown = tr("show a report, full screen or as text; measures nothing")
    reports.add_argument("--open", metavar="REPORT", help=shown)
    replay = tr("measure the same again as this report, and tell what has changed")
    reports.add_argument("--replay", metavar="REPORT", help=replay)
    reports.add_argument("--png", action="store_true", help=tr("write the charts as PNG, too (needs the extra png)"))
    reports.add_argument("--plain", action="store_true", help=tr("with --open: print text instead of full screen"))


def _add_load(load: argparse._ArgumentGroup) -> None:
    quick = tr("1 and 4 concurrent requests, 8 s each")
    load.add_argument("--quick", action="store_true", help=quick)
    load.add_argument(
        "--concurrency",
        type=several(whole),
        default=(),
        metavar="N,N",
        help=tr("numbers of concurrent requests to measure (default: 1, 2, 4 … up to what the server runs at once)"),
    )
    load.add_argument(
        "--request-rate",
        type=several(positive),
        default=(),
        metavar="R,R",
        help=tr("instead: requests per second to measure; they arrive at random, like users"),
    )
    load.add_argument("--requests", type=whole, metavar="N", help=tr("requests of a run"))
    load.add_argument("--seconds", type=positive, metavar="S", help=tr("instead: seconds of a run (20)"))
    load.add_argument("--repeats", type=whole, metavar="N", help=tr("runs of each level (3); intervals need 3"))
    load.add_argument(
        "--warmup",
        type=from_zero,
        default=1,
        metavar="N",
        help=tr("requests before each run, per concurrent one, that are not counted (1)"),
    )


def _add_requests(requests: argparse._ArgumentGroup) -> None:
    dataset = tr("prompts: generated, a JSON list like mini_cnn_eval.json, a .jsonl file, or a text file (generated)")
    requests.add_argument("--dataset", default="generated", metavar="FILE", help=dataset)
    isl = tr("tokens per prompt, approximately (128); prompts from a file are cut to it")
    requests.add_argument("--isl", type=whole, metavar="N", help=isl)
    requests.add_argument("--osl", type=whole, metavar="N", help=tr("maximum tokens per answer (64)"))
    ttft = tr("service level: maximum time to first token (ms)")
    requests.add_argument("--ttft", type=positive, metavar="F", help=ttft)
    tpot = tr("service level: maximum time between tokens (ms)")
    requests.add_argument("--tpot", type=positive, metavar="F", help=tpot)
    requests.add_argument("--seed", type=from_zero, default=0, metavar="N", help=tr("seed of prompts and arrivals (0)"))
    api = tr("send requests to the OpenAI-compatible address, or to Triton's generate_stream (default: openai if any)")
    requests.add_argument("--api", choices=("openai", "generate_stream"), help=api)
