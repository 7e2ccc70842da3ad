"""The whole journey with the real tritonserver in the full-screen wizard, with keys only. No hub is asked."""

from __future__ import annotations

import json
import os
import signal

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
