"""A step's progress, from the output of tools: what they do, a fraction, and the remaining time.

The remaining time follows only from progress that was measured; otherwise it is unknown.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from wizard.catalog.progress import Message, messages
from wizard.kernel.language import tr
from wizard.kernel.text import one_line, plain
from wizard.plan.plan import Estimate
from wizard.serve.log_patterns import Pattern, any_of, pattern

_UNITS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_PAIR = r"(\d{1,18}(?:\.\d+)?)\s*([kKMGT]?i?B?)\s*/\s*(\d{1,18}(?:\.\d+)?)\s*([kKMGT]?)"
_BAR = re.compile(r"(\d{1,3})%(?:\|[^|]*\|| Completed \|)\s*" + _PAIR + r"(i?B)?(?![\w/])")
"""tqdm's bar after its name, also with vLLM's format: ``name:  45%|████      | 230M/512M [00:11<00:13, 21.2MB/s]``."""
_BYTES = re.compile(r"(?:^|[\s|])" + _PAIR + r"(?:(?<=[kKMGT])i?B?|i?B)(?![\w/])")
"""Bytes of pip and uv: ``12.5/50.0 MB``; not what follows a bracket or has no unit."""
_PERCENT = re.compile(r"\s*(?:[A-Z][A-Za-z ]{0,40}:)?\s*(\d{1,3})(?:\.\d+)?%")
"""``45%`` at the beginning, also after a word: ``Receiving objects:  45% (230/512)`` (git)."""
_DOCKER = re.compile(
    r"([0-9a-f]{12}): (?:Pulling fs layer|Waiting|Verifying Checksum|(?P<fetched>Download complete)"
    r"|(?P<there>Pull complete)|(?P<part>Downloading|Extracting) +\[[^\]]*\] +" + _PAIR + r"i?B)\s*"
)
"""Output of `docker pull` about a layer: without a terminal whole lines without sizes (Docker 28.2), with one a bar; an
existing layer needs no work.
"""
_PODMAN = re.compile(r"Copying blob (?:sha256:)?([0-9a-f]{12})[0-9a-f]* +(?:done|skipped: already exists).*")
"""Output of `podman pull` about a complete layer, in a terminal; elsewhere it only names all layers at first."""
_FIGURES = re.compile(r"\d+(?:\.\d+)?")
"""Parts of a bar's name that may change: ``Capturing batches (bs=216 avail_mem=10.30 GB)``."""
_FETCHED = 0.5
"""Fraction of a layer that is downloaded and not yet unpacked."""
_MIN_GROWTH = 0.02
"""Minimum increase of the fraction before the remaining time is estimated from it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a line says about the progress.

    Attributes:
        activity: What the tool does, in a few words; empty if that is not known.
        fraction: 0 to 1; None if it is not known.
        eta_s: Seconds left; None if they are not known.
    """

    activity: str
    fraction: float | None = None
    eta_s: float | None = None


@dataclass(slots=True)
class _Part:
    """What is measured together: a bar, or all downloads. Its fraction does not decrease."""

    began: float
    """When the first fraction was reported: earlier work does not count for the speed."""
    first: float
    fraction: float

    def left(self) -> float | None:
        growth = self.fraction - self.first
        return (time.monotonic() - self.began) * (1 - self.fraction) / growth if growth > _MIN_GROWTH else None


@dataclass(frozen=True, slots=True)
class _Known:
    """The known messages; a search for all of them at once passes over most lines."""

    literals: re.Pattern[bytes]
    patterns: tuple[tuple[Pattern, Message], ...]

    def find(self, line: str) -> Message | None:
        lower = line.lower().encode("utf-8", "replace")
        if not self.literals.search(lower):
            return None
        return next((message for each, message in self.patterns if each.matches(lower)), None)

    def last(self, lines: Sequence[str]) -> tuple[Message, str] | None:
        if not self.literals.search("\n".join(lines).lower().encode("utf-8", "replace")):
            return None
        return next(((message, line) for line in reversed(lines) if (message := self.find(line))), None)


@lru_cache(maxsize=4)
def _known(known: tuple[Message, ...]) -> _Known:
    patterns = tuple((pattern(line), message) for message in known for line in message.lines)
    return _Known(any_of({each.literal for each, _ in patterns}), patterns)


