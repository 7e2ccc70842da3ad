"""The whole journey with the real tritonserver in the full-screen wizard, with keys only. No hub is asked."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

from tests.chain_model import CYCLE, CYCLE_TOKENS, write_chain_model
from tests.e2e.conftest import TERMINAL_PORT, Wizard
from tests.e2e.terminal import (
    CLIPBOARD,
    CONTROL_R,
    CONTROL_T,
    CONTROL_U,
    CONTROL_Y,
    DOWN,
    ENTER,
    ESCAPE,
    F4,
    Terminal,
    full_screen,
)
from tests.tui.walking import answered, asked, chat_after, screen, to_chat, wait_for
from wizard.kernel.paths import Workspace
from wizard.tui.app import WizardApp
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.modal import AskScreen

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("terminal"),
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("other_ports"),
]


async def test_from_the_machine_to_an_answer_and_again_after_the_server_was_killed(wizard: Wizard) -> None:
    app = WizardApp(Workspace(wizard.workspace), answers={"model": "demo"}, offline=True)
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot, seconds=240)
        await asked(pilot, "What is Triton?", chat)
        assert "server" in chat.view.texts("assistant")[0]
        assert chat.view.stats is not None
        assert chat.view.stats.ttft_s is not None

        os.kill(app.running["demo"].pid, signal.SIGKILL)
        await asked(pilot, "What is vLLM?", chat)
        assert chat.view.error is not None
        await pilot.press("f5")
        chat = await chat_after(pilot, await screen(pilot, BuildScreen), seconds=240)
        await pilot.press("ctrl+r")
        await answered(pilot, chat)
        assert len(chat.view.texts("assistant")) == 2

        await pilot.press("ctrl+q")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: app.return_value is not None)
    assert app.return_value == 0
    assert {load["name"]: load["state"] for load in json.loads(wizard.run("status", "--json"))}["demo"] == "stopped"


KEYS = 12
"""Most keys from a shell to a sent message, what is typed of it not counted."""


def test_the_program_leads_to_a_streamed_answer_in_few_keys(wizard: Wizard) -> None:
    """In a terminal, with nothing running: what the screen offers is accepted until there is a chat."""
    before = json.loads(wizard.run("status", "--json"))
    command = full_screen(wizard)
    child = pexpect.spawn(command[0], command[1:], dimensions=(24, 80), timeout=240, encoding="utf-8")
    if before:  # what another test has made is offered first, and would be the shorter way
        child.expect("Restart .*")
    seen = [
        "Serve Offline demo",  # the welcome has found what it recommends
        "Use this setup",  # the key bars name what Enter does as soon as it does it
        "Run it",
        "Chat with it",
    ]
    pressed = 0
    for words in seen:
        child.expect(words)
        if before and not pressed:
            child.send(DOWN)
            pressed += 1
        child.send("\r")
        pressed += 1
    child.expect("Ask something")
    child.send("What is Triton?")
    child.send("\r")
    pressed += 1
    child.expect("tokens/s")  # what the answer took is said when it is complete
    child.sendcontrol("q")
    child.expect("Choose an option")
    child.send("\r")
    child.expect(pexpect.EOF)
    child.close()
    assert pressed <= KEYS
    assert child.exitstatus == 0
    assert {load["name"]: load["state"] for load in json.loads(wizard.run("status", "--json"))}["demo"] == "ready"


@pytest.fixture
def terminals(wizard: Wizard) -> Iterator[Callable[[], Terminal]]:
    """Opens the program in another terminal each time."""
    opened: list[Terminal] = []

    def begin() -> Terminal:
        opened.append(Terminal(full_screen(wizard)))
        return opened[-1]

    yield begin
    for terminal in opened:
        terminal.child.close(force=True)


def test_an_answer_is_stopped_regenerated_copied_saved_and_found(
    wizard: Wizard, terminals: Callable[[], Terminal], tmp_path: Path
) -> None:
    """With a model that says the same without end, so that an answer comes for as long as the test wants."""
    model = write_chain_model(tmp_path / "chain.gguf")
    ports = ("--http-port", str(TERMINAL_PORT))
    wizard.run("up", str(model), "--name", "chain", "--max-len", "100000", "--yes", "--json", *ports)
    terminal = terminals()
    terminal.shows("▸ Chat with chain")
    terminal.press(ENTER)
    terminal.shows("Chat with chain at http", "context")
    longest(terminal, HINT, ("512000", 512_000))
    terminal.press("Tell me", ENTER)
    terminal.shows(CYCLE[:2], "Esc to stop")
    terminal.press(ESCAPE)
    terminal.shows("■ stopped")

    longest(terminal, 512_000, (CONTROL_U, HINT), (str(2 * CYCLE_TOKENS), 2 * CYCLE_TOKENS))
    terminal.press(CONTROL_R)
    terminal.shows(f"{2 * CYCLE_TOKENS} tokens", "cut off at max_tokens")
    terminal.press(CONTROL_Y)
    terminal.until(lambda: CLIPBOARD.search(terminal.written))
    (copied,) = CLIPBOARD.findall(terminal.written)
    assert base64.b64decode(copied).decode() == 2 * CYCLE
    terminal.leave()

    again = terminals()
    again.shows("▸ Chat with chain")
    again.press(ENTER)
    again.shows("Chat with chain at http", "context")
    assert "Tell me" not in again.text
    again.press(F4)
    again.shows("Conversations on this machine", "2 messages")
    again.press("tell", ENTER)
    again.until(lambda: "Conversations on this machine" not in again.text)
    again.shows("Tell me", CYCLE[:2])
    again.leave()


HINT = "512, thinking"
"""The beginning of what the empty field says."""


def longest(terminal: Terminal, before: int | str, *edits: tuple[str, int | str]) -> None:
    """Change how many tokens an answer may have, from ``before``: keys, and what the field says then."""
    terminal.press(CONTROL_T)
    terminal.shows("Answer settings")
    terminal.press(*[DOWN] * 9)
    for keys, now in (("", before), *edits):
        terminal.press(keys)
        terminal.until(lambda now=now: re.search(rf"▌ Maximum answer length in +{now} .*\n.*▌ tokens ", terminal.text))  # type: ignore[misc]
    terminal.press(ENTER)
    terminal.until(lambda: "Answer settings" not in terminal.text)
