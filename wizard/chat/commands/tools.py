"""Chat commands for tools: what there is, what is allowed, and whole results."""

from __future__ import annotations

from wizard.chat.commands.conversations import number
from wizard.chat.commands.session import ChatSession, Outcome
from wizard.chat.tools import config
from wizard.chat.tools.consent import Standing
from wizard.chat.tools.loop import ToolUse
from wizard.chat.tools.text import folded, whole
from wizard.chat.tools.tool import Tool
from wizard.chat.tools.toolbox import Offer
from wizard.kernel.errors import UsageError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line, plain

STANDING: dict[Standing | None, str] = {
    "always": mark("always allowed"),
    "never": mark("never allowed"),
    None: mark("ask each time"),
}
LONGEST_ABOUT = 80


def tools(talk: ChatSession, argument: str) -> Outcome:
    """List the tools, decide about one, or turn all on or off."""
    use = talk.tools
    if use is None:
        todo = tr("Name MCP servers in {path}, or pass --mcp FILE.", path=config.path())
        raise UsageError("TW-U24", tr("no tool servers are configured"), todo)
    if argument in ("on", "off"):
        use.off = argument == "off"
        use.refused.clear()
        return Outcome(tr("Tools are off in this chat.") if use.off else tr("Tools are on."))
    offers: list[Offer] = []

    async def look() -> None:
        offers.append(await use.toolbox.offer())

    if not talk.wait(look()):
        return Outcome()
    known = {tool.key: tool for tool in offers[0].tools}
    how, _, name = argument.partition(" ")
    if how:
        _decide(use, known, how, name.strip())
    rows = [
        (key, tr(STANDING[use.consent.of(tool)]), one_line(tool.description)[:LONGEST_ABOUT])
        for key, tool in known.items()
    ]
    return Outcome("\n".join(filter(None, (*offers[0].problems, talk.listed(rows) or tr("No tools.")))))


def _decide(use: ToolUse, known: dict[str, Tool], how: str, name: str) -> None:
    """Set what happens when the model calls a tool."""
    if how not in ("always", "never", "ask"):
        raise UsageError("TW-U24", tr("invalid value: {text}", text=plain(how)[:20]), tr("Use always, never or ask."))
    if name not in known:
        raise UsageError("TW-U24", tr("no tool {name}", name=repr(plain(name)[:80])), tr("/tools lists the tools."))
    decisions: dict[str, Standing | None] = {"always": "always", "never": "never", "ask": None}
    use.consent.set(known[name], decisions[how])


def result(talk: ChatSession, argument: str) -> Outcome:
    """The whole result of a call of the last answer that has any."""
    calls = next((each.calls for each in reversed(talk.conversation.messages) if each.calls), ())
    if not calls:
        raise UsageError("TW-U24", tr("no tool was called yet"), tr("/tools lists the tools."))
    wrong = tr("unknown tool call: {text}", text=argument[:20])
    call = calls[number(argument, len(calls), wrong) - 1 if argument else -1]
    return Outcome(f"{talk.spoken(folded(call))}\n{whole(call)}")