@dataclass(slots=True)
class Meter:
    """A step's progress.

    A step may download several files, one after another or at the same time: their bytes are added and compared with
    the step's estimated download. Any other bar is a part of the step with a fraction of its own.
    """

    estimate: Estimate
    _parts: dict[object, _Part] = field(default_factory=dict)
    _files: dict[object, tuple[float, float]] = field(default_factory=dict)
    """Name or number of a bar → bytes that are there, and all of its bytes."""
    _unnamed: int = 0
    """Number of the current bar of those without a name."""
    _layers: dict[str, float] = field(default_factory=dict)
    """Fraction of each layer of an image."""
    _known: _Known = field(default_factory=lambda: _known(tuple(messages().values())))

    def read(self, lines: Sequence[str]) -> tuple[Reading, str] | None:
        """The last that ``lines`` report about the progress, and the line that does."""
        last, latest = -1, None
        for number, line in enumerate(lines):
            if reading := self._figures(line):
                last, latest = number, (reading, line)
        following = lines[last + 1 :]
        if message_line := self._known.last(following):
            return Reading(tr(message_line[0].activity)), message_line[1]
        return latest

    def _figures(self, line: str) -> Reading | None:
        if "\x1b" in line:
            line = plain(line)
        if "%" in line and (bar := _BAR.search(line)):
            return self._bar(line, bar)
        if match := _DOCKER.fullmatch(line) or _PODMAN.fullmatch(line):
            return self._layer(match)
        if "/" in line and (match := _BYTES.search(line)):
            return self._unnamed_bytes(*_bytes(*match.groups()[:4]))
        if (match := _PERCENT.match(line)) and int(match[1]) <= 100:
            return self._measured("", "percent", int(match[1]) / 100)
        return None

    def _bar(self, line: str, bar: re.Match[str]) -> Reading | None:
        name = one_line(line[: bar.start()]).rstrip(": ")
        message = self._known.find(f"{name}:")
        activity = tr(message.activity) if message else name
        done, of = _bytes(bar[2], bar[3] or "B", bar[4], bar[5])
        if bar[5] or bar[6] or "B/s" in line[bar.end() :]:
            self._files[message or name] = done, of
            return self._downloaded(activity)
        even = message is None or message.even
        if not even and self._files:  # the bytes are known
            return self._downloaded(activity)
        if not of:
            return None
        return self._measured(activity, (_FIGURES.sub("", name), of), done / of, even=even)

    def _unnamed_bytes(self, done: float, of: float) -> Reading | None:
        """The same bar, or if its size is another or it begins again, that of the next file."""
        if not of:
            return None
        before = self._files.get(self._unnamed)
        if before is not None and (of != before[1] or done < before[0]):
            self._files[self._unnamed] = before[1], before[1]
            self._unnamed += 1
        self._files[self._unnamed] = min(done, of), of
        return self._downloaded("")

    def _downloaded(self, activity: str) -> Reading | None:
        whole = max(float(self.estimate.download_bytes), sum(of for _, of in self._files.values()))
        if not whole:
            return None
        return self._measured(activity, "bytes", sum(done for done, _ in self._files.values()) / whole)

    def _layer(self, match: re.Match[str]) -> Reading:
        """All layers are listed before the first is complete; each counts the same, because docker does not report
        their sizes. So the remaining time does not follow.
        """
        groups = match.groupdict()
        done = 1.0 if "fetched" not in groups or groups["there"] else _FETCHED if groups["fetched"] else 0.0
        if groups.get("part"):
            amount, of = _bytes(*match.groups()[4:8])
            done = min(1.0, amount / of if of else 0.0) * _FETCHED + (_FETCHED if groups["part"] == "Extracting" else 0)
        self._layers[match[1]] = max(done, self._layers.get(match[1], 0.0))
        fraction = sum(self._layers.values()) / len(self._layers)
        return self._measured(tr("downloading the image"), "layers", fraction, even=False)

    def _measured(self, activity: str, key: object, fraction: float, *, even: bool = True) -> Reading:
        fraction = min(1.0, fraction)
        part = self._parts.get(key)
        if part is None or (part.fraction == 1 and fraction == 0):  # the next bar of that name
            part = self._parts[key] = _Part(time.monotonic(), fraction, fraction)
        part.fraction = max(part.fraction, fraction)
        return Reading(activity, part.fraction, part.left() if even else None)


def _bytes(done: str, done_unit: str, of: str, of_unit: str) -> tuple[float, float]:
    """Amounts; pip and uv write the unit of both once."""
    done_unit = done_unit.rstrip("iB") if done_unit else of_unit
    return float(done) * _UNITS[done_unit], float(of) * _UNITS[of_unit]
