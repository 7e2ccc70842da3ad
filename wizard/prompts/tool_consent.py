"""Ask in a terminal whether a tool may be called."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from wizard.chat.tools import text
from wizard.chat.tools.called import Called
from wizard.chat.tools.consent import DECISIONS, Decision
from wizard.chat.tools.loop import ToolUse
from wizard.chat.tools.tool import Tool
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.text import one_line, plain
from wizard.prompts.question_input import forget_typed
from wizard.prompts.speech import for_stderr, tell

LONGEST_ABOUT = 200
"""Characters of a tool's description to show."""


def tools_or_report(journey: Any, workspace: Workspace) -> ToolUse | None:
    """The tools of the user's configuration; if it cannot be used, that is reported, and there are none."""
    try:
        use: ToolUse | None = journey.tools(workspace)
    except UsageError as error:
        tell(for_stderr(str(error)))
        return None
    if use:
        use.decide = decide
    return use


async def decide(call: Called, tool: Tool) -> Decision:
    """Show the call and read the decision; Ctrl-C stops the answer, the end of the input denies."""
    tell(for_stderr(f"\n{tr('The model wants to call a tool: {name}', name=text.name(call))}"))
    if about := one_line(tool.description):
        tell(about[:LONGEST_ABOUT])
    sys.stderr.write(f"{plain(text.arguments(call))}\n")
    while True:
        for number, (_, words) in enumerate(DECISIONS, 1):
            tell(f"  {number}  {tr(words)}")
        sys.stderr.write(f"{tr('Number:')} ")
        sys.stderr.flush()
        forget_typed()
        line = await _line()
        if line == "":
            tell("")
            return "deny"
        answer = line.strip().casefold()
        for number, (decision, words) in enumerate(DECISIONS, 1):
            if answer and answer in (str(number), decision, tr(words).casefold()):
                return decision
        tell(tr("Enter a number from {least} to {count}.", least=1, count=len(DECISIONS)))


async def _line() -> str:
    """The next line of the terminal; it is awaited without a thread, so that Ctrl-C ends the wait."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline()
