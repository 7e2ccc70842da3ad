"""The report as a page, as Markdown, for a terminal and as pictures: complete, self-contained, and only text."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from markdown_it import MarkdownIt
from PIL import Image

from tests.bench.sample import HOSTILE, REPORT, RUNS
from tests.bench.test_values import REPORT as ANY_REPORT
from tests.plan.golden import compared
from wizard.advise.reasons import Note
from wizard.bench.load import Load, Point
from wizard.bench.opened import opened
from wizard.bench.report import Report
from wizard.kernel.errors import HostError, UsageError
from wizard.kernel.text import width
from wizard.kernel.values import mapped, to_data
from wizard.texts.benchmark import html, markdown, png, tables, terminal, words
from wizard.texts.benchmark.chart import Chart
from wizard.texts.benchmark.charts import charts

RECORDED = Path(__file__).parents[2] / "bench" / "recorded" / "demo"
VOID = {"meta", "br"}
PARTIAL = replace(REPORT, points=REPORT.points[:2], partial="stopped")
HOSTILE_REPORT = mapped(REPORT, lambda text: text if text in ("runs", "openai", "generated") else HOSTILE)


class Page(HTMLParser):
    """Every element must be closed where it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for item in value.values():
            yield from numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value


# -- HTML --------------------------------------------------------------------------------------------------------------


def test_the_page_is_well_formed_and_refers_to_nothing() -> None:
    made = html.page(REPORT, RUNS)
    page = Page(made)
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed", "a", "form", "base"}
    names = {name for name, _ in page.attributes}
    assert not names & {"src", "href", "xlink:href", "srcset", "action", "background", "poster"}
    assert not [name for name in names if name.startswith("on")]
    style = re.findall("<style>(.*?)</style>", made, re.DOTALL)
    assert len(style) == 1
    assert not re.search(r"url\(|@import|expression|https?:", style[0])
    assert not re.search("url|https?:", " ".join(value for name, value in page.attributes if name == "style"))
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids)) == 12  # a title and a description of each chart
    assert made.count("<svg") == 6


