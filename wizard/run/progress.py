"""A step's progress, from the output of tools: a fraction and the remaining time."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

from wizard.plan.plan import Estimate

_UNITS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_PERCENT = re.compile(r"(?<![\d.])(\d{1,3})(?:\.\d+)?%")
_OF = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMGT]?)i?B?\s*/\s*(\d+(?:\.\d+)?)\s*([kKMGT]?)i?B?\b")
_LAYER = re.compile(
    r"([0-9a-f]{12}): (?:Pulling fs layer|Waiting|Verifying Checksum|(?P<fetched>Download complete)"
    r"|(?P<there>Pull complete))\s*"
)
"""Output of `docker pull` about a layer without a terminal (Docker 28.2: whole lines, no sizes); an existing layer
needs no work.
"""
_FETCHED = 0.5
"""Fraction of a layer that is downloaded and not yet unpacked."""
_MIN_GROWTH = 0.02
"""Minimum increase of the fraction before the remaining time is estimated from it."""


@dataclass(slots=True)
class Meter:
    """A step's progress, from its tools' output and its estimate.

    A step may download several files one after another, each with a separate bar: their bytes are added and compared
    with the step's estimated download.
    """

    estimate: Estimate
    began: float = field(default_factory=time.monotonic)
    _before: float = 0.0
    """Bytes of the completed files."""
    _done: float = 0.0
    _of: float = 0.0
    _layers: dict[str, float] = field(default_factory=dict)
    """Fraction of each layer of an image."""
    _first: tuple[float, float] | None = None
    """Time and value of the first reported fraction: earlier work does not count for the speed."""

    def read(self, line: str) -> float | None:
        """The step's fraction, 0 to 1, if ``line`` reports it.

        ``12.5/107.0 MB`` (pip), ``3.2M/512M`` (tqdm), ``45%``, ``8a1e25ce7c4f: Pull complete`` (docker).
        """
        fraction = self._fraction(line)
        if fraction is not None and self._first is None:
            self._first = time.monotonic(), fraction
        return fraction

    def _fraction(self, line: str) -> float | None:
        if match := _LAYER.fullmatch(line):
            return self._layer(match)
        if "/" in line and (match := _OF.search(line)):
            done, done_unit, of, of_unit = match.groups()
            self._next(float(done) * _UNITS[done_unit or of_unit], float(of) * _UNITS[of_unit])
            whole = max(float(self.estimate.download_bytes), self._before + self._of)
            return min(1.0, (self._before + self._done) / whole) if whole else None
        if "%" in line and (match := _PERCENT.search(line)):
            percent = int(match.group(1))
            return percent / 100 if percent <= 100 else None
        return None

    def _layer(self, match: re.Match[str]) -> float:
        """All layers are listed before the first is complete; each counts the same, because docker does not report
        their sizes.
        """
        done = 1.0 if match["there"] else _FETCHED if match["fetched"] else 0.0
        self._layers[match[1]] = max(done, self._layers.get(match[1], 0.0))
        return sum(self._layers.values()) / len(self._layers)

    def _next(self, done: float, of: float) -> None:
        if of != self._of or done < self._done:
            self._before += self._of
        self._done, self._of = min(done, of), of

    def left(self, fraction: float) -> float | None:
        """Seconds left at a fraction that was read.

        By how fast it grows, else by the estimate; None when even that has run out.
        """
        now = time.monotonic()
        since, done = self._first or (now, fraction)
        if fraction - done > _MIN_GROWTH:
            return (now - since) * (1 - fraction) / (fraction - done)
        rest = self.estimate.seconds - (now - self.began)
        return rest if rest > 0 else None
