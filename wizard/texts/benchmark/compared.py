"""A comparison's tables, charts and sentences: the same for Markdown, HTML and terminals. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wizard.bench.comparison import FIGURES, Comparison, Figure, Order, Ratio, cost, value_of
from wizard.bench.load import Point
from wizard.bench.measured import Measured
from wizard.kernel.language import mark, tr
from wizard.kernel.units import size
from wizard.texts.benchmark import tables as of_reports
from wizard.texts.benchmark import words
from wizard.texts.benchmark.differences import differences
from wizard.texts.benchmark.tables import Row, Table
from wizard.texts.benchmark.words import number

ORDERS: dict[Order, str] = {
    "alternating": mark("All servers were running, and their runs alternated (A B B A), with the same prompts."),
    "turns": mark("The servers were started in turn, a round of runs each (A B B A), with the same prompts."),
    "apart": mark("The servers were measured in separate benchmarks."),
    "search": mark("The settings were tried one after the other, each with a start of the server."),
}
NAMES: dict[Figure, str] = {
    "tokens_per_s": mark("output tokens/s"),
    "requests_per_s": mark("requests/s"),
    "ttft_ms": mark("ms to first token"),
    "tpot_ms": mark("ms between tokens"),
    "latency_ms": mark("ms to last token"),
}
METHODS = {
    "pairs": mark("pairs of runs"),
    "intervals": mark("the two intervals"),
}


def title(comparison: Comparison) -> str:
    """The heading."""
    if comparison.order == "search":
        return tr("Settings of {name}", name=comparison.reports[0].target.name)
    return tr("Comparison of {names}", names=", ".join(comparison.names))


def how(comparison: Comparison) -> str:
    """How the servers were measured, and the prompts."""
    first = comparison.reports[0]
    about = [of_reports.prompts(first)] + ([words.runs(first.load)] if comparison.order != "search" else [])
    return " ".join((tr(ORDERS[comparison.order]), f"{tr('Prompts')}: {'; '.join(about)}."))


def partial(comparison: Comparison) -> str:
    """Why it is incomplete, as a sentence; empty if it is complete."""
    return next((text for report in comparison.reports if (text := words.partial(report))), "")


def warnings(comparison: Comparison) -> tuple[str, ...]:
    """What makes it doubtful: itself, and the figures of each server."""
    own = (words.warning(note) for note in comparison.warnings)
    named = zip(comparison.names, comparison.reports, strict=True)
    return (*own, *(f"{name}: {text}" for name, report in named for text in words.warnings(report)))


def tables(comparison: Comparison) -> tuple[Table, ...]:
    """All tables with at least one row."""
    made = (results(comparison), resources(comparison), ratios(comparison), different(comparison))
    return tuple(table for table in made if table.rows)


def summary(comparison: Comparison) -> tuple[Table, ...]:
    """The tables for a terminal."""
    return tuple(table for table in (results(comparison, short=True), resources(comparison)) if table.rows)


def levels(comparison: Comparison) -> Iterator[tuple[Point, int, str, Measured]]:
    """Each level with each server that was measured there: level, number and name of the server, figures."""
    points = dict.fromkeys(each.point for report in comparison.reports for each in report.points)
    for point in points:
        for at, (name, report) in enumerate(zip(comparison.names, comparison.reports, strict=True)):
            for each in report.points:
                if each.point == point:
                    yield point, at, name, each


def results(comparison: Comparison, *, short: bool = False) -> Table:
    """The most important figures of each server, with the ratio of their throughput; ``short`` leaves some out."""
    columns = (
        *((tr("load"), True), (tr("server"), True), (tr("tokens/s"), True), (tr("times"), True)),
        *((tr("first token"), True), (tr("per token"), True), (tr("answer"), not short), (tr("failed"), not short)),
        (tr("good"), comparison.reports[0].level.given),
    )
    rows = tuple(of_reports.chosen(columns, _result(comparison, *level, short)) for level in levels(comparison))
    about = tr(
        "Medians; times in ms. “times”: throughput ÷ that of {first}, with its 95% interval.",
        first=comparison.names[0],
    )
    return Table(tr("Results"), of_reports.chosen(columns, [name for name, _ in columns]), rows, about)


def _result(comparison: Comparison, point: Point, at: int, name: str, measured: Measured, short: bool) -> Row:
    ratio = _find(comparison, at, point, "tokens_per_s")
    failed = sum(measured.errors.values())
    medians = (value_of(measured, figure) for figure in FIGURES if figure.endswith("_ms"))
    return (
        words.level(point),
        name,
        words.brief(measured.tokens_per_s) if short else words.interval(measured.tokens_per_s),
        "1" if at == 0 else words.interval(ratio.value) if ratio else words.unknown(),
        *(number(each.value if each else None) if short else words.interval(each) for each in medians),
        f"{failed:,}/{measured.sent:,}" if failed else "0",
        words.share(measured.good.value if measured.good else None),
    )


def _find(comparison: Comparison, server: int, point: Point, figure: Figure) -> Ratio | None:
    wanted = (server, point, figure)
    return next((each for each in comparison.ratios if (each.server, each.point, each.figure) == wanted), None)


def resources(comparison: Comparison) -> Table:
    """Memory, energy and cost."""
    price = comparison.per_gpu_hour
    head = (tr("load"), tr("server"), tr("memory"), tr("J/token"), tr("cost per million tokens"))
    rows = tuple(
        (
            words.level(point),
            name,
            memory(measured),
            number(measured.joules_per_token),
            number(cost(measured, price)),
        )
        for point, _, name, measured in levels(comparison)
    )
    if price is None:
        about = tr("Cost is unknown without a price: pass --cost-per-gpu-hour.")
    else:
        about = tr("Cost of output tokens at {price:g} per GPU and hour.", price=price)
    return Table(tr("Memory, energy and cost"), head, rows, about)


def memory(measured: Measured) -> str:
    """Most memory that the server used: of its GPUs if it has any, otherwise main memory. If NVML does not tell its
    processes apart, that of all processes on its GPUs, which is said.
    """
    if not measured.gpus:
        return words.unknown() if measured.memory_bytes is None else size(measured.memory_bytes)
    own = _together([gpu.server_memory_bytes for gpu in measured.gpus])
    if own is not None:
        return size(own)
    used = _together([gpu.memory_used_bytes for gpu in measured.gpus])
    return words.unknown() if used is None else tr("{size}, all processes", size=size(used))


def _together(amounts: Sequence[int | None]) -> int | None:
    """The sum; None if one is unknown."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def ratios(comparison: Comparison) -> Table:
    """All ratios with their intervals."""
    head = (tr("Load"), tr("Server"), tr("Figure"), tr("Ratio"), tr("Interval from"))
    rows = tuple(
        (
            words.level(each.point),
            comparison.names[each.server],
            tr(NAMES[each.figure]),
            words.interval(each.value),
            tr(METHODS[each.method]),
        )
        for each in comparison.ratios
    )
    about = tr("Value ÷ that of {first}. 95% intervals in parentheses.", first=comparison.names[0])
    return Table(tr("Ratios"), head, rows, about)


