"""The report of `bench --quality` as text, Markdown and HTML: tables, and what they mean in plain words. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from wizard.bench.quality.proportions import sign_test, wilson
from wizard.bench.quality.report import Difference, Perplexity, Quality, Score, Subject
from wizard.bench.quality.tasks import NOT_SENT
from wizard.kernel.language import ntr, tr
from wizard.kernel.text import one_line, wrap
from wizard.texts.benchmark import html as pages
from wizard.texts.benchmark import markdown as lines
from wizard.texts.benchmark import tables, terminal
from wizard.texts.benchmark.colors import ANY
from wizard.texts.benchmark.files import write_pages
from wizard.texts.benchmark.markup import shown
from wizard.texts.benchmark.quality_charts import charts
from wizard.texts.benchmark.quality_words import exact, name, points, task
from wizard.texts.benchmark.tables import Table
from wizard.texts.benchmark.words import interval, interval_of_shares, number, share

SURE = 0.05
"""p-value below which a preference counts as found."""


def title(report: Quality) -> str:
    """The report's heading."""
    if report.perplexity:
        return tr("Quality of {model}", model=Path(report.perplexity.file).name)
    names = [name(subject) for subject in report.subjects]
    return tr("Quality of {model}", model=tr(" and ").join(names))


def text(report: Quality, columns: int, *, listed: bool = False, titled: bool = True) -> str:
    """The report in lines of at most ``columns`` cells; ``listed``: a line per figure, for screen readers."""
    blocks = [
        "\n".join(wrap(shown(line), columns) for line in (title(report), tables.machine(report))[not titled :]),
        wrap(shown(partial(report)), columns),
        "\n".join(wrap(shown(line), columns, first="! ", indent="  ") for line in warnings(report)),
        *(terminal.block(table, columns, listed) for table in tables_of(report)),
        "\n".join(wrap(shown(line), columns) for line in meaning(report)),
        terminal.again(report.command),
    ]
    return "\n\n".join(filter(None, blocks))


def write(folder: Path, report: Quality, *, pictures: bool = False) -> tuple[Path, ...]:
    """Write ``report.html`` and ``report.md`` into ``folder``, with ``pictures`` also its charts; returns their paths.

    Raises:
        WorkspaceError: TW-C68 if they cannot be written.
        UsageError, HostError: TW-U66, TW-U67 if ``pictures`` cannot be drawn; the pages are there then.
    """
    return write_pages(folder, page(report), as_markdown(report), charts(report) if pictures else ())


def as_markdown(report: Quality) -> str:
    """The report as Markdown."""
    return lines.document(
        title(report),
        partial(report),
        warnings(report),
        tables_of(report),
        facts(report),
        report.command,
        meaning=meaning(report),
    )


def page(report: Quality) -> str:
    """The report as an HTML page."""
    bare = replace(report, subjects=tuple(_bare(subject) for subject in report.subjects))
    main = [pages.listed(meaning(report)), pages.figures(charts(report)), *map(pages.table, tables_of(report))]
    main += [pages.what_ran(facts(report), report.command), pages.data(bare)]
    return pages.document(title(report), _lead(report), main)


def fragment(report: Quality) -> str:
    """The report for a notebook, as that of a benchmark."""
    parts = [pages.listed(meaning(report)), *map(pages.table, tables_of(report))]
    parts.append(pages.figures(charts(report), ANY, pages.prefix("quality", report.made)))
    folded = (pages.what_ran(facts(report), report.command),)
    return pages.embedded(title(report), _lead(report), parts, tr("What ran"), folded)


def _lead(report: Quality) -> str:
    return pages.lead(f"{tables.machine(report)} · {report.made}", partial(report), warnings(report))


def _bare(subject: Subject) -> Subject:
    """Without single questions, which would make the page long."""
    return replace(subject, scores=tuple(replace(score, items=()) for score in subject.scores))


# -- tables ------------------------------------------------------------------------------------------------------------


def tables_of(report: Quality) -> tuple[Table, ...]:
    """All tables with at least one row."""
    made = (_scores(report), _differences(report), _perplexity(report.perplexity), _votes(report))
    return tuple(table for table in made if table.rows)


