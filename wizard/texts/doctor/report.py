"""Findings as text: sentences, a report for a terminal, and one line for the first screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from wizard.advise.reasons import Param
from wizard.catalog.failures import failures
from wizard.doctor.finding import Finding, Status
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


def grouped(findings: Iterable[Finding]) -> Iterator[tuple[str, list[Finding]]]:
    """The findings of each group, in the order of the checks."""
    for name, members in groupby(findings, lambda finding: _GROUP[finding.check]):
        yield tr(name), list(members)


def line(finding: Finding) -> str:
    """Sign, title and text."""
    return join(" ", SIGNS[finding.status], tr("{title}: {text}", title=title(finding), text=one_line(text(finding))))


def details(finding: Finding) -> list[str]:
    """Of a problem: why it matters, what to do, and the commands; empty for other findings."""
    if finding.status not in PROBLEMS:
        return []
    todo = join(" ", "→", fix(finding)) if fix(finding) else ""
    return [why(finding), *filter(None, (todo,)), *(f"$ {command}" for command in finding.commands)]


def lines(findings: Sequence[Finding]) -> Iterator[tuple[int, str, Status | None]]:
    """The report: indentation, text, and the status of a finding's first line."""
    for name, members in grouped(findings):
        applicable = [finding for finding in members if finding.status != "not_applicable"]
        yield 0, name, None
        for finding in applicable:
            yield 1, line(finding), finding.status
            yield from ((2, detail, None) for detail in details(finding))
        if others := [finding for finding in members if finding.status == "not_applicable"]:
            yield 1, join(" ", SIGNS["not_applicable"], _aside(others)), "not_applicable"
    yield 0, "", None
    yield 0, summary(findings), None


def report(findings: Sequence[Finding], columns: int) -> str:
    """`lines` for a terminal; commands stay whole, so that they can be copied."""
    shown = []
    for depth, line, _status in lines(findings):
        start, hanging = "  " * depth, "  " * min(depth + 1, 3)
        whole = not line or line.startswith("$ ")
        shown.append((start + line).rstrip() if whole else wrap(line, columns, first=start, indent=hanging))
    return "\n".join(shown)


def _aside(findings: Sequence[Finding]) -> str:
    """Checks that do not apply, with the reasons, those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for finding in findings:
        reasons.setdefault(text(finding), []).append(title(finding))
    return join(
        "; ", *(tr("{title}: {text}", title=", ".join(names), text=reason) for reason, names in reasons.items())
    )


def summary(findings: Sequence[Finding]) -> str:
    """How many checks passed, warn, failed …"""
    counts = Counter(finding.status for finding in findings)
    words = {
        "fail": ntr("{count} failed", "{count} failed", counts["fail"], count=counts["fail"]),
        "warn": ntr("{count} warning", "{count} warnings", counts["warn"], count=counts["warn"]),
        "pass": ntr("{count} passed", "{count} passed", counts["pass"], count=counts["pass"]),
        "unknown": ntr("{count} unknown", "{count} unknown", counts["unknown"], count=counts["unknown"]),
    }
    return join(", ", *(text for status, text in words.items() if counts[status]))  # type: ignore[index]  # a Status


def headline(findings: Sequence[Finding]) -> str:
    """One line about what fails or warns, the worst first; empty if nothing does."""
    problems = sorted(
        (finding for finding in findings if finding.status in PROBLEMS),
        key=lambda finding: PROBLEMS.index(finding.status),
    )
    if not problems:
        return ""
    more = len(problems) - 1
    return join(" · ", line(problems[0]), ntr("{count} more", "{count} more", more, count=more) if more else "")
