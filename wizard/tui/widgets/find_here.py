"""Find in the conversation: as in a log, but Enter goes on to the place before."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from wizard.kernel.language import mark
from wizard.tui.widgets.find import Find


class FindHere(Find, inherit_bindings=False):
    """The end of a conversation is what one knows: it is searched backwards."""

    ABOUT = mark("Find in this conversation")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,up", "step(-1)", mark("Earlier"), priority=True, key_display="⏎↑", id="chat.find_earlier"),
        Binding("down", "step(1)", mark("Later"), priority=True, key_display="↓", id="chat.find_later"),
        Binding("escape", "close", mark("End the search"), priority=True, id="chat.find_close"),
    ]
