"""An open chat shows that its server, which is kept running, failed and was restarted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import ENDPOINT
from tests.tui.walking import StillApp, to_chat, wait_for
from wizard.serve.care import Care
from wizard.tui.screens import chat_care

CARE = Care(7, "1")


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_care, "LOOK_S", 0.01)


async def test_each_event_is_one_line_and_the_chat_goes_on_with_the_new_process() -> None:
    again = replace(ENDPOINT, pid=ENDPOINT.pid + 1)
    failed = replace(CARE, state="restarting", reason="its process 7 exited", at=1.0)
    made = FakeJourney(keeps=[CARE], again=(again,))
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        chat = await to_chat(pilot)
        made.keeps += [failed, replace(failed, state="watching", restarts=1, at=2.0)]
        await wait_for(pilot, lambda: len(pilot.app._notifications) == 2)
        lines = [note.message for note in pilot.app._notifications]
        assert lines == [
            f"{ENDPOINT.name} is being restarted: its process 7 exited.",
            f"{ENDPOINT.name} was restarted: its process 7 exited.",
        ]
        await wait_for(pilot, lambda: chat.endpoint == again)
