"""The probability of each token of an answer, and its alternatives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widgets import Static

from wizard.chat.conversation import TokenLogprob
from wizard.kernel.language import mark, tr
from wizard.kernel.text import plain
from wizard.tui.widgets.chrome import KeyBar
from wizard.tui.widgets.pane import Pane

LEVELS: tuple[tuple[float, str, str], ...] = (
    (0.9, "", mark("90% or more")),
    (0.5, "$accent underline", mark("50% or more")),
    (0.1, "$warning bold underline", mark("10% or more")),
    (0.0, "$error reverse", mark("less")),
)
"""Minimum probability, its style with colors and without, and its label."""
BAR_WIDTH = 20
SIGNS = {"\n": "↵", "\t": "⇥", " ": "␣"}


def level(token: TokenLogprob) -> str:
    """The style of ``token``."""
    share = math.exp(token.logprob)
    return next(style for least, style, _words in LEVELS if share >= least)


class LogprobsScreen(ModalScreen[None]):
    """The answer token by token."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "go(-1)", mark("Token"), key_display="←→", id="chat.token_before"),
        Binding("right", "go(1)", mark("Token"), show=False, id="chat.token_after"),
        Binding("down,n", "unsure(1)", mark("Next uncertain"), key_display="↓", id="chat.token_unsure"),
        Binding("up,p", "unsure(-1)", mark("Previous uncertain"), key_display="↑", id="chat.token_unsure_before"),
        Binding("escape,q", "close", mark("Close"), key_display="Esc", id="chat.token_close"),
    ]
    at: reactive[int] = reactive(0)

    def __init__(self, tokens: Sequence[TokenLogprob]) -> None:
        super().__init__()
        self._tokens = tokens

    def compose(self) -> ComposeResult:
        """Legend, tokens, alternatives."""
        with Vertical(classes="window") as window:
            window.border_title = tr("Token probabilities")
            legend = [Content.assemble((tr(words), style)) for _least, style, words in LEVELS]
            yield Static(Content("  ").join(legend), id="legend")
            with Pane(id="tokens", can_focus=False):
                yield Static(id="answer")
            yield Static(id="alternatives")
            yield KeyBar()

    def action_go(self, by: int) -> None:
        """Go to the token before or after."""
        self.at = min(max(self.at + by, 0), len(self._tokens) - 1)

    def action_unsure(self, by: int) -> None:
        """Go to the next uncertain token."""
        ahead = range(self.at + by, len(self._tokens) if by > 0 else -1, by)
        self.at = next((at for at in ahead if level(self._tokens[at])), self.at)

    def action_close(self) -> None:
        """Go back to the chat."""
        self.dismiss(None)

    def watch_at(self, at: int) -> None:
        """Show the cursor and the alternatives."""
        parts = [
            (plain(token.text), f"{level(token)} {'on $primary' if number == at else ''}".strip())
            for number, token in enumerate(self._tokens)
        ]
        self.query_one("#answer", Static).update(Content.assemble(*parts))
        self.query_one("#alternatives", Static).update(alternatives(self._tokens[at], at, len(self._tokens)))
        pane = self.query_one("#tokens", Pane)
        width = max(pane.size.width, 1)
        before = Content("".join(text for text, _style in parts[:at])).wrap(width) if at else []
        pane.scroll_to(y=max(len(before) - pane.size.height // 2, 0), animate=False)


def alternatives(token: TokenLogprob, at: int, count: int) -> Content:
    """The token, and the most likely ones at its position with bars."""
    others = [candidate for candidate in token.top if candidate[0] != token.text]
    rows = sorted(((token.text, token.logprob), *others), key=lambda candidate: candidate[1], reverse=True)
    wide = max(len(shown(text)) for text, _logprob in rows)
    lines: list[Content] = [Content(tr("Token {number} of {count}", number=at + 1, count=count))]
    for text, logprob in rows:
        share = math.exp(logprob)
        chosen = text == token.text
        bar = "█" * round(BAR_WIDTH * share)
        words = f"{'▸' if chosen else ' '} {shown(text):<{wide}}  {share:6.1%}  "
        lines.append(Content.assemble((words, "bold" if chosen else ""), (bar, "$accent")))
    return Content("\n").join(lines)


def shown(text: str) -> str:
    """A token's text on a single line, with visible spaces and line breaks."""
    return "".join(SIGNS.get(each, each) for each in plain(text)) or "∅"
