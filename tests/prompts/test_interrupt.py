"""Stopping asynchronous work by signals."""

from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest

from wizard.cli.building import window
from wizard.prompts.interrupt import until_stopped


def test_a_second_signal_does_not_interrupt_the_clean_up(capsys: pytest.CaptureFixture[str]) -> None:
    cleaned: list[str] = []

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            seen = asyncio.Event()
            # Signals are handled in the order of their arrival, so the second SIGINT was when SIGUSR1 is.
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, seen.set)
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGUSR1)
            await seen.wait()
            await asyncio.sleep(0)
            cleaned.append("up")

    assert not until_stopped(work())
    assert cleaned == ["up"]
    assert capsys.readouterr().err.count("stopping") == 1


def test_work_that_is_not_stopped_ends_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        await asyncio.sleep(0)

    assert until_stopped(work())
    assert capsys.readouterr().err == ""


def test_an_ignored_signal_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by nohup(1): closing the window neither stops the work nor leaves it."""
    monkeypatch.setattr("wizard.cli.building.is_terminal", lambda _: False)
    leaving, before = threading.Event(), signal.signal(signal.SIGHUP, signal.SIG_IGN)

    async def work() -> None:
        seen = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, seen.set)
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGUSR1)
        await seen.wait()
        await asyncio.sleep(0)

    try:
        assert until_stopped(work(), (signal.SIGHUP,), leaving)
        assert not leaving.is_set()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert window() is not None, "the build outlives its command"
    finally:
        signal.signal(signal.SIGHUP, before)
    assert window() is None