def verdicts(comparison: Comparison) -> tuple[str, ...]:
    """For each other server and level, a sentence about its throughput; of a search, its result."""
    if comparison.order == "search":
        return (_outcome(comparison),)
    return tuple(
        _verdict(comparison, each)
        for each in comparison.ratios
        if each.figure == "tokens_per_s" and each.value.low is not None and each.value.high is not None
    )


def _outcome(comparison: Comparison) -> str:
    if comparison.chosen is None:
        return tr("The search is incomplete.")
    report = comparison.reports[comparison.chosen]
    last = report.points[-1]
    return tr(
        "Best settings (requests at once, KV cache, tokens per step): {name}. At {level}: {rate} tokens/s, and {good} "
        "of the requests keep the service level ({limits}).",
        name=comparison.names[comparison.chosen],
        level=words.level(last.point),
        rate=words.interval(last.tokens_per_s),
        good=words.interval_of_shares(last.good),
        limits=words.service_level(report.level),
    )


def _verdict(comparison: Comparison, ratio: Ratio) -> str:
    value = ratio.value
    facts = {
        "level": words.level(ratio.point),
        "name": comparison.names[ratio.server],
        "first": comparison.names[0],
        "times": words.interval(value),
    }
    if (value.low or 0.0) <= 1 <= (value.high or 0.0):
        return tr("{level}: {name} has {times} times the tokens/s of {first}: no clear difference.", **facts)
    return tr("{level}: {name} has {times} times the tokens/s of {first}.", **facts)


def different(comparison: Comparison) -> Table:
    """In what the servers differ from the first one."""
    first, *others = comparison.reports
    rows = tuple(
        (name, line)
        for name, report in zip(comparison.names[1:], others, strict=True)
        for line in differences(first, report)
    )
    about = tr("“was”: {first}.", first=comparison.names[0])
    return Table(tr("Differences"), (tr("Server"), tr("Difference")), rows, about)


def facts(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """What ran: name and value."""
    first = comparison.reports[0]
    named = zip(comparison.names, comparison.reports, strict=True)
    return (
        (tr("Order"), tr(ORDERS[comparison.order])),
        *((name, of_reports.subject(report)) for name, report in named),
        (tr("Measured"), comparison.made),
        (tr("Machine"), of_reports.machine(first)),
        (tr("Each level"), words.runs(first.load)),
        (tr("Random seed"), str(first.load.seed)),
        (tr("Service level"), words.service_level(first.level)),
    )
