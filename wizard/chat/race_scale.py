"""The common time scale of two lanes, and the cells of a lane on it; for drawings of any kind. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from wizard.chat.race import Curve

STEPS = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)
"""Ends of a scale, times a power of ten."""
LIVE_S = 2.0
"""Shortest scale while an answer arrives: a shorter one would change all the time."""

Part: TypeAlias = Literal["none", "wait", "first", "thought", "answer", "text"]
"""What happens in a cell: nothing any more, waiting for the first token, the first token, text of the thought, the
first text of the answer after a thought, text.
"""


def scale(longest: float, *, live: bool) -> float:
    """The end of the scale, in seconds, for lanes of which the longest has ``longest`` seconds so far."""
    longest = max(longest, LIVE_S if live else 0.0, 1e-3)
    power = 10.0 ** math.floor(math.log10(longest))
    return next((power * step for step in STEPS if power * step >= longest * (1 - 1e-9)), 10 * power)


@dataclass(frozen=True, slots=True)
class Track:
    """What a drawing needs of a lane; times in seconds since its request was sent.

    Attributes:
        curve: How its text arrived.
        elapsed: Until the end, or until now.
        ttft_s: None before the first token.
        answer_s: First text of the answer; None before, and if there is none.
        thinks: Whether it thought, or thinks.
    """

    curve: Curve
    elapsed: float
    ttft_s: float | None
    answer_s: float | None
    thinks: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a lane; ``rate`` is in tokens per second, 0 without text."""

    part: Part
    rate: float = 0.0


def cells(track: Track, end: float, count: int) -> list[Cell]:
    """The lane in ``count`` cells of a scale from 0 to ``end``."""
    step = end / count
    return [_cell(track, at * step, (at + 1) * step) for at in range(count)]


def _cell(track: Track, start: float, end: float) -> Cell:
    if start >= track.elapsed:
        return Cell("none")
    first, answer = track.ttft_s, track.answer_s
    if first is None or end <= first:
        return Cell("wait")
    if start <= first:
        return Cell("first")
    rate = track.curve.rate(start, min(end, track.elapsed))
    if track.thinks and answer is not None and start <= answer < end:
        return Cell("answer", rate)
    thought = track.thinks and (answer is None or end <= answer)
    return Cell("thought" if thought else "text", rate)


def fastest(lanes: Sequence[Sequence[Cell]]) -> float:
    """The highest rate of all cells."""
    return max((cell.rate for lane in lanes for cell in lane), default=0.0)
