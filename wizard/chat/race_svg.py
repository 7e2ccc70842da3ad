"""The result of a comparison as a picture: self-contained SVG for light and dark backgrounds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal
from xml.sax.saxutils import escape

from wizard.chat import race_report as words
from wizard.chat.race import Curve, LaneResult, RaceResult
from wizard.chat.race_scale import Cell, Track, cells, fastest, scale
from wizard.kernel.language import ntr, tr
from wizard.kernel.text import one_line, width

WIDTH, MARGIN = 760, 32
BAR = WIDTH - 2 * MARGIN
HEIGHT = 44
"""Of a lane's curve."""
LABEL = 140
"""Room for the label of a mark."""
STEP = 4
"""Width of a bar of the curve, with its gap."""
LIGHT = {
    "card": "#ffffff",
    "edge": "#d5ddd7",
    "text": "#18201b",
    "soft": "#4b574f",
    "one": "#3c6600",
    "two": "#005a7d",
    "wait": "#dfe6e0",
    "error": "#a8201a",
}
DARK = {
    "card": "#101613",
    "edge": "#3a4a42",
    "text": "#dfe6e0",
    "soft": "#9aa69e",
    "one": "#76b900",
    "two": "#5aa9c9",
    "wait": "#2a3630",
    "error": "#f0716b",
}
"""The colors of the wizard's own themes; every text has a contrast of at least 4.5 to the card."""
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Noto Sans CJK KR', sans-serif"
MOST_PROMPT = 1_000
"""Characters of the question that are looked at."""
_INVALID = re.compile("[\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 does not allow, besides control characters."""
_BOLD, _END = ' font-weight="600"', ' text-anchor="end"'
_LONGEST = 92
"""Columns of a line of text in the smallest size."""


def picture(result: RaceResult) -> str:
    """The picture."""
    body: list[str] = []
    y = 46.0
    first, second = result.lanes
    title = tr("{first} vs. {second}", first=_cut(first.name, 28), second=_cut(second.name, 28))
    body.append(_text(MARGIN, y, title, "text", 22, bold=True))
    for line in _lines(f"“{one_line(result.prompt[:MOST_PROMPT])}”", 2):
        y += 22
        body.append(_text(MARGIN, y, line, "soft", 14))
    end = scale(max(lane.total_s or 0.0 for lane in result.lanes), live=False)
    rows = [cells(_track(lane), end, BAR // STEP) for lane in result.lanes]
    most = fastest(rows)
    for lane, row, color in zip(result.lanes, rows, ("one", "two"), strict=True):
        y += 34
        body += _lane(y, lane, row, end, most, color)
        y += HEIGHT + 38
    body += _axis(y, end)
    y += 20
    for at, line in enumerate(words.verdict(result)):
        for part in _lines(line, 2):
            y += 26
            body.append(_text(MARGIN, y, part, "text", 17 if at == 0 else 15, bold=at == 0))
    y += 6
    for line in (*words.notes(result), _about(result)):
        for part in _lines(line, 2):
            y += 19
            body.append(_text(MARGIN, y, part, "soft", 12.5))
    return _document(y + 26, title, body)


def _track(lane: LaneResult) -> Track:
    curve = Curve(lane.arrivals, lane.tokens)
    return Track(curve, lane.total_s or 0.0, lane.ttft_s, lane.answer_s, lane.thought_s is not None)


def _lane(y: float, lane: LaneResult, row: list[Cell], end: float, most: float, color: str) -> Iterable[str]:
    """The name with the figures, and the curve with its marks."""
    yield _text(MARGIN, y, _cut(lane.name, 30), color, 16, bold=True)
    yield _text(WIDTH - MARGIN, y, _figures(lane), "text", 14, anchor="end")
    base = y + 10 + HEIGHT
    for at, cell in enumerate(row):
        if cell.part == "none":
            continue
        part, high = (color, max(HEIGHT * cell.rate / most, 2.0)) if cell.rate else ("wait", 2.0)
        shade = ' opacity="0.45"' if cell.part == "thought" else ""
        x = float(MARGIN + at * STEP)
        yield f'<rect class="{part}" x="{x:g}" y="{base - high:.1f}" width="{STEP - 1}" height="{high:.1f}"{shade}/>'
    if lane.ttft_s is not None:
        yield from _mark(lane.ttft_s, end, base, tr("TTFT {time}", time=words.time(lane.ttft_s)))
        after = lane.answer_s if lane.thought_s is not None else None
        if after is not None and BAR * (after - lane.ttft_s) / end > LABEL:
            yield from _mark(after, end, base, tr("answer after {time}", time=words.time(after)))
    if lane.outcome != "complete":
        sign = tr("stopped") if lane.outcome == "stopped" else lane.error or "–"
        x = MARGIN + BAR * min((lane.total_s or 0.0) / end, 1.0)
        yield _text(min(x + 6, WIDTH - MARGIN - 60), base - 2, f"✗ {sign}", "error", 12.5)


def _mark(seconds: float, end: float, base: float, label: str) -> Iterable[str]:
    """A diamond on the base line, with its ``label``."""
    x = MARGIN + BAR * min(seconds / end, 1.0)
    yield f'<path class="text" d="M{x:.1f} {base - 6} l5 6 l-5 6 l-5 -6 z"/>'
    late = x > WIDTH - MARGIN - LABEL
    yield _text(x + (-9 if late else 9), base + 17, label, "soft", 12.5, anchor="end" if late else "start")


def _figures(lane: LaneResult) -> str:
    """Rate, tokens and time."""
    parts = []
    if lane.rate is not None:
        parts.append(tr("{rate} tokens/s", rate=words.rate(lane.rate, estimated=lane.estimated)))
    if (number := lane.pieces if lane.tokens is None else lane.tokens) is not None:
        text = words.count(lane.tokens, lane.pieces)
        parts.append(ntr("{text} token", "{text} tokens", number, text=text))
    if lane.total_s is not None:
        parts.append(tr("{time} in total", time=words.time(lane.total_s)))
    return " · ".join(parts)


def _axis(y: float, end: float) -> Iterable[str]:
    yield f'<path class="edge" d="M{MARGIN} {y - 4} h{BAR}" fill="none"/>'
    yield _text(MARGIN, y + 12, tr("0 s, question sent"), "soft", 12.5)
    yield _text(WIDTH - MARGIN, y + 12, words.time(end), "soft", 12.5, anchor="end")


def _about(result: RaceResult) -> str:
    """Date, settings and program."""
    given = {"temperature": result.sampling.temperature, "seed": result.sampling.seed}
    settings = [f"{name} {value}" for name, value in given.items() if value is not None]
    earlier = max(result.earlier_messages)
    turns = [ntr("{count} earlier message", "{count} earlier messages", earlier, count=earlier)] if earlier else []
    measured = tr("Measured by triton-wizard on the client")
    return " · ".join([measured, f"{result.date[:16].replace('T', ' ')} UTC", *turns, *settings])


def _cut(text: str, most: int) -> str:
    """At most ``most`` columns of ``text``."""
    if width(text) <= most:
        return text
    while width(text) > most - 1:
        text = text[:-1]
    return f"{text.rstrip()}…"


def _lines(text: str, most: int) -> list[str]:
    """``text`` in at most ``most`` lines."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and width(lines[-1]) + 1 + width(word) > _LONGEST:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    lines = [*lines[: most - 1], " ".join(lines[most - 1 :])] if len(lines) > most else lines
    return [_cut(line, _LONGEST) for line in lines]


def _text(
    x: float,
    y: float,
    text: str,
    color: str,
    size: float,
    *,
    bold: bool = False,
    anchor: Literal["start", "end"] = "start",
) -> str:
    style = f'font-size="{size:g}"{_BOLD * bold}{_END * (anchor == "end")}'
    return f'<text class="{color}" x="{x:g}" y="{y:g}" {style}>{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    return escape(_INVALID.sub("\ufffd", one_line(text)))


def _document(height: float, title: str, body: Iterable[str]) -> str:
    style = f"text {{ font-family: {FONT}; }} {_rules(LIGHT)} @media (prefers-color-scheme: dark) {{ {_rules(DARK)} }}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" '
            f'height="{height:g}" role="img">',
            f"<title>{_escaped(title)}</title>",
            f"<style>{style}</style>",
            f'<rect class="card" x="1" y="1" width="{WIDTH - 2}" height="{height - 2:g}" rx="12"/>',
            *body,
            "</svg>\n",
        ]
    )


def _rules(colors: dict[str, str]) -> str:
    fills = " ".join(f".{name} {{ fill: {color}; }}" for name, color in colors.items() if name != "edge")
    edge = colors["edge"]
    return f"{fills} .edge {{ fill: none; stroke: {edge}; }} .card {{ stroke: {edge}; }}"