def _scores(report: Quality) -> Table:
    head = (
        tr("Task"),
        *((tr("Server"),) if len(report.subjects) > 1 else ()),
        tr("Score"),
        tr("Answered"),
        tr("Failed"),
    )
    rows = [
        (
            task(score.task, score.filter),
            *((name(subject),) if len(report.subjects) > 1 else ()),
            interval_of_shares(score.value),
            f"{_answered(score):,} / {len(score.items):,}",
            f"{_failed(score):,}",
        )
        for subject in report.subjects
        for score in subject.scores
    ]
    about = tr("Mean score of the answered questions; for right or wrong answers, the share of right ones.")
    return Table(tr("Scores"), head, tuple(sorted(rows)), f"{about} {tr('95% intervals in parentheses.')}")


def _answered(score: Score) -> int:
    return sum(item.score is not None for item in score.items)


def _failed(score: Score) -> int:
    return sum(bool(item.error) and item.error != NOT_SENT for item in score.items)


def _differences(report: Quality) -> Table:
    head = (tr("Task"), tr("Difference in points"), tr("Questions"), tr("Better"), tr("Worse"), tr("p"))
    rows = tuple(
        (
            task(row.task, row.filter) or tr("all"),
            points(row.value),
            f"{row.questions:,}",
            f"{row.better:,}",
            f"{row.worse:,}",
            f"{row.p:.2g}",
        )
        for row in report.differences
    )
    about = ""
    if rows:
        about = tr(
            "{first} minus {second} on the questions that both answered, in percentage points. p: exact sign test "
            "(McNemar).",
            first=name(report.subjects[0]),
            second=name(report.subjects[1]),
        )
    return Table(tr("Difference"), head, rows, about)


def _perplexity(measured: Perplexity | None) -> Table:
    head = (tr("Figure"), tr("Value"))
    if measured is None:
        return Table("", head, ())
    rows = [(tr("Perplexity of {file}", file=Path(measured.file).name), interval(measured.value))]
    if other := measured.divergence:
        rows += [
            (tr("Perplexity of {file}", file=Path(other.reference).name), interval(other.perplexity)),
            (tr("Ratio of the two"), exact(other.ratio)),
            (tr("KL divergence, mean (nats)"), interval(other.mean)),
            (tr("KL divergence, 99% of tokens at most"), number(other.p99)),
            (tr("Same most likely token"), interval_of_shares(other.same_top)),
        ]
    about = tr(
        "Measured by llama-perplexity on {chunks} of {all} chunks of {context} tokens. 95% intervals in parentheses.",
        chunks=measured.chunks,
        all=measured.of or measured.chunks,
        context=measured.context,
    )
    return Table(tr("Perplexity"), head, tuple(rows), about)


def _votes(report: Quality) -> Table:
    head = (tr("Prompt"), tr("Better answer"))
    names = {0: 0, 1: 1}
    rows = tuple(
        (one_line(vote.prompt)[:70], tr("tie") if vote.choice == -1 else name(report.subjects[names[vote.choice]]))
        for vote in report.votes
        if vote.choice is not None and not report.partial  # the rest is still to be voted on, without names
    )
    return Table(tr("Votes"), head, rows, tr("The answers were shown without names and in random order."))


# -- what it means -----------------------------------------------------------------------------------------------------


def meaning(report: Quality) -> tuple[str, ...]:
    """What was found, in sentences."""
    return (*_verdicts(report), *_divergence(report.perplexity), *_preference(report))


def _verdicts(report: Quality) -> Iterator[str]:
    if not report.differences:
        return
    row = report.differences[0]
    first, second = map(name, report.subjects)
    values = {score.value.value for subject in report.subjects for score in subject.scores if score.value}
    if values in ({0.0}, {1.0}):
        yield tr("All scores are the same, so these tasks cannot show a difference. Choose others with --tasks.")
        return
    yield _verdict(row, first, second)


def _verdict(row: Difference, first: str, second: str) -> str:
    low, high = row.value.low, row.value.high
    if low is None or high is None:
        return tr("There are too few questions to compare {first} with {second}.", first=first, second=second)
    if low <= 0 <= high:
        return tr(
            "No difference between {first} and {second} was found: with 95% confidence, it is at most {points} "
            "percentage points. More questions can find a smaller one.",
            first=first,
            second=second,
            points=f"{max(-low, high) * 100:.1f}",
        )
    values = {"first": first, "second": second, "low": f"{min(abs(low), abs(high)) * 100:.1f}"}
    values |= {"points": f"{abs(row.value.value) * 100:.1f}", "high": f"{max(abs(low), abs(high)) * 100:.1f}"}
    if high < 0:
        return tr("{first} is worse than {second} by {points} percentage points ({low} to {high}).", **values)
    return tr("{first} is better than {second} by {points} percentage points ({low} to {high}).", **values)


