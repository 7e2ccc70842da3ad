"""A report's tables, as text: the same for Markdown, HTML, notebooks and terminals. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from wizard.advise.advice import Speed
from wizard.bench.dataset import Dataset
from wizard.bench.measured import GpuUse, Interval, Measured, Spread
from wizard.bench.quality.report import Quality
from wizard.bench.report import Report
from wizard.kernel.language import ntr, tr
from wizard.kernel.units import size
from wizard.texts.benchmark import words
from wizard.texts.benchmark.words import interval, number
from wizard.texts.report import CONFIDENCE, PROVIDERS

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table: cells as text, the same number in each row; the first cell names the row."""

    title: str
    head: Row
    rows: tuple[Row, ...]
    about: str = ""
    """How to read it."""


def tables(report: Report) -> tuple[Table, ...]:
    """All tables with at least one row; together they have all figures of the report."""
    made = (throughput(report), latency(report), predicted(report), errors(report), details(report), server(report))
    return tuple(table for table in made if table.rows)


def throughput(report: Report) -> Table:
    """Requests and tokens per second at each level."""
    judged = report.level.given
    head = (
        tr("Load"),
        tr("Output tokens/s"),
        tr("Requests/s"),
        *((tr("Good requests/s"), tr("Good requests")) if judged else ()),
        tr("Requests"),
        tr("Failed"),
        tr("In flight"),
    )
    about = intervals(report)
    if judged:
        about += " " + tr("Good requests keep the service level.")
    return Table(tr("Throughput"), head, tuple(_throughput(point, judged=judged) for point in report.points), about)


def _throughput(point: Measured, *, judged: bool) -> Row:
    good = (interval(point.good_per_s), words.interval_of_shares(point.good)) if judged else ()
    return (
        words.level(point.point),
        interval(point.tokens_per_s),
        interval(point.requests_per_s),
        *good,
        f"{point.requests:,}",
        tr("{failed:,} of {sent:,}", failed=sum(point.errors.values()), sent=point.sent),
        number(point.in_flight),
    )


def intervals(report: Report) -> str:
    """What the figures in parentheses are, and what they come from."""
    methods = {words.method(point) for point in report.points}
    if len(methods) == 1:
        return tr("95% intervals in parentheses, from: {method}.", method=methods.pop())
    return tr("95% intervals in parentheses; the table of details names what they come from.")


def latency(report: Report) -> Table:
    """Times of the requests at each level."""
    head = (tr("Load"), tr("Time in ms"), tr("Mean"), tr("Median"), tr("90%"), tr("99%"))
    rows = [row for point in report.points for row in _latency(point)]
    about = tr("90% and 99% of the requests took this long or less. 95% intervals in parentheses.")
    return Table(tr("Latency"), head, tuple(rows), about)


def _latency(point: Measured) -> Iterable[Row]:
    named = (
        (tr("to first token"), point.ttft_ms),
        (tr("between tokens"), point.tpot_ms),
        (tr("to last token"), point.latency_ms),
    )
    for name, spread in named:
        yield (words.level(point.point), name, *_values(spread))


def _values(spread: Spread | None) -> Row:
    if spread is None:
        return (words.unknown(),) * 4
    return tuple(map(interval, (spread.mean, spread.p50, spread.p90, spread.p99)))


def predicted(report: Report, write: Callable[[Interval | None], str] = interval) -> Table:
    """The wizard's estimates beside the measurements, which ``write`` turns into text."""
    head = (tr("Load"), tr("Figure"), tr("Predicted"), tr("Measured"), tr("Ratio"), tr("Estimate"))
    rows = [
        row
        for point in report.points
        if (speed := report.predicted.get(words.level_id(point.point)))
        for row in _predicted(point, speed, write)
    ]
    about = tr(
        "The estimate was made before the measurement; its own range is in parentheses. The ratio is measured ÷ "
        "predicted."
    )
    about = " ".join(filter(None, (about, words.other_lengths(report))))
    return Table(tr("Predicted and measured"), head, tuple(rows), about)


