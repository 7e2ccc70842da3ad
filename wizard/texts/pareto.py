"""The Pareto front as a plot of plain characters, as rows and as sentences, the same for every interface."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from string import ascii_lowercase, ascii_uppercase

from wizard.advise.comparison import untested
from wizard.advise.pareto import Front, Point
from wizard.advise.titles import stack_title
from wizard.kernel.language import tr
from wizard.kernel.text import one_line, width
from wizard.kernel.units import duration
from wizard.texts import reasons
from wizard.texts.report import choice_title
from wizard.texts.units import money, rate, users

LETTERS = ascii_uppercase + ascii_lowercase
LEAST_WIDTH, LEAST_HEIGHT = 20, 3
"""Cells of the area of a plot."""


def setups(front: Front) -> dict[str, str]:
    """The setups on the front by their display name, each with its letter in plot and rows."""
    names = dict.fromkeys(choice_title(point.choice) for point in front.points)
    return {name: LETTERS[at] if at < len(LETTERS) else "*" for at, name in enumerate(names)}


def heading(front: Front) -> str:
    """What the front is, and the load of all its points but the users."""
    named = {"model": one_line(front.model), "isl": front.isl, "osl": front.osl}
    if front.rejections:
        return tr("The Pareto front of {model} is empty: nothing can serve it on this machine as requested.", **named)
    if not front.points:
        return tr(
            "The Pareto front of {model} is empty for requests of {isl:,} tokens in and {osl:,} out.",
            **named,
        )
    return tr(
        "Pareto front of {model}: no other setup is both faster per user and higher in throughput. Every request has "
        "{isl:,} tokens in and {osl:,} out.",
        **named,
    )


def head(front: Front) -> tuple[str, ...]:
    """Titles of the columns of `rows`."""
    titles = (tr("setup"), tr("users"), tr("tokens/s each"), tr("tokens/s total"), tr("TTFT"))
    return (*titles, tr("cost/million")) if _priced(front) else titles


def rows(front: Front) -> list[tuple[str, ...]]:
    """A row of cells per point, the fastest per user first."""
    letters = setups(front)
    return [_row(point, letters[choice_title(point.choice)], priced=_priced(front)) for point in front.points]


def _row(point: Point, letter: str, *, priced: bool) -> tuple[str, ...]:
    cells = (letter, f"{point.users:,}", _each(point), rate(point.tokens_per_s), _first(point))
    return (*cells, _per_million(point)) if priced else cells


def _first(point: Point) -> str:
    """Time to the first token; empty if unknown."""
    first = point.choice.speed.ttft_ms if point.choice.speed else None
    return "" if first is None else f"{first:.0f} ms" if first < 1000 else duration(first / 1000)


def _per_million(point: Point) -> str:
    """Cost of a million output tokens; empty if unknown."""
    amount = point.choice.cost.per_million_tokens if point.choice.cost else None
    return "" if amount is None else money(amount)


def _priced(front: Front) -> bool:
    return any(point.choice.cost and point.choice.cost.per_hour is not None for point in front.points)


def _each(point: Point) -> str:
    """Tokens per second of a user, with their range."""
    speed, each = point.choice.speed, rate(point.tokens_per_s_per_user)
    if speed is None or not (speed.low and speed.high):
        return each
    return tr("{rate} ({low} to {high})", rate=each, low=rate(1000 / speed.high), high=rate(1000 / speed.low))


def sentences(front: Front) -> list[str]:
    """A sentence per point, for screen readers and narrow terminals."""
    return [_sentence(point) for point in front.points]


def _sentence(point: Point) -> str:
    parts = [
        tr(
            "{users}: {way}, {each} tokens/s per user, {all} in total",
            users=users(point.users),
            way=choice_title(point.choice),
            each=_each(point),
            all=rate(point.tokens_per_s),
        )
    ]
    if first := _first(point):
        parts.append(tr("TTFT {time}", time=first))
    if cost := _per_million(point):
        parts.append(tr("{cost} per million output tokens", cost=cost))
    return ", ".join(parts)


def remarks(front: Front) -> list[str]:
    """What a reader has to know about the points, and what is not among them."""
    lines = []
    if not front.points and not front.rejections:
        lines.append(tr("No setup with a known speed can be placed."))
    if len({point.choice.quantization for point in front.points}) > 1:
        lines.append(tr("The setups differ in precision: fewer bits are faster."))
    stacks = dict.fromkeys(stack_title(each.choice.stack) for each in front.points if untested(each.choice))
    if stacks:
        names = ", ".join(stacks)
        lines.append(tr("{names}: the engine was not tested on a GPU with the wizard.", names=names))
    by_why: dict[str, list[str]] = {}
    for each in front.unknown:
        names_of = by_why.setdefault(reasons.text(each.why), [])
        if stack_title(each.stack) not in names_of:
            names_of.append(stack_title(each.stack))
    lines += [tr("Not shown: {names}, {why}.", names=", ".join(names), why=why) for why, names in by_why.items()]
    return lines


# -- plot --------------------------------------------------------------------------------------------------------------


def plot(front: Front, columns: int, lines: int) -> list[str]:
    """The points on logarithmic axes, in ``lines`` lines of at most ``columns`` cells.

    Empty if that is too small, or if there are fewer than two points: axes need two ends.

    A cell with several points has the letter of the fastest.
    """
    points = front.points
    if len(points) < 2:
        return []
    across, up = [point.tokens_per_s_per_user for point in points], [point.tokens_per_s for point in points]
    labels = [rate(max(up)), rate(min(up))]
    margin = max(map(width, labels)) + 2
    wide, high = columns - margin, lines - 3
    if wide < LEAST_WIDTH or high < LEAST_HEIGHT:
        return []
    area = [[" "] * wide for _ in range(high)]
    letters = setups(front)
    for point in reversed(points):
        x, y = _place(point.tokens_per_s_per_user, across, wide), _place(point.tokens_per_s, up, high)
        area[high - 1 - y][x] = letters[choice_title(point.choice)]
    shown = [labels[0], *[""] * (high - 2), labels[1]]
    drawn = [f"{label:>{margin - 2}} |{''.join(line)}".rstrip() for label, line in zip(shown, area, strict=True)]
    left, right = rate(min(across)), rate(max(across))
    axis = tr("tokens/s each →")
    room = wide - width(left) - width(right) - width(axis)
    ends = f"{left}{' ' * (room // 2)}{axis}{' ' * (room - room // 2)}{right}" if room > 1 else f"{left} … {right}"
    return [
        tr("↑ tokens/s total (logarithmic axes)"),
        *drawn,
        " " * (margin - 1) + "+" + "-" * wide,
        " " * margin + ends,
    ]


def _place(value: float, values: Sequence[float], cells: int) -> int:
    """The cell of ``value`` on a logarithmic axis of ``cells`` cells that ends at the smallest and largest of them."""
    low, high = min(values), max(values)
    return round((cells - 1) * log(value / low) / log(high / low)) if high > low else (cells - 1) // 2
