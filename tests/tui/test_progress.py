"""How far the running step is said to be, and what is not known is not said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Set

import pytest

from tests.tui.fake_journey import FakeJourney
from tests.tui.values import plan
from tests.tui.walking import StillApp, to_build, wait_for
from wizard.kernel.errors import WorkspaceError
from wizard.run.events import Event, Progress, StepStarted
from wizard.tui.run import Run
from wizard.tui.views.build import Phase
from wizard.tui.widgets.progress import ProgressLines

PIP = "     ━━━━━━━━━━━━━━━╸━━━━━━━━━━━━━━━ 27.5/55.4 MB 136.0 MB/s eta 0:00:02"


def progress_text(progress: Progress) -> str:
    lines = ProgressLines()
    lines.show(progress, 6.0, stopping=False)
    return "\n".join(str(line) for line in lines.lines(60))


def test_a_step_that_continues_after_its_downloads_has_no_bar() -> None:
    assert "50%" in progress_text(Progress("a", 0.5, None, "", 0.0))
    assert "99%" in progress_text(Progress("a", 0.99, None, "", 0.0))
    for fraction in (0.996, 1.0):
        assert progress_text(Progress("a", fraction, 0.0, "55.4/55.4 MB", 0.0)).split("\n") == ["◌ 6 s", ""]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PIP, "27.5/55.4 MB 136.0 MB/s eta 0:00:02"),
        ("model.gguf:  45%|████▌     | 230M/512M [00:11<00:13]", "model.gguf: 45% 230M/512M [00:11<00:13]"),
        ("model.gguf:   0%|          | 0.00/512M [00:00<?]", "model.gguf: 0% 0.00/512M [00:00<?]"),
        ("8a1e25ce7c4f: Pull complete", "8a1e25ce7c4f: Pull complete"),
    ],
)
def test_of_a_bar_that_the_tool_draws_itself_only_the_words_are_shown(text: str, words: str) -> None:
    assert progress_text(Progress("a", 0.5, None, text, 0.0)).split("\n")[1:] == [f"6 s · {words}"]


def test_what_the_step_is_at_comes_first() -> None:
    loading = Progress("a", 0.5, 90.0, "5/9", 0.0, "loading the weights")
    assert progress_text(loading).split("\n")[1:] == ["6 s · loading the weights · about 1 min 30 s left · 5/9"]
    assert "◌ 6 s · compiling" in progress_text(Progress("a", None, None, "", 0.0, "compiling"))


async def test_the_remaining_time_is_updated_while_the_tool_is_silent() -> None:
    now = [100.0]
    over = asyncio.Event()

    async def start(_redo: Set[str], _skip: Set[str]) -> AsyncGenerator[Event, None]:
        yield StepStarted("model", "M", 1, 6, 0.0)
        yield Progress("model", 0.5, 12.0, "half of it", 0.0)
        await over.wait()

    run = Run(plan(), start, asyncio.create_task, lambda: now[0])  # type: ignore[arg-type]  # as good as a worker here
    received = asyncio.Event()
    run.listen(lambda _message: received.set() if run.progress else None)
    run.begin()
    await received.wait()
    assert run.progress is not None
    assert run.progress.eta_s == 12.0
    now[0] += 9
    assert run.progress.eta_s == 3.0
    now[0] += 9
    assert run.progress.eta_s is None
    over.set()
    await run.over()


async def test_a_build_that_does_not_come_to_a_step_does_not_say_that_a_step_failed() -> None:
    full = WorkspaceError("TW-K03", "it cannot be written", "Free some space.")
    made = FakeJourney(script=lambda _plan: [], run_error=full)
    async with StillApp(made).run_test(size=(80, 24)) as pilot:
        build = await to_build(pilot)
        await wait_for(pilot, lambda: build.view.phase is Phase.FAILED)
        await pilot.pause()
        assert str(build.query_one(".heading").render()) == "The build failed"
