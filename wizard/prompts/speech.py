"""Text for screen readers, and for terminals that can only show letters.

Symbols that screen readers spell out or skip become words or ASCII; units become words; lines fit the terminal except
those that must stay whole to be copied.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence

from wizard.kernel.language import mark, tr
from wizard.kernel.text import is_terminal, table, width, wrap

SIGNS = {
    " · ": ", ",
    "•": "-",
    "…": "...",
    "▸": ">",
    "●": "*",
    "★": "*",
    "■": "",
    "⌊": "floor(",
    "⌋": ")",
    "✓": "ok",
    "✗": "no",
}
"""Symbols → ASCII that is read as a pause or a word."""
UNITS = {
    "KiB": (mark("{n} kibibyte"), mark("{n} kibibytes")),
    "MiB": (mark("{n} mebibyte"), mark("{n} mebibytes")),
    "GiB": (mark("{n} gibibyte"), mark("{n} gibibytes")),
    "TiB": (mark("{n} tebibyte"), mark("{n} tebibytes")),
    "tokens/s": (mark("{n} token per second"), mark("{n} tokens per second")),
    "MB/s": (mark("{n} megabyte per second"), mark("{n} megabytes per second")),
    "ms": (mark("{n} millisecond"), mark("{n} milliseconds")),
    "s": (mark("{n} second"), mark("{n} seconds")),
    "min": (mark("{n} minute"), mark("{n} minutes")),
    "h": (mark("{n} hour"), mark("{n} hours")),
}
"""Units of `wizard.kernel.units` → singular and plural words; B is unchanged, because it can also mean billions of
parameters.
"""
_UNIT = re.compile(rf"(?<![\w.,/-])(\d[\d,]*(?:\.\d+)?) ({'|'.join(map(re.escape, UNITS))})(?![A-Za-z0-9_/-])")
_COMMAND = re.compile(r"\s*\$ ")


def columns() -> int:
    """Columns of the terminal, at most 100 for readability; at least 20."""
    return max(20, min(100, shutil.get_terminal_size().columns or 80))


def spoken(text: str) -> str:
    """``text`` without symbols and with units in words; commands (``$ …``) are unchanged."""
    return "\n".join(line if command else _spoken(line) for line, command in _lines(text))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is a command, or continues the line above, which ends with a backslash."""
    command = goes_on = False
    for line in text.split("\n"):
        command = bool(_COMMAND.match(line)) or (command and goes_on)
        goes_on = line.endswith("\\")
        yield line, command


def _spoken(line: str) -> str:
    start = line[: len(line) - len(line.lstrip())]
    if line.lstrip().startswith("→ "):
        line = start + tr("What to do: {todo}", todo=line.lstrip().removeprefix("→ "))
    line = line.replace("→", tr("to"))
    for sign, word in SIGNS.items():
        line = line.replace(sign, word)
    rate = re.escape(tr("tokens/s"))  # the only unit that is translated where it is written
    return _UNIT.sub(_unit, re.sub(rf"(?<=\d) {rate}", " tokens/s", line))


def _unit(match: re.Match[str]) -> str:
    number, unit = match.groups()
    singular, many = UNITS[unit]
    return tr(singular if number == "1" else many, n=number)


def fitted(text: str, limit: int | None = None) -> str:
    """``text``, spoken, in lines that fit the terminal."""
    return folded(spoken(text), limit)


def folded(text: str, limit: int | None = None) -> str:
    """``text``, each line wrapped at words to the terminal's width with its own indentation; commands stay whole."""
    lines = []
    for line, command in _lines(text):
        if command or width(line) <= (limit or columns()):
            lines.append(line)
            continue
        start = line[: len(line) - len(line.lstrip())]
        hanging = start + "  " if line.lstrip().startswith("- ") else start
        lines.append(wrap(line, limit or columns(), first=start, indent=hanging))
    return "\n".join(lines)


def listed(rows: Iterable[Sequence[str]]) -> str:
    """A table; if it is wider than the terminal, the last cell of a row continues on separate lines."""
    rows = list(rows)
    whole, limit = table(rows), columns()
    if not is_terminal(sys.stderr) or all(width(line) <= limit for line in whole.split("\n")):
        return whole
    heads = table(row[:-1] for row in rows).split("\n")
    start = max(map(width, heads)) + 2
    lines = []
    for head, row in zip(heads, rows, strict=True):
        if start <= limit // 2:
            lines.append(wrap(row[-1], limit, first=head + " " * (start - width(head)), indent=" " * start))
        else:
            lines.append(f"{head}\n{wrap(row[-1], limit, first='    ', indent='    ')}")
    return "\n".join(lines)


def say(text: str = "") -> None:
    """Print ``text`` for the user."""
    print(fitted(text), flush=True)


def say_command(label: str, command: str) -> None:
    """Print a command's purpose, and the command on a separate line, where it can be copied whole."""
    print(f"{fitted(label)}\n  $ {command}", flush=True)


def say_running(measure: str, stop: str) -> None:
    """The chat has ended: the commands that measure the server, which keeps running, and stop it."""
    say_command(tr("Measure this server:"), measure)
    say_command(tr("The server keeps running. Stop it with:"), stop)


def for_stderr(text: str) -> str:
    """The wizard's own ``text`` for standard error: spoken if that is a terminal."""
    return spoken(text) if is_terminal(sys.stderr) else text


def tell(text: str) -> None:
    """Print ``text`` on standard error, separate from the data; wrapped if that is a terminal."""
    print(folded(text) if is_terminal(sys.stderr) else text, file=sys.stderr, flush=True)
