"""From what tools print to how far they are: a fraction and the time that is left."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

_UNITS = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_PERCENT = re.compile(r"(?<![\d.])(\d{1,3})(?:\.\d+)?%")
_OF = re.compile(r"(\d+(?:\.\d+)?)\s*([kKMGT]?)i?B?\s*/\s*(\d+(?:\.\d+)?)\s*([kKMGT]?)i?B?\b")


def fraction(line: str) -> float | None:
    """How far a progress line says its tool is, 0 to 1: ``45%``, ``12.5/107.0 MB`` (pip), ``3.2M/512M`` (tqdm)."""
    if match := _PERCENT.search(line):
        value = int(match.group(1))
        return value / 100 if value <= 100 else None
    if match := _OF.search(line):
        done, done_unit, whole, whole_unit = match.groups()
        total = float(whole) * _UNITS[whole_unit]
        part = float(done) * _UNITS[done_unit or whole_unit]
        return min(1.0, part / total) if total else None
    return None


@dataclass(slots=True)
class Clock:
    """Time left in one step: by what it has done if it says so, else by what it was estimated to take."""

    estimate_s: float
    began: float

    def left(self, done: float | None) -> float | None:
        """Seconds left when ``done`` (0 to 1) is done; None when even the estimate has run out."""
        spent = time.monotonic() - self.began
        if done is not None and done > 0.02:
            return spent * (1 - done) / done
        rest = self.estimate_s - spent
        return rest if rest > 0 else None
