"""Pictures of every screen. After a change that is meant: ``pytest tests/tui/test_snapshots.py --snapshot-update``,
then look at every changed picture."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.pictured import PICTURES
from tests.tui.walking import StillApp
from wizard.kernel import settings
from wizard.kernel.settings import THEME
from wizard.tui.theme import CONTRAST

SIZES = [(40, 15), (80, 24), (120, 40)]
LARGE = (200, 60)
MAIN = ("welcome", "machine_with_gpus", "model", "advice_gpus", "review", "build", "chat_answer", "settings")
"""One state of each stage, pictured in every size and also with high contrast."""
CASES = [
    *((name, size, THEME) for name in PICTURES for size in (*SIZES, *[LARGE] * (name in MAIN))),
    *((name, size, CONTRAST.name) for name in MAIN for size in (*SIZES, LARGE)),
]


def case(one: tuple[str, tuple[int, int], str]) -> str:
    name, (width, height), theme = one
    return f"{name}-{width}x{height}" + "-contrast" * (theme == CONTRAST.name)


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is on PATH; commands would name where it is otherwise."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize(("name", "size", "theme"), [pytest.param(*one, id=case(one)) for one in CASES])
def test_picture(snap_compare: Callable[..., bool], name: str, size: tuple[int, int], theme: str) -> None:
    if theme != THEME:
        settings.change(theme=theme)
    journey, walk = PICTURES[name]
    assert snap_compare(StillApp(journey()), terminal_size=size, run_before=walk)
