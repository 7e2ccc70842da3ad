"""The whole journey with the real tritonserver in the full-screen wizard, with keys only. No hub is asked."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.e2e.conftest import Wizard
from tests.tui.walking import answered, screen, to_machine, wait_for
from wizard.kernel.paths import Workspace
from wizard.tui.app import WizardApp
from wizard.tui.build_view import Phase
from wizard.tui.screens.advice import AdviceScreen
from wizard.tui.screens.build import BuildScreen
from wizard.tui.screens.chat import ChatScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.screens.review import ReviewScreen

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("journey"), pytest.mark.timeout(300)]


async def test_from_the_machine_to_an_answer_and_again_after_the_server_was_killed(wizard: Wizard) -> None:
    app = WizardApp(Workspace(wizard.workspace), model_ref="demo", offline=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await to_machine(pilot)
        await pilot.press("enter")
        advice = await screen(pilot, AdviceScreen)
        await wait_for(pilot, lambda: advice.view.advice)
        await pilot.press("enter")
        review = await screen(pilot, ReviewScreen)
        await wait_for(pilot, lambda: review.view.plan)
        await pilot.press("enter")
        build = await screen(pilot, BuildScreen)
        await wait_for(pilot, lambda: build.view.phase is not Phase.RUNNING, seconds=240)
        assert build.view.error is None
        await pilot.press("enter")

        chat = await screen(pilot, ChatScreen)
        await wait_for(pilot, lambda: chat.view.served)
        await pilot.press(*"What is Triton?", "enter")
        await answered(pilot, chat)
        assert "server" in chat.view.said("assistant")[0]
        assert chat.view.stats is not None
        assert chat.view.stats.ttft_s is not None

        assert build.view.endpoint is not None
        os.kill(build.view.endpoint.pid, signal.SIGKILL)
        await pilot.press(*"What is vLLM?", "enter")
        await answered(pilot, chat)
        assert chat.view.error is not None
        await pilot.press("f5")
        build = await screen(pilot, BuildScreen)
        await wait_for(pilot, lambda: build.view.phase is not Phase.RUNNING, seconds=60)
        assert build.view.error is None
        await pilot.press("enter")
        chat = await screen(pilot, ChatScreen)
        await pilot.press("ctrl+r")
        await answered(pilot, chat)
        assert len(chat.view.said("assistant")) == 2

        await pilot.press("ctrl+q")
        await screen(pilot, AskScreen)
        await pilot.press("down", "enter")
        await wait_for(pilot, lambda: app.return_value is not None)
    assert app.return_value == 0
    assert {one["name"]: one["state"] for one in json.loads(wizard.run("status", "--json"))}["demo"] == "stopped"
