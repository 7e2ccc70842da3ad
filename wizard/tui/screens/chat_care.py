"""An open chat shows that its server, which is kept running, failed and was restarted: one line each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual import work
from textual.screen import Screen

from wizard.kernel.text import one_line
from wizard.serve.care import News
from wizard.tui import background
from wizard.tui.views.chat import ChatEnd

if TYPE_CHECKING:
    from wizard.serve.endpoint import Endpoint
    from wizard.tui.screens.chat import ChatScreen

LOOK_S = 1.0
"""Seconds between two looks at a small file."""


class Watching(Screen[ChatEnd]):
    """What the chat screen shows about its server."""

    _news: tuple[Endpoint, News] | None = None

    def watch_server(self) -> None:
        """Look at it from now on."""
        self.set_interval(LOOK_S, self._look)
        self._look()

    @work(exclusive=True, group="care")
    async def _look(self) -> None:
        chat = cast("ChatScreen", self)
        endpoint = chat.endpoint
        if self._news is None or self._news[0].name != endpoint.name:
            look = partial(chat.calls.care, endpoint)
            self._news = endpoint, await background.call(lambda: News(look))
        news = self._news[1]
        if line := await background.call(lambda: news.read(one_line(endpoint.title))):
            self.notify(line, markup=False)
            if there := await background.call(partial(chat.calls.renewed, endpoint)):
                chat.go_on_with(there)
