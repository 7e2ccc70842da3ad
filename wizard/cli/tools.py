"""The tools of a chat, as the command line names them."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr

if TYPE_CHECKING:
    from wizard.chat.tools.loop import ToolUse
    from wizard.kernel.paths import Workspace


def tools_of(arguments: argparse.Namespace, workspace: Workspace, *, asks: bool) -> ToolUse | None:
    """The tools for the chat, or None; ``asks``: whether the user can be asked about a call.

    Raises:
        UsageError: TW-C30, TW-C40 the tools that the user asked for cannot be used. Otherwise this is only reported.
    """
    from wizard import journey
    from wizard.prompts.tool_consent import decide, tools_or_report

    if arguments.no_tools:
        return None
    if not asks and not arguments.allow_tool:  # then no tool can be called
        if arguments.mcp:
            print(tr("Without a terminal, tools need --allow-tool SERVER/TOOL; none are used."), file=sys.stderr)
        return None
    for number in (signal.SIGTERM, signal.SIGHUP):  # an exit stops the servers, a signal alone would not
        signal.signal(number, lambda got, _frame: sys.exit(128 + got))
    if not arguments.mcp and not arguments.allow_tool:
        return tools_or_report(journey, workspace)
    file = Path(arguments.mcp).expanduser() if arguments.mcp else None
    use = journey.tools(workspace, file, allowed=arguments.allow_tool, asks=asks)
    if use is None:
        todo = tr("Name MCP servers in {path}, or pass --mcp FILE.", path=journey.tools_file())
        raise UsageError("TW-C40", tr("no tool servers are configured"), todo)
    use.decide = decide
    return use