def test_the_page_has_every_number_of_the_json() -> None:
    text = Page(html.page(REPORT, RUNS)).text
    numerals = set(re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?", text))
    wanted = {json.dumps(number) for number in numbers(to_data(REPORT))}
    assert len(wanted) > 200
    assert wanted <= numerals


def test_the_tables_have_every_figure_of_a_level() -> None:
    """Apart from the quantiles, which are drawn, everything that was measured is also readable in a table."""
    cells = " ".join(cell for table in tables.tables(REPORT) for row in table.rows for cell in row)
    for point in REPORT.points:
        figures = {**to_data(point)}
        for name in ("ttft_ms", "tpot_ms", "latency_ms"):
            figures[name] = {key: value for key, value in figures[name].items() if key != "quantiles"}
        for name in ("memory_used_bytes", "index"):
            figures["gpus"][0].pop(name)
        for number in numbers(figures):
            shown = {words.number(number), words.share(number), f"{number:,}"}
            assert any(each in cells for each in shown), number


def test_light_and_dark_are_both_there_and_paper_is_light() -> None:
    made = html.page(REPORT, RUNS)
    assert "@media screen and (prefers-color-scheme: dark)" in made
    assert '<meta name="color-scheme" content="light dark">' in made


def test_text_of_others_is_only_text_in_html() -> None:
    assert isinstance(HOSTILE_REPORT, Report)
    for made in (html.page(HOSTILE_REPORT, RUNS), html.fragment(HOSTILE_REPORT, RUNS)):
        page = Page(made)
        assert not page.tags & {"img", "script"}
        assert "<img src=x onerror=alert(1)>" in page.text
        assert not re.search("[\u202e\x1b\ud800]", made)
        made.encode()


def test_the_page_forbids_what_it_does_not_have() -> None:
    assert ("content", html.POLICY) in Page(html.page(REPORT)).attributes


@given(ANY_REPORT)
def test_any_report_is_a_page(report: Report) -> None:
    Page(html.page(report))


def test_ids_of_two_reports_in_a_notebook_differ() -> None:
    later = replace(REPORT, made="2026-11-26T12:00:00+00:00")
    both = html.fragment(REPORT, RUNS) + html.fragment(later, RUNS)
    ids = [value for name, value in Page(both).attributes if name == "id"]
    assert len(ids) == len(set(ids)) == 24


# -- unknown and partial -----------------------------------------------------------------------------------------------


def test_unknown_is_unknown_and_not_0() -> None:
    bare = replace(
        REPORT.points[0], in_flight=None, ttft_ms=None, tokens_per_s=None, requests_per_s=None, good=None,
        good_per_s=None, input_tokens=None, output_tokens=None, joules_per_token=None, generator_cores=None, gpus=(),
    )  # fmt: skip
    report = replace(REPORT, points=(bare,), predicted={})
    (row,) = tables.throughput(report).rows
    assert row == ("1 at once", *["unknown"] * 4, "60", "0 of 64", "unknown")
    (row,) = tables.details(report).rows
    assert row[4:] == (*["unknown"] * 4, "none")
    assert tables.latency(report).rows[0] == ("1 at once", "to first token", *["unknown"] * 4)


@pytest.mark.parametrize("make", [html.page, html.fragment, markdown.text, lambda report: terminal.text(report, 80)])
def test_a_partial_report_says_so_first(make: Any) -> None:
    text = make(PARTIAL)
    place = text.index("This report is partial: the benchmark was stopped. Not measured: 4 at once")
    assert place < text.index("Output tokens/s" if "Output tokens/s" in text else "tokens/s")
    assert "This report is partial" not in make(REPORT)


def test_a_partial_report_names_the_error() -> None:
    assert "ended with error TW-C99" in words.partial(replace(PARTIAL, partial="TW-C99"))


def test_warnings_are_shown_and_unknown_ones_do_not_break_the_report() -> None:
    slots, odd, bare = (
        Note("bench-slots", {"slots": 8}),
        Note("of a {later} version"),
        Note("bench-errors", {"failed": 3}),
    )
    report = replace(REPORT, warnings=(odd, bare), points=(replace(REPORT.points[0], warnings=(slots,)),))
    first, second, third = words.warnings(report)
    assert (first, second) == ("of a {later} version", "bench-errors")
    assert third.startswith("1 at once: The server runs 8 requests at once")
    for made in (html.page(report), markdown.text(report), terminal.text(report, 80)):
        assert "requests at once" in made


# -- Markdown ----------------------------------------------------------------------------------------------------------


def rendered(text: str) -> str:
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(text)


def test_markdown_has_the_tables_and_the_command() -> None:
    page = Page(rendered(markdown.text(REPORT)))
    assert page.tags <= {
        "h1",
        "h2",
        "p",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "ul",
        "li",
        "pre",
        "code",
        "strong",
    }
    for table in tables.tables(REPORT):
        for row in table.rows:
            assert all(cell in page.text for cell in row)
    assert REPORT.command in page.text


def test_text_of_others_is_only_text_in_markdown() -> None:
    assert isinstance(HOSTILE_REPORT, Report)
    made = markdown.text(HOSTILE_REPORT)
    page = Page(rendered(made))
    assert not page.tags & {"img", "a", "em", "script"}
    assert page.text.count("<img src=x onerror=alert(1)>|`\"'&*a*[b](javascript:alert(1))\ufffd") > 10
    rows = re.findall("<tr>.*?</tr>", rendered(made), re.DOTALL)
    heads = [len(table.head) for table in tables.tables(HOSTILE_REPORT) for _ in range(len(table.rows) + 1)]
    assert [row.count("<td>") + row.count("<th>") for row in rows] == heads
    made.encode()


@pytest.mark.parametrize("text", ["- a", "1. a", "# a", "+ a", "---", "=", "> a", "12) a", "`` ` ``", "a | b", "\\|"])
def test_markdown_of_a_line_is_that_line(text: str) -> None:
    from wizard.texts.benchmark.markup import fenced, markdown

    assert Page(rendered(markdown(text))).text.strip() == text
    assert Page(rendered(fenced(f"{text}\n```\n~~~"))).text.strip() == f"{text}\n```\n~~~"


# -- terminals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_lines_fit_the_terminal(columns: int) -> None:
    text = terminal.text(REPORT, columns)
    commands = [line for line in text.split("\n") if line.startswith("  $ ")]
    assert all(width(line) <= columns for line in text.split("\n") if line not in commands)
    assert commands == [f"  $ {REPORT.command}"]
    assert "1,453 ±4%" in text


def test_bars_are_in_proportion_and_can_be_left_out() -> None:
    text = terminal.text(REPORT, 130)
    bars = [len(numerals.group()) for line in text.split("\n") if (numerals := re.search("#+", line))]
    assert "#" not in terminal.text(REPORT, 72)  # there is no room
    rates = [point.tokens_per_s.value for point in REPORT.points if point.tokens_per_s]
    assert bars == [max(1, round(terminal.BAR * rate / max(rates))) for rate in rates]
    assert "#" not in terminal.text(REPORT, 130, bars=False)


def test_text_of_others_moves_no_cursor() -> None:
    assert isinstance(HOSTILE_REPORT, Report)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800]", terminal.text(HOSTILE_REPORT, 80))


