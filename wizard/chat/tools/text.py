"""Calls of tools in words, for every interface. Everything that a model or a server wrote is sanitized."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from wizard.chat.tools.called import Called
from wizard.kernel.language import mark, ntr, tr
from wizard.kernel.text import one_line, plain
from wizard.kernel.units import size

LONGEST_LINE = 80
"""Characters of a result or of arguments in a folded line."""
LONGEST_SHOWN = 20_000
"""Characters of arguments to show before consent; of longer ones, the beginning and the end."""
SIGNS = {"asking": "?", "running": "◌", "done": "✓", "failed": "✗", "denied": "■", "stopped": "■"}
STATES = {
    "asking": mark("waiting for your consent"),
    "running": mark("running …"),
    "failed": mark("failed"),
    "denied": mark("denied"),
    "stopped": mark("stopped"),
}
_WORD = re.compile(r"\w")
"""A line of a result that says something: not only a bracket."""
_BACKTICKS = re.compile(r"`+")


def name(call: Called) -> str:
    """``server/tool``."""
    return one_line(f"{call.server}/{call.tool}" if call.server else call.tool)


def arguments(call: Called, longest: int = LONGEST_SHOWN) -> str:
    """The arguments as readable text, over several lines; escapes stay escapes."""
    try:
        text = json.dumps(json.loads(call.arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        text = call.arguments
    text = plain(text)
    if len(text) <= longest:
        return text
    half = longest // 2
    left = tr("… {count:,} more characters …", count=len(text) - 2 * half)
    return f"{text[:half]}\n{left}\n{text[-half:]}"


def folded(call: Called) -> str:
    """A call on a line: its tool, its arguments, and the first line and the size of its result."""
    given = one_line(call.arguments)
    parts = [f"{SIGNS[call.outcome]} {name(call)}{'' if given in ('', '{}') else f' {_cut(given)}'}"]
    if call.outcome in STATES:
        parts.append(tr(STATES[call.outcome]))
    if call.outcome in ("done", "failed"):
        first = next((one_line(line) for line in plain(call.result).splitlines() if _WORD.search(line)), "")
        parts += [_cut(first.rstrip(",")) if first else tr("no text"), size(len(call.result.encode(errors="replace")))]
    return " · ".join(parts)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1].rstrip() + "…"


def whole(call: Called) -> str:
    """The arguments and the whole result."""
    return f"{arguments(call)}\n→ {plain(call.result).strip()}"


def summary(calls: Iterable[Called]) -> str:
    """How many calls there are."""
    count = len([*calls])
    return ntr("{count} tool call", "{count} tool calls", count, count=count)


def as_markdown(calls: Iterable[Called]) -> str:
    """The calls for a Markdown file, each folded; empty without any."""
    parts = []
    for call in calls:
        before = f"{call.before.strip()}\n\n" if call.before.strip() else ""
        title = folded(call).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        parts.append(
            f"{before}<details>\n<summary>{title}</summary>\n\n"
            f"{_fenced(arguments(call), 'json')}\n\n{_fenced(plain(call.result).strip())}\n\n</details>\n\n"
        )
    return "".join(parts)


def _fenced(text: str, language: str = "") -> str:
    """``text`` as a block of code, whatever backticks it has."""
    fence = "`" * max(3, *(len(each) + 1 for each in _BACKTICKS.findall(text) or ("",)))
    return f"{fence}{language}\n{text}\n{fence}"
