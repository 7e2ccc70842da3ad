"""Stopping asynchronous work by signals."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

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