def _divergence(measured: Perplexity | None) -> Iterator[str]:
    if measured is None or measured.divergence is None:
        return
    ratio, same = measured.divergence.ratio, measured.divergence.same_top
    if ratio is None or same is None:
        return
    low, high = ratio.low or 0.0, ratio.high or 0.0
    if low <= 1 <= high:
        most = f"{max(abs(low - 1), abs(high - 1)) * 100:.2g}%"
        yield tr("No difference in perplexity was found: with 95% confidence, it is at most {most}.", most=most)
    else:
        change = f"{(ratio.value - 1) * 100:+.2g}%"
        yield tr(
            "Perplexity changes by {change} ({low} to {high}).",
            change=change,
            low=f"{(low - 1) * 100:+.2g}%",
            high=f"{(high - 1) * 100:+.2g}%",
        )
    yield tr(
        "Both files predict the same token as the most likely one in {share} of the cases.", share=share(same.value)
    )


def _preference(report: Quality) -> Iterator[str]:
    choices = [vote.choice for vote in report.votes if vote.choice is not None]
    if report.partial and report.votes:
        count = len(report.votes) + len(report.unasked)
        yield tr("{votes} of {count} votes. The result comes after the last one.", votes=len(choices), count=count)
        return
    if not choices:
        return
    first, second = map(name, report.subjects)
    wins, losses = choices.count(0), choices.count(1)
    counts = {"first": first, "second": second, "wins": wins, "losses": losses, "ties": choices.count(-1)}
    yield tr("{first} was better {wins} times, {second} {losses} times; {ties} ties.", **counts)
    if not wins + losses:
        yield tr("You found no difference.")
        return
    where = interval_of_shares(wilson(wins, wins + losses))
    p = sign_test(wins, losses)
    values = {"first": first, "share": where, "p": f"{p:.2g}"}
    if p < SURE:
        yield (
            tr("Without ties, {first} won {share}: more than chance explains (sign test, p = {p}).", **values)
            if wins > losses
            else tr("Without ties, {first} won {share}: less than chance explains (sign test, p = {p}).", **values)
        )
    else:
        yield tr("Without ties, {first} won {share}: chance may explain this (sign test, p = {p}).", **values)


def partial(report: Quality) -> str:
    """Why the report is incomplete, as a sentence; empty if it is complete."""
    if not report.partial:
        return ""
    if report.partial == "stopped":
        return tr("This report is partial: it was stopped.")
    return tr("This report is partial: it ended with error {code}.", code=report.partial)


def warnings(report: Quality) -> tuple[str, ...]:
    """What makes the scores doubtful."""
    made = []
    for subject in report.subjects:
        items = [item for score in {each.task: each for each in subject.scores}.values() for item in score.items]
        counts = {"name": name(subject), "sent": len(items)}
        failed = [item.error for item in items if item.error and item.error != NOT_SENT]
        empty, unsent = sum(item.empty for item in items), sum(item.error == NOT_SENT for item in items)
        if failed:
            made.append(
                tr(
                    "{name}: {count} of {sent} questions failed, first with {error}. They are not in the scores.",
                    **counts,
                    count=len(failed),
                    error=failed[0],
                )
            )
        if empty:
            text = tr(
                "{name}: {count} of {sent} answers are empty, which counts as wrong. Models that think need a larger "
                "--osl.",
                **counts,
                count=empty,
            )
            made.append(text)
        if unsent:
            made.append(tr("{name}: {count} of {sent} questions were not sent.", **counts, count=unsent))
    return tuple(made)


def facts(report: Quality) -> tuple[tuple[str, str], ...]:
    """What ran, on what: name and value."""
    rows = [(tr("Measured"), report.made), (tr("Machine"), tables.machine(report))]
    for subject in report.subjects:
        target = subject.target
        setup = ", ".join(f"{key} {value}" for key, value in target.setup.items())
        model = f"{target.model} ({target.ref})" if target.ref else target.model
        rows.append((name(subject), ", ".join(filter(None, (model, target.url, target.stack, setup)))))
    if measured := report.perplexity:
        rows.append((tr("Text"), f"{measured.text}, SHA-256 {measured.sha256}"))
    rows.append((tr("Versions"), ", ".join(f"{key} {value}" for key, value in report.versions.items())))
    questions = sum(len(score.items) for score in report.subjects[0].scores) if report.subjects else 0
    if questions:
        rows.append((tr("Questions"), ntr("{count:,} question", "{count:,} questions", questions, count=questions)))
    return tuple(rows)
