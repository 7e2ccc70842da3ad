"""What dies old is found, too, while the wizard runs."""

from __future__ import annotations

import gc
import weakref

import pytest

from tests.tui.fake_journey import FakeJourney
from tests.tui.walking import StillApp, to_welcome, wait_for
from wizard.tui import garbage_collection


class Circle:
    def __init__(self) -> None:
        self.itself = self


async def test_a_circle_that_dies_old_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collection, "EVERY_S", 0.01)
    gc.disable()  # so that only the wizard looks for it
    try:
        async with StillApp(FakeJourney()).run_test(size=(80, 24)) as pilot:
            await to_welcome(pilot)
            dead = weakref.ref(Circle())
            assert dead() is not None
            await wait_for(pilot, lambda: dead() is None)
    finally:
        gc.enable()
