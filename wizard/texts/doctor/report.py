"""Findings as text: sentences, a report for a terminal, and one line for the first screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from wizard.catalog.failures import failures
from wizard.doctor.finding import Finding, Param, Status
from wizard.kernel.language import join, ntr, tr
from wizard.kernel.text import one_line, wrap
from wizard.kernel.units import size
from wizard.texts.doctor.checks import GROUPS, TITLES, WHY
from wizard.texts.doctor.sentences import COMMON, TEXTS

SIGNS: dict[Status, str] = {"pass": "✓", "warn": "!", "fail": "✗", "unknown": "?", "not_applicable": "–"}
_GROUP = {check: title for title, checks in GROUPS.items() for check in checks}
PROBLEMS: tuple[Status, ...] = ("fail", "warn")


def title(finding: Finding) -> str:
    """What was checked, in a few words."""
    return tr(TITLES[finding.check])


def why(finding: Finding) -> str:
    """Why it matters."""
    return tr(WHY[finding.check])


def text(finding: Finding) -> str:
    """What was found."""
    return tr(_texts(finding)[0], **_fields(finding.params))


def fix(finding: Finding) -> str:
    """What to do; empty if there is nothing to do."""
    if finding.known:
        return tr(failures()[finding.known].fix)
    return tr(todo, **_fields(finding.params)) if (todo := _texts(finding)[1]) else ""


def _texts(finding: Finding) -> tuple[str, str]:
    return TEXTS.get(finding.code) or (COMMON[finding.code.partition(".")[2]], "")


def _fields(params: Mapping[str, Param]) -> dict[str, object]:
    """The parameters as display texts: ``size_bytes=1024`` is ``size='1.0 KiB'``."""
    fields: dict[str, object] = {}
    for name, value in params.items():
        if name.endswith("_bytes") and isinstance(value, int):
            fields[name.removesuffix("_bytes")] = size(value)
        else:
            fields[name] = ", ".join(map(str, value)) if isinstance(value, tuple) else value
    return fields


def problems_first(findings: Iterable[Finding]) -> list[Finding]:
    """For a place whose beginning is what stays visible."""
    return sorted(findings, key=lambda finding: finding.status not in PROBLEMS)


def grouped(findings: Iterable[Finding]) -> Iterator[tuple[str, list[Finding]]]:
    """The findings of each group, in the order of the checks."""
    for name, members in groupby(findings, lambda finding: _GROUP[finding.check]):
        yield tr(name), list(members)


def line(finding: Finding) -> str:
    """Sign, title and text."""
    return join(" ", SIGNS[finding.status], _titled(finding))


def _titled(finding: Finding) -> str:
    return tr("{title}: {text}", title=title(finding), text=one_line(text(finding)))


def details(finding: Finding) -> list[str]:
    """Of a problem: why it matters, what to do, and the commands; empty for other findings."""
    if finding.status not in PROBLEMS:
        return []
    todo = join(" ", "→", fix(finding)) if fix(finding) else ""
    return [why(finding), *filter(None, (todo,)), *(f"$ {command}" for command in finding.commands)]


def lines(findings: Iterable[Finding]) -> Iterator[tuple[int, str, Status | None]]:
    """The findings by group: indentation, text, and the status in the first line of a finding."""
    for name, members in grouped(findings):
        yield 0, name, None
        for finding in members:
            if finding.status != "not_applicable":
                yield 1, line(finding), finding.status
                yield from ((2, detail, None) for detail in details(finding))
        yield from ((1, aside, "not_applicable") for aside in _asides(members))


def _asides(findings: Iterable[Finding]) -> Iterator[str]:
    """Checks that do not apply, those with the same reason in one line."""
    reasons: dict[str, list[str]] = {}
    for finding in findings:
        if finding.status == "not_applicable":
            reasons.setdefault(text(finding), []).append(title(finding))
    for reason, names in reasons.items():
        yield join(" ", SIGNS["not_applicable"], tr("{title}: {text}", title=", ".join(names), text=reason))


def wrapped(depth: int, line: str, columns: int) -> str:
    """A line of the report in lines that fit; commands stay whole, so that they can be copied."""
    start, hanging = "  " * depth, "  " * min(depth + 1, 3)
    return start + line if line.startswith("$ ") else wrap(line, columns, first=start, indent=hanging)


def report(findings: Sequence[Finding], columns: int) -> str:
    """All of it, for a terminal; its end is what stays visible."""
    shown = [wrapped(depth, line, columns) for depth, line, _status in lines(findings)]
    return "\n".join([*shown, "", summary(findings)])


def summary(findings: Sequence[Finding]) -> str:
    """How many checks passed, warn, failed …"""
    counts = Counter(finding.status for finding in findings)
    words: dict[Status, str] = {
        "fail": tr("{count} failed", count=counts["fail"]),
        "warn": ntr("{count} warning", "{count} warnings", counts["warn"], count=counts["warn"]),
        "pass": tr("{count} passed", count=counts["pass"]),
        "unknown": tr("{count} unknown", count=counts["unknown"]),
    }
    return join(", ", *(text for status, text in words.items() if counts[status]))


def headline(findings: Sequence[Finding]) -> tuple[Status, str] | None:
    """The worst problem, its status and one line without its sign, and how many more there are; None without one."""
    problems = [finding for status in PROBLEMS for finding in findings if finding.status == status]
    if not problems:
        return None
    worst, more = problems[0], len(problems) - 1
    others = tr("(and {count} more)", count=more) if more else ""
    return worst.status, join(" ", _titled(worst), others)
