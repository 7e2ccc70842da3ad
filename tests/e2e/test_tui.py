"""The whole journey with the real tritonserver in the full-screen wizard, with keys only. No hub is asked."""

from __future__ import annotations

import json
import os
import signal
import sys

import pexpect
import pytest

from tests.e2e.conftest import Wizard
from tests.tui.walking import answered, asked, chat_after, screen, to_chat, wait_for
from wizard.kernel.paths import Workspace
from wizard.tui.app import WizardApp
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.modal import AskScreen

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("journey"), pytest.mark.timeout(300)]


async def test_from_the_machine_to_an_answer_and_again_after_the_server_was_killed(wizard: Wizard) -> None:
    app = WizardApp(Workspace(wizard.workspace), answers={"model": "demo"}, offline=True)
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot, seconds=240)
        await asked(pilot, "What is Triton?", chat)
        assert "server" in chat.view.said("assistant")[0]
        assert chat.view.stats is not None
        assert chat.view.stats.ttft_s is not None

        os.kill(app.running["demo"].pid, signal.SIGKILL)
        await asked(pilot, "What is vLLM?", chat)
        assert chat.view.error is not None
        await pilot.press("f5")
        chat = await chat_after(pilot, await screen(pilot, BuildScreen), seconds=60)
        await pilot.press("ctrl+r")
        await answered(pilot, chat)
        assert len(chat.view.said("assistant")) == 2

        await pilot.press("ctrl+q")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: app.return_value is not None)
    assert app.return_value == 0
    assert {one["name"]: one["state"] for one in json.loads(wizard.run("status", "--json"))}["demo"] == "stopped"


KEYS = 12
"""Most keys from a shell to a sent message, what is typed of it not counted."""


def test_the_program_leads_to_a_streamed_answer_in_few_keys(wizard: Wizard) -> None:
    """In a terminal, with nothing running: what the screen offers is accepted until there is a chat."""
    command = [sys.executable, "-m", "wizard", "--workspace", str(wizard.workspace), "--offline"]
    child = pexpect.spawn(command[0], command[1:], dimensions=(24, 80), timeout=240, encoding="utf-8")
    seen = [
        "Serve Offline demo",  # the welcome has found what it recommends
        "Take this way",  # the key bars name what Enter does as soon as it does it
        "Do it",
        "Chat with it",
    ]
    pressed = 0
    for words in seen:
        child.expect(words)
        child.send("\r")
        pressed += 1
    child.expect("Send")
    child.send("What is Triton?")
    child.send("\r")
    pressed += 1
    child.expect("tokens/s")  # what the answer took is said when it is complete
    child.sendcontrol("q")
    child.expect("Please decide")
    child.send("\r")
    child.expect(pexpect.EOF)
    child.close()
    assert pressed <= KEYS
    assert child.exitstatus == 0
    assert {one["name"]: one["state"] for one in json.loads(wizard.run("status", "--json"))}["demo"] == "ready"