@given(ANY_REPORT)
def test_any_report_is_text(report: Report) -> None:
    terminal.text(report, 80).encode()
    markdown.text(report).encode()


def test_a_point_that_is_neither_concurrency_nor_rate_is_unknown() -> None:
    odd = replace(REPORT, load=Load((Point(),)), points=(replace(REPORT.points[0], point=Point()),))
    assert "unknown" in terminal.text(odd, 80)
    Page(html.page(odd))


# -- golden ------------------------------------------------------------------------------------------------------------


def test_golden_markdown_page_and_terminal_of_a_recorded_benchmark() -> None:
    report, runs = opened(RECORDED)
    assert len(runs) == 3
    compared("benchmark", "markdown", markdown.text(report))
    compared("benchmark", "page", html.page(report, runs))
    compared("benchmark", "terminal", terminal.text(report, 80) + "\n")


# -- PNG ---------------------------------------------------------------------------------------------------------------


def test_png_is_the_chart_with_its_labels() -> None:
    drawn = charts(REPORT, RUNS)[0]
    assert isinstance(drawn, Chart)
    picture = Image.open(io.BytesIO(png.png(drawn))).convert("RGB")
    assert picture.width == 2 * 680
    corner = picture.crop((20, 10, 700, 60))  # the heading
    colors = {color for _, color in corner.getcolors(100_000) or ()}
    assert (255, 255, 255) in colors
    assert (24, 32, 27) in colors  # ink, so that the text was drawn


def test_without_the_extra_png_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    drawn = charts(REPORT)[0]
    assert isinstance(drawn, Chart)
    with pytest.raises(UsageError, match="TW-U66") as caught:
        png.png(drawn)
    assert "triton-wizard[png]" in caught.value.todo


@pytest.mark.parametrize(
    ("font", "title"),
    [("'No Such Font'", "Throughput"), (png.FONT, "\U00011103\U00011104")],  # letters of Chakma
)
def test_without_a_font_there_is_no_png(monkeypatch: pytest.MonkeyPatch, font: str, title: str) -> None:
    monkeypatch.setattr(png, "FONT", font)
    drawn = charts(REPORT)[0]
    assert isinstance(drawn, Chart)
    with pytest.raises(HostError, match="TW-U67"):
        png.png(replace(drawn, title=title))
