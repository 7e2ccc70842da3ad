"""Known causes of failure in any log: of a step, of a server, or of another tool.

`Scan` reads a log in pieces of any size with bounded memory. Root causes rank before symptoms, errors before warnings,
and earlier lines before later ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, NamedTuple

from wizard.catalog.failures import Failure, Kind, failures
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.reasons import unreadable
from wizard.kernel.secrets import redact
from wizard.kernel.text import one_line, plain
from wizard.serve.log_patterns import Pattern, any_of, pattern

_SUCCESS = (
    "Started HTTPService at",
    "Application startup complete",
    "The server is fired up and ready to roll",
    "server is listening on http",
    "Successfully installed ",
    "Status: Downloaded newer image for",
    "Status: Image is up to date for",
    "Total time of building all engines",
    "Download complete. Moving file to",
    "HTTP/1.1 200",
    'HTTP/1.1" 200',
)
"""Texts that tools print when they succeed: what they warned about before did no harm."""
_WARNING = re.compile(
    r"^W\d{4} |^.{0,120}?(?:\[W\]|\[WARNING\]|\bWARN(?:ING)?\b(?! Error)|\bWarning:|\w+Warning:)", re.DOTALL
)
"""The beginning of a line that is only a warning (NCCL calls its errors warnings, too)."""
_ESCAPES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
_REACH = 4096
"""Bytes of a line before and after a literal in which its pattern is searched."""
_LONGEST = 1 << 16
"""Bytes of a line after which it is searched in parts."""
_OVERLAP = 1024
_SEARCHED = 1 << 24
"""Bytes of a failed step's or server's log to search, from its end."""
_SHOWN = 1000
"""Characters of a line that a finding shows."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A known failure in a log.

    Attributes:
        id: Its name in ``profiles/failures``.
        kind: ``root``, or ``symptom`` of an earlier failure.
        line_number: The line of the log, from 1.
        line: The line without control characters and secrets; only its part with the message if it is very long.
        cause: Why it happened.
        fix: What to do.
        title: What happened, in a few words.
        command: A shell command that fixes it; empty if there is none.
        source: Where this is from.
    """

    id: str
    kind: Kind
    line_number: int
    line: str
    cause: str
    fix: str
    title: str
    command: str
    source: str


class _Candidate(NamedTuple):
    """A pattern and its failure; None if the pattern is about success."""

    pattern: Pattern
    id: str | None
    unless: tuple[Pattern, ...]


class _Seen(NamedTuple):
    """The first line that shows a failure."""

    number: int
    text: str
    warning: bool
    size: int


class Scan:
    """Searches a log for known failures.

    Raises:
        UsageError: TW-D02 or TW-K01 if a file in ``profiles/failures`` is damaged.
    """

    def __init__(self) -> None:
        self._failures = failures()
        self._literals, self._candidates = _searches(tuple(self._failures.items()))
        self._rest = b""
        self._number = 1
        self._seen: dict[str, _Seen] = {}
        self._settled: set[bytes] = set()
        """Literals of failures that were seen: a later line would not change anything."""

    def feed(self, data: bytes) -> None:
        """Search the next bytes of the log."""
        block = self._rest + data
        end = block.rfind(b"\n") + 1
        if end == 0 and len(block) > _LONGEST:
            self._search(block)
            self._rest = block[-_OVERLAP:]
        else:
            self._search(block[:end])
            self._rest = block[end:]

    def feed_lines(self, lines: Iterable[str]) -> None:
        """Search the next lines of the log, which have no line ends."""
        self.feed("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))

    def findings(self) -> list[Finding]:
        """All failures in the log so far, the best explanation first; of those in the same line, the most specific."""
        self._search(self._rest)
        self._rest = b""
        lines: dict[tuple[int, Kind], str] = {}
        for name, seen in self._seen.items():
            best = lines.setdefault((seen.number, self._failures[name].kind), name)
            if seen.size > self._seen[best].size:
                lines[seen.number, self._failures[name].kind] = name
        ranked = sorted(lines.values(), key=self._rank)
        if ranked and self._rank(ranked[0])[:2] == (False, False):  # it explains the failure; warnings do not
            ranked = [name for name in ranked if not self._is_minor(name)]
        return [self._finding(name) for name in ranked]

    def cause(self) -> Finding | None:
        """The best explanation of a failure, if it is more than a warning that successful runs print, too."""
        return next((finding for finding in self.findings() if not self._is_minor(finding.id)), None)

    def _rank(self, name: str) -> tuple[bool, bool, int]:
        symptom = self._failures[name].kind == "symptom" or self._is_consequence(name)
        return symptom, self._is_minor(name), self._seen[name].number

    def _is_consequence(self, name: str) -> bool:
        earlier = (self._seen.get(other) for other in self._failures[name].after)
        return any(seen is not None and seen.number <= self._seen[name].number for seen in earlier)

    def _is_minor(self, name: str) -> bool:
        """Whether it may be harmless; what a later failure follows from is not."""
        if any(name in self._failures[other].after and self._is_consequence(other) for other in self._seen):
            return False
        return self._seen[name].warning or self._failures[name].ordinary

    def _finding(self, name: str) -> Finding:
        seen, failure = self._seen[name], self._failures[name]
        texts = tr(failure.cause), tr(failure.fix), tr(failure.title)
        return Finding(name, failure.kind, seen.number, seen.text, *texts, failure.command, failure.source)

    def _search(self, block: bytes) -> None:
        """Search whole lines, or a part of a very long one."""
        if b"\x1b" in block:
            block = _ESCAPES.sub(b"", block)
        lower = block.lower()
        counted, at, done = 0, 0, dict[bytes, int]()
        while hit := self._literals.search(lower, at):
            at, literal = hit.start() + 1, hit[0]
            if literal in self._settled or hit.end() <= done.get(literal, 0):
                continue  # the latter is in a part that was examined for it
            start = lower.rfind(b"\n", max(0, hit.start() - _REACH), hit.start()) + 1 or max(0, hit.start() - _REACH)
            end = lower.find(b"\n", hit.end(), hit.end() + _REACH)
            end = min(len(lower), hit.end() + _REACH) if end < 0 else end
            done[literal] = end
            self._number += lower.count(b"\n", counted, start)
            counted = start
            candidates = self._candidates[literal]
            if all(self._is_settled(name) for _, name, _ in candidates):
                self._settled.add(literal)
            else:
                self._examine(candidates, lower[start:end], block[start:end], hit.start() - start)
        self._number += lower.count(b"\n", counted)

    def _is_settled(self, name: str | None) -> bool:
        seen = None if name is None else self._seen.get(name)
        return seen is not None and not seen.warning and seen.number < self._number

    def _examine(self, candidates: Iterable[_Candidate], lower: bytes, line: bytes, at: int) -> None:
        for candidate, name, unless in candidates:
            seen = None if name is None else self._seen.get(name)
            if seen and not seen.warning and (seen.number < self._number or seen.size >= candidate.size):
                continue
            if not candidate.matches(lower) or any(other.matches(lower) for other in unless):
                continue
            if name is None:
                self._seen = {kept: seen for kept, seen in self._seen.items() if not self._is_minor(kept)}
                self._settled.clear()
                continue
            text = _shown(line, at)
            warning = bool(_WARNING.match(text))
            if seen is None or seen.warning > warning or (seen.number == self._number and seen.size < candidate.size):
                self._seen[name] = _Seen(self._number, text, warning, candidate.size)


def _shown(line: bytes, at: int) -> str:
    """The line, or the part of a long one around the byte ``at``."""
    before, after = (redact(plain(part.decode("utf-8", "replace"))) for part in (line[:at], line[at:]))
    return one_line(before[-_SHOWN // 2 :] + after[: _SHOWN // 2] if len(before + after) > _SHOWN else before + after)


@lru_cache(maxsize=4)
def _searches_of(
    texts: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...],
) -> tuple[re.Pattern[bytes], dict[bytes, tuple[_Candidate, ...]]]:
    named = [
        (candidate, name, tuple(map(pattern, unless)))
        for name, lines, unless in texts
        for candidate in map(pattern, lines)
    ]
    candidates = [_Candidate(*each) for each in named] + [_Candidate(pattern(text), None, ()) for text in _SUCCESS]
    literals = {candidate.pattern.literal for candidate in candidates}
    shortest = {literal: literal for literal in literals}
    for literal in literals:  # `any_of` finds the shortest of those with the same beginning
        shortest[literal] = next(literal[:size] for size in range(1, len(literal) + 1) if literal[:size] in literals)
    groups: dict[bytes, list[_Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(shortest[candidate.pattern.literal], []).append(candidate)
    return any_of(literals), {literal: tuple(group) for literal, group in groups.items()}


def _searches(
    known: tuple[tuple[str, Failure], ...],
) -> tuple[re.Pattern[bytes], dict[bytes, tuple[_Candidate, ...]]]:
    return _searches_of(tuple((name, failure.lines, failure.unless) for name, failure in known))


def in_log(name: str) -> list[Finding]:
    """The known failures in the file ``name``, or for ``-`` in standard input; the best explanation first.

    Raises:
        UsageError: TW-S17 if it cannot be read.
    """
    scan = Scan()
    try:
        with open(0, "rb", closefd=False) if name == "-" else Path(name).expanduser().open("rb") as file:
            for block in _blocks(file):
                scan.feed(block)
    except OSError as error:
        message = tr("cannot read {path}: {error}", path=name, error=unreadable(error))
        raise UsageError("TW-S17", message, tr("Pass a log file, or - for standard input.")) from error
    return scan.findings()


def in_file(path: Path, start: int = 0) -> Finding | None:
    """`Scan.cause` of a log from the byte ``start`` on, at most its last 16 MiB; None if it cannot be read."""
    scan = Scan()
    try:
        with path.open("rb") as file:
            file.seek(max(start, file.seek(0, 2) - _SEARCHED))
            for block in _blocks(file):
                scan.feed(block)
    except OSError:
        return None
    return scan.cause()


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    """The rest of a file in pieces."""
    while block := file.read(1 << 18):
        yield block