def _predicted(point: Measured, speed: Speed, write: Callable[[Interval | None], str]) -> Iterable[Row]:
    who = tr(PROVIDERS.get(speed.provider) or speed.provider)
    sure = tr(CONFIDENCE.get(speed.confidence, speed.confidence))
    estimate = tr("{who}; confidence: {confidence}", who=who, confidence=sure)
    compared = (
        (tr("output tokens/s"), speed.throughput_tokens_per_s, None, None, point.tokens_per_s),
        (tr("ms to first token"), speed.ttft_ms, speed.ttft_low_ms, speed.ttft_high_ms, _mean(point.ttft_ms)),
        (tr("ms between tokens"), speed.tpot_ms, speed.low, speed.high, _mean(point.tpot_ms)),
    )
    for name, value, low, high, measured in compared:
        if value is None:
            continue
        ratio = number(measured.value / value) if measured and value else words.unknown()
        before = words.ranged(number(value), low, high)
        yield (words.level(point.point), name, before, write(measured), ratio, estimate)


def _mean(spread: Spread | None) -> Interval | None:
    return spread.mean if spread else None


def errors(report: Report) -> Table:
    """What failed."""
    rows = tuple(
        (words.level(point.point), kind, f"{count:,}")
        for point in report.points
        for kind, count in point.errors.items()
        if count
    )
    return Table(tr("Failed requests"), (tr("Load"), tr("Error"), tr("Requests")), rows)


def details(report: Report) -> Table:
    """Runs, lengths, energy, the load generator, and the GPUs."""
    head = (
        tr("Load"),
        tr("Runs"),
        tr("Measured for"),
        tr("Intervals from"),
        tr("Prompt tokens"),
        tr("Answer tokens"),
        tr("J/token"),
        tr("Load generator"),
        tr("GPUs"),
    )
    return Table(tr("Details"), head, tuple(map(_details, report.points)), tr("Means of all runs."))


def _details(point: Measured) -> Row:
    cores = point.generator_cores
    return (
        words.level(point.point),
        f"{len(point.runs):,}",
        tr("{seconds} s", seconds=number(point.seconds)),
        words.method(point),
        number(point.input_tokens),
        number(point.output_tokens),
        number(point.joules_per_token),
        words.unknown() if cores is None else tr("{cores} cores", cores=number(cores)),
        "; ".join(map(_gpu, point.gpus)) or tr("none"),
    )


def _gpu(gpu: GpuUse) -> str:
    known = [
        "" if gpu.power_watts is None else f"{number(gpu.power_watts)} W",
        "" if gpu.memory_used_bytes is None else size(gpu.memory_used_bytes),
        "" if gpu.server_memory_bytes is None else tr("{size} by the server", size=size(gpu.server_memory_bytes)),
        "" if gpu.sm_clock_mhz is None else f"{number(gpu.sm_clock_mhz)} MHz",
        "" if gpu.utilization is None else tr("{share} busy", share=words.share(gpu.utilization)),
    ]
    return tr("GPU {index}: {figures}", index=gpu.index, figures=", ".join(filter(None, known)) or words.unknown())


def server(report: Report) -> Table:
    """Means of the server's own metrics."""
    rows = tuple(
        (words.level(point.point), name, number(value))
        for point in report.points
        for name, value in point.server.items()
    )
    return Table(tr("Metrics of the server"), (tr("Load"), tr("Metric"), tr("Mean")), rows)


def summary(report: Report, *, short: bool = False) -> Table:
    """The most important figures; ``short`` leaves out those that follow from others."""
    judged = report.level.given
    columns = (
        (tr("load"), True),
        (tr("tokens/s"), True),
        (tr("requests/s"), not short),
        (tr("first token"), True),
        (tr("p99"), True),
        (tr("per token"), True),
        (tr("answer"), not short),
        (tr("good"), judged),
        (tr("failed"), True),
    )
    about = tr("Medians; times in ms. ± is half of the 95% interval.")
    if judged:
        about += " " + tr("Good: {limits}.", limits=words.service_level(report.level))
    rows = tuple(chosen(columns, _summary(point)) for point in report.points)
    return Table(tr("Results"), chosen(columns, [name for name, _ in columns]), rows, about)


