"""The server's log next to the chat, while it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from wizard.kernel.language import tr
from wizard.kernel.text import plain
from wizard.tui import background
from wizard.tui.textual_private import DropsWork
from wizard.tui.widgets.live_log import LiveLog

LOOK_S = 0.25
"""Seconds between reads of the file."""


class LogPanel(DropsWork, Vertical):
    """Reads only while it is visible, the log that it was told to `follow`."""

    def __init__(self) -> None:
        super().__init__(id="beside")
        self._server, self._path = "", ""
        self._read: Callable[[], list[str]] = list

    def compose(self) -> ComposeResult:
        """Its path and its content."""
        yield Static(classes="name")
        yield LiveLog()

    def on_mount(self) -> None:
        """Exclude it from PgUp scrolling, which is for the conversation."""
        self.query_one(LiveLog).remove_class("reading")

    def follow(self, server: str, path: str, read: Callable[[], list[str]]) -> None:
        """Show another log.

        Args:
            server: The server's name.
            path: Path of the log; empty if there is none on this machine.
            read: New lines since the last time; called in a thread.
        """
        if (server, path) != (self._server, self._path):
            self._server, self._path, self._read = server, path, read
            self.query_one(LiveLog).clear()
            self.relabel()
            self._follow()

    def relabel(self) -> None:
        """Show the path of the log in the current language."""
        where = self._path or tr("no log on this machine")
        named = tr("Log of {name}: {where}", name=self._server, where=where)
        self.query_one(".name", Static).update(Content(plain(named)))

    @work(exclusive=True)
    async def _follow(self) -> None:
        log, wrong = self.query_one(LiveLog), ""
        if not self._path:
            log.write_line(tr("This server and its log are on another machine."))
            return
        while True:
            try:
                lines = await background.call(self._read)
            except OSError as error:
                lines, why = [], tr("Cannot read the log: {why}", why=error.strerror or error)
                if why != wrong:
                    lines, wrong = [why], why
            if lines:
                log.write_lines(lines)
            else:
                await asyncio.sleep(LOOK_S)
