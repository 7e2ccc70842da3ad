"""Findings as text: sentences, a report for a terminal, and one line for the first screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from wizard.advise.reasons import Param
from wizard.catalog.failures import failures
from wizard.doctor.examine import CHECKS
from wizard.doctor.finding import Finding, Status
from wizard.kernel.language import join, mark, ntr, tr
from wizard.kernel.text import one_line, wrap
from wizard.kernel.units import size
from wizard.texts.doctor.checks import GROUPS, TITLES, WHY
from wizard.texts.doctor.sentences import COMMON, TEXTS

SIGNS: dict[Status, str] = {"pass": "✓", "warn": "!", "fail": "✗", "unknown": "?", "not_applicable": "–"}
STATUSES: dict[Status, str] = {
    "pass": mark("pass"),
    "warn": mark("warning"),
    "fail": mark("failed"),
    "unknown": mark("unknown"),
    "not_applicable": mark("not applicable"),
}
_GROUP = {check.name: check.group for check in CHECKS}
PROBLEMS: tuple[Status, ...] = ("fail", "warn")


def group(finding: Finding) -> str:
    """The title of its group."""
    return tr(GROUPS[_GROUP[finding.check]])


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


def commands(finding: Finding) -> tuple[str, ...]:
    """The commands that fix it, or begin to."""
    command = failures()[finding.known].command if finding.known else ""
    return finding.commands or ((command,) if command else ())


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
    for name, each in groupby(findings, group):
        yield name, list(each)


def line(finding: Finding) -> str:
    """Sign, title and text."""
    return join(" ", SIGNS[finding.status], tr("{title}: {text}", title=title(finding), text=one_line(text(finding))))


def details(finding: Finding) -> list[str]:
    """Of a problem: why it matters, what to do, and the commands; empty for other findings."""
    if finding.status not in PROBLEMS:
        return []
    return [why(finding), *filter(None, (fix(finding),)), *(f"$ {command}" for command in commands(finding))]


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
        start = "  " * depth + ("    " if depth == 2 else "")
        shown.append(f"{start}{line}" if line.startswith("$ ") else _wrapped(line, columns, start))
    return "\n".join(shown)


def _wrapped(line: str, columns: int, start: str) -> str:
    return wrap(line, columns, first=start, indent=start + "  ") if line else ""


def _aside(findings: Sequence[Finding]) -> str:
    """Checks that do not apply, with the reasons, those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for finding in findings:
        reasons.setdefault(text(finding), []).append(title(finding))
    return join(
        "; ", *(tr("{title}: {text}", title=", ".join(names), text=reason) for reason, names in reasons.items())
    )


def summary(findings: Sequence[Finding]) -> str:
    """How many checks passed, warn, and failed."""
    counts = Counter(finding.status for finding in findings)
    return join(", ", *(f"{counts[status]} {tr(name)}" for status, name in STATUSES.items() if counts[status]))


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
