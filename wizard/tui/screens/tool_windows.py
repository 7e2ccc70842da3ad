"""The windows about tools: the consent to a call, and the standing decisions."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from wizard.chat.tools import text
from wizard.chat.tools.called import Called
from wizard.chat.tools.consent import CAUTIOUS, DECISIONS, Decision, Standing
from wizard.chat.tools.loop import ToolUse
from wizard.chat.tools.tool import Tool
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line, plain
from wizard.tui.screens.modal import AskScreen
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.error import errors_shown
from wizard.tui.widgets.pane import Pane
from wizard.tui.widgets.picker import Picker

LONGEST_ABOUT = 200
"""Characters of a tool's description to show."""
STANDING: dict[str, str] = {
    "always": mark("always allowed"),
    "never": mark("never allowed"),
    "ask": mark("ask each time"),
}


class ConsentScreen(AskScreen):
    """A call, and whether to allow it. The selected answer is the cautious one: the user may be typing meanwhile."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", mark("Deny"), id="consent.close")]

    def __init__(self, call: Called, tool: Tool) -> None:
        question = tr("The model wants to call a tool: {name}", name=text.name(call))
        super().__init__(question, [(decision, tr(words)) for decision, words in DECISIONS], selected=CAUTIOUS)
        self._about = one_line(tool.description)[:LONGEST_ABOUT]
        self._arguments = plain(text.arguments(call))

    def compose(self) -> ComposeResult:
        """The question, the arguments, and the answers."""
        with Vertical(classes="window") as window:
            window.border_title = Content(tr("Tool call"))
            yield Static(Content(plain(self._question)), classes="question")
            yield Static(Content.styled(self._about, "$text-muted"), classes="about")
            with Pane(classes="arguments"):
                yield Static(Content(self._arguments))
            yield Picker()
            yield KeyBar()


class Consenting:
    """Asks about one call after the other: two models may call tools at once."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self._one_at_a_time = asyncio.Lock()

    async def decide(self, call: Called, tool: Tool) -> Decision:
        """Ask the user; a window that is closed denies."""
        app = self._screen.app
        async with self._one_at_a_time:
            window = ConsentScreen(call, tool)
            try:
                answer = await app.push_screen_wait(window)
            except asyncio.CancelledError:  # the answer was stopped
                if window in app.screen_stack:
                    window.dismiss(None)
                raise
        return next((decision for decision, _ in DECISIONS if decision == answer), "deny")


async def ask_tools(app: App[Any], use: ToolUse) -> None:
    """Turn tools on or off, and decide about single ones, until the user closes the window."""
    tools: dict[str, Tool] = {}
    with errors_shown(app):
        if not use.off:
            offer = await use.toolbox.offer()
            tools = {tool.key: tool for tool in offer.tools}
            if offer.problems:
                app.notify("\n".join(offer.problems), severity="warning", markup=False)
    while True:
        choices = [(key, f"{key}: {tr(STANDING[use.consent.of(tool) or 'ask'])}") for key, tool in tools.items()]
        choices.append(("", tr("Turn tools on") if use.off else tr("Turn all tools off in this chat")))
        answer = await app.push_screen_wait(AskScreen(tr("Which tools may the model use?"), choices))
        if answer is None:
            return
        if answer == "":
            use.off = not use.off
            use.refused.clear()
            return
        decision = await app.push_screen_wait(
            AskScreen(
                tr("What happens when the model calls {name}?", name=one_line(answer)),
                [(name, tr(words)) for name, words in STANDING.items()],
            )
        )
        decisions: dict[str, Standing | None] = {"always": "always", "never": "never", "ask": None}
        if decision is not None:
            use.consent.set(tools[answer], decisions[decision])
