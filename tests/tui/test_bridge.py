"""Events as messages: in order, output in batches, closed with the task."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from textual.message import Message

from wizard import tui
from wizard.kernel.errors import StepError
from wizard.run.events import Event, Output, Progress, StepFinished, StepStarted
from wizard.tui import background
from wizard.tui.event_messages import BATCH_LINES, Happened, LogLines, relay


async def stream(*events: Event) -> AsyncGenerator[Event, None]:
    for event in events:
        yield event


def output(*lines: str) -> Output:
    return Output("a", lines, 0.0)


def lines(posted: list[Message]) -> list[tuple[str, ...]]:
    return [message.lines for message in posted if isinstance(message, LogLines)]


START = StepStarted("a", "A", 1, 1, 0.0)
END = StepFinished("a", "done", 1.0, "", 0.0)


async def test_lines_come_in_one_batch_and_before_what_happened_after_them() -> None:
    posted: list[Message] = []
    await relay(stream(START, output("1", "2"), output("3"), END), posted.append)
    assert [type(message) for message in posted] == [Happened, LogLines, Happened]
    assert lines(posted) == [("1", "2", "3")]


async def test_escape_sequences_are_removed_and_markup_is_left_alone() -> None:
    posted: list[Message] = []
    await relay(stream(output("\x1b[31m[bold]red[/]\x1b[0m\x1b]0;title\x07")), posted.append)
    assert lines(posted) == [("[bold]red[/]",)]


async def test_of_many_progress_events_the_last_is_posted() -> None:
    posted: list[Message] = []
    events = [Progress("a", n / 100, None, "", 0.0) for n in range(100)]
    await relay(stream(*events), posted.append)
    assert [message.event for message in posted if isinstance(message, Happened)] == [events[-1]]


async def test_a_flood_of_lines_is_bounded() -> None:
    posted: list[Message] = []
    await relay(stream(output(*map(str, range(3 * BATCH_LINES)))), posted.append)
    shown = [line for batch in lines(posted) for line in batch]
    assert shown[0] == f"… lines that are only in the log: {2 * BATCH_LINES:,} …"
    assert shown[1:] == [str(number) for number in range(2 * BATCH_LINES, 3 * BATCH_LINES)]


async def test_a_quiet_run_shows_its_lines_without_waiting_for_the_next_event() -> None:
    posted: asyncio.Queue[Message] = asyncio.Queue()

    async def quiet() -> AsyncGenerator[Event, None]:
        yield output("a line")
        await asyncio.Event().wait()

    task = asyncio.create_task(relay(quiet(), posted.put_nowait))
    message = await asyncio.wait_for(posted.get(), 30)
    assert isinstance(message, LogLines)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancelling_closes_the_events_and_keeps_the_last_lines() -> None:
    posted: list[Message] = []
    reached, closed = asyncio.Event(), []

    async def endless() -> AsyncGenerator[Event, None]:
        try:
            yield output("last words")
            reached.set()
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    task = asyncio.create_task(relay(endless(), posted.append))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed == [True]
    assert lines(posted) == [("last words",)]


async def test_an_error_comes_after_the_lines_before_it() -> None:
    posted: list[Message] = []

    async def failing() -> AsyncGenerator[Event, None]:
        yield output("so far")
        raise StepError("TW-R03", "it failed", "Fix it.")

    with pytest.raises(StepError):
        await relay(failing(), posted.append)
    assert lines(posted) == [("so far",)]


async def test_a_blocking_call_raises_where_it_is_awaited() -> None:
    def fail() -> int:
        raise StepError("TW-R03", "it failed", "Fix it.")

    with pytest.raises(StepError, match="it failed"):
        await background.call(fail)
    assert await background.call(lambda: 42) == 42


TUI = Path(tui.__file__).parent


@pytest.mark.parametrize("path", sorted(TUI.rglob("*.py")), ids=lambda path: str(path.relative_to(TUI)))
def test_nothing_in_this_interface_blocks_the_screen(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    screenless = path == TUI / "web" / "server.py"  # it serves the wizard to a browser, in a process of its own
    assert screenless or not re.search(r"time\.sleep|subprocess|requests\.|urlopen|call_from_thread", text)
    assert len(text.splitlines()) < 400
