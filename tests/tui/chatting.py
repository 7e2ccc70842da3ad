"""The chat with a server that runs already, and what is read off its screen."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ENDPOINT
from tests.tui.walking import StillApp, choose, screen, to_welcome, wait_for
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.widgets.transcript import Transcript
from wizard.tui.widgets.turn import BAR


async def to_running_chat(pilot: Pilot[Any]) -> ChatScreen:
    """To the chat with the server ``demo``, which runs already."""
    await to_welcome(pilot)
    await choose(pilot, "server:demo")
    chat = await screen(pilot, ChatScreen)
    await wait_for(pilot, lambda: chat.view.served or chat.view.error)
    await pilot.pause()
    return chat


@asynccontextmanager
async def chatting(
    made: FakeJourney, size: tuple[int, int] = (100, 30)
) -> AsyncGenerator[tuple[Pilot[Any], ChatScreen], None]:
    """The chat in an app of its own."""
    made.running = made.running or (ENDPOINT,)
    async with StillApp(made).run_test(size=size) as pilot:
        yield pilot, await to_running_chat(pilot)


def lines(transcript: Transcript) -> list[str]:
    """Every line, without bars."""
    return [transcript.line(number).plain[BAR:].rstrip() for number in range(transcript.virtual_size.height)]


def in_sight(transcript: Transcript) -> list[str]:
    """The lines that are drawn."""
    return [transcript.render_line(y).text[BAR:].rstrip() for y in range(transcript.size.height)]


def words(chat: ChatScreen, query: str) -> str:
    """What a piece of text on the screen says."""
    return str(chat.query_one(query).render())


def notes(pilot: Pilot[Any]) -> str:
    """What was notified."""
    return "\n".join(f"{notification.title} {notification.message}" for notification in pilot.app._notifications)