def chosen(columns: Sequence[tuple[str, bool]], cells: Sequence[str]) -> Row:
    """The cells of the columns that are wanted."""
    return tuple(cell for (_, wanted), cell in zip(columns, cells, strict=True) if wanted)


def _summary(point: Measured) -> Row:
    failed = sum(point.errors.values())
    return (
        words.level(point.point),
        words.brief(point.tokens_per_s),
        number(point.requests_per_s.value if point.requests_per_s else None),
        words.brief(_median(point.ttft_ms)),
        number(point.ttft_ms.p99.value if point.ttft_ms else None),
        words.brief(_median(point.tpot_ms)),
        words.brief(_median(point.latency_ms)),
        words.share(point.good.value if point.good else None),
        f"{failed:,}/{point.sent:,}" if failed else "0",
    )


def _median(spread: Spread | None) -> Interval | None:
    return spread.p50 if spread else None


# -- what ran ----------------------------------------------------------------------------------------------------------


def facts(report: Report) -> tuple[tuple[str, str], ...]:
    """What ran, on what, and how: name and value."""
    target, dataset = report.target, report.dataset
    setup = ", ".join(f"{name} {value}" for name, value in target.setup.items())
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    return (
        (tr("Measured"), report.made),
        (tr("Model"), f"{target.model} ({target.ref})" if target.ref else target.model),
        (tr("Server"), f"{target.name}, {target.url}"),
        (tr("Requests"), tr(words.APIS[target.api])),
        (tr("Stack"), target.stack or words.unknown()),
        (tr("Setup"), setup or words.unknown()),
        (tr("Requests at once"), words.unknown() if target.slots is None else f"{target.slots:,}"),
        (tr("Plan"), target.plan or tr("none: the wizard did not start this server")),
        (tr("Machine"), machine(report)),
        (
            tr("Versions"),
            versions or words.unknown(),
        ),
        (tr("Levels of load"), ", ".join(map(words.level, report.load.points))),
        (tr("Each level"), words.runs(report.load)),
        (tr("Random seed"), str(report.load.seed)),
        (tr("Service level"), words.service_level(report.level)),
        (tr("Prompts"), prompts(report)),
        (tr("Length of a prompt"), _prompt_length(dataset)),
        (tr("Length of an answer"), tr("at most {tokens}", tokens=_tokens(dataset.osl))),
    )


def _prompt_length(dataset: Dataset) -> str:
    if dataset.isl is None or dataset.kind == "generated":
        return _tokens(dataset.isl)
    return tr("at most {tokens}", tokens=_tokens(dataset.isl))


def _tokens(count: int | None) -> str:
    return tr("unlimited") if count is None else ntr("{count:,} token", "{count:,} tokens", count, count=count)


def subject(report: Report) -> str:
    """Server and prompts in a line."""
    target, dataset = report.target, report.dataset
    server = f"{target.name} ({target.stack})" if target.stack else target.name
    lengths = {"isl": _prompt_length(dataset), "osl": _tokens(dataset.osl)}
    return tr(
        "{server}: {prompts}; prompts: {isl}; answers: at most {osl}", server=server, prompts=prompts(report), **lengths
    )


def machine(report: Report | Quality) -> str:
    """The machine in a line."""
    there = report.machine
    cores = ntr("{count} core", "{count} cores", there.cores, count=there.cores)
    memory = tr("{size} of memory", size=size(there.memory_bytes))
    gpus = ", ".join(there.gpus) or tr("no GPU")
    driver = tr("driver {version}", version=there.driver) if there.driver else ""
    return ", ".join(filter(None, (f"{there.cpu} ({cores})", memory, gpus, driver, there.os or tr("unknown system"))))


def prompts(report: Report) -> str:
    """The prompts in a line."""
    dataset = report.dataset
    kind = tr(words.KINDS[dataset.kind])
    count = ntr("{count:,} prompt", "{count:,} prompts", dataset.prompts, count=dataset.prompts)
    changed = [
        tr(words.CHANGED[why], count=rows) if why in words.CHANGED else f"{why}: {rows:,}"
        for why, rows in dataset.changed
    ]
    checked = f"SHA-256 {dataset.sha256}" if dataset.sha256 else ""
    return ", ".join(filter(None, (kind, dataset.path or "", count, *changed, checked)))
